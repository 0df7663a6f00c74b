"""The JSON schema that the TypeScript types of the messages are made from: current, and true of what is sent."""

import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest

from exploracoder_jupyter.protocol import browser_messages as messages

_SCRIPT = Path(__file__).parents[3] / "scripts" / "page_types.py"
SUBTASK = messages.SubtaskView(id="1", title="Read", apis=[messages.ApiView(path="pandas")])
RUN = messages.RunView(key="1", subtasks=[SUBTASK])


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("page_types", _SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.fixture(scope="module")
def schema(script):
    return json.loads(script.schema())


def valid(schema, name, message):
    """Whether a message has this type."""
    checker = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
    return checker.is_valid(message)


def test_it_is_current(script):
    assert script.SCHEMA.read_text(encoding="utf-8") == script.schema(), "run `python scripts/labextension.py`"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Opening", messages.Opening(runs=[RUN])),
        ("FromKernel", messages.CellsMessage(run="1", seq=1, changes=[messages.CellChange(action="remove", id="a")])),
        ("FromKernel", messages.StateMessage(state=RUN)),
        ("FromKernel", messages.WhoMessage(run="1")),
        ("FromKernel", messages.CleanMessage(session="1")),
        ("Answer", messages.Welcome(request=1, runs=[RUN], traces=[messages.TraceView(link="a", changed=0.5)])),
        ("Answer", messages.Snapshot(request=1, run="1", seq=0, cells=[{"id": "a", "metadata": {}}], state=RUN)),
        ("Answer", messages.Done(request=1)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_message_from_the_kernel_has_every_field(schema, name, message):
    sent = messages.to_comm_data(message)
    assert valid(schema, name, sent)
    for field in sent:
        assert not valid(schema, name, {key: value for key, value in sent.items() if key != field}), field


def test_a_message_may_omit_defaults(schema):
    short = {"type": "retry", "run": "1", "subtask": "1"}
    assert valid(schema, "ToKernel", short)
    assert messages.parse_control(short) == messages.RetrySubtask(run="1", subtask="1")


def test_a_message_to_the_kernel_names_its_type(schema):
    assert not valid(schema, "ToKernel", {"run": "1"})
    assert not valid(schema, "ToKernel", {"type": "stop"})
    assert not valid(schema, "ToKernel", {"type": "unknown", "run": "1"})


def test_every_message_is_identified_by_its_type(schema):
    for union in ("FromKernel", "ToKernel", "Answer"):
        members = [of["$ref"].rpartition("/")[2] for of in schema["$defs"][union]["oneOf"]]
        types = [schema["$defs"][member]["properties"]["type"]["const"] for member in members]
        assert len(set(types)) == len(types) > 1
        assert all("type" in schema["$defs"][member]["required"] for member in members)


def test_names_and_version_come_along(schema):
    assert schema["constants"] == {name: getattr(messages, name) for name in ("EVENTS", "CONTROL", "VERSION")}
