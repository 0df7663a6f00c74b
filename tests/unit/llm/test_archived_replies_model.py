"""Recorded replies: what was recorded is replayed at the recorded cost, and nothing else."""

from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.secrets.redaction import SecretRedactor
from exploracoder_jupyter.core.types import Call, Message, Sampling
from exploracoder_jupyter.llm.recorded import ArchivedRepliesModel, ReplyArchive, ReplyRecording
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.task_run import explore
from tests.unit.world import a_run

SECRET = "hunter2-hunter2-hunter2"


def _model(folder, model=None, unit="problem 1, rag, 0"):
    recording = ReplyRecording(ReplyArchive(folder), unit, model is not None)
    redact = SecretRedactor([SECRET]).redact
    return ArchivedRepliesModel(
        recording, model, name="scripted", redact=redact, normalize=lambda text: text.replace("0xabc", "…")
    )


def _request(text="What now?", **changes):
    given = ModelRequest("plan", None, (Message("user", text),), Sampling(0.8, n=2), subject="1")
    return replace(given, **changes)


def _replies(model, *requests):
    async def ask():
        return [[reply async for reply in model.complete(request)] for request in requests]

    return anyio.run(ask)


def test_equal_requests_have_their_own_replies(tmp_path):
    script = ScriptedModel([["a", "b"], ["c"], [Call("search", "x", "id")]])
    asked = [_request(), _request(), _request("Other")]
    recorded = _replies(_model(tmp_path, script), *asked)
    assert [reply.text for reply in recorded[0]] == ["a", "b"]
    assert _replies(_model(tmp_path), *asked) == recorded
    assert recorded[2][0].calls == (Call("search", "x", "id"),)


def test_fields_that_an_endpoint_adds_identify_no_request(tmp_path):
    def continued(extra):
        call = Call("search", "x", "id", extra)
        return _request(
            messages=(Message("user", "?"), Message("assistant", "", (call,)), Message("tool", "y", (), "id"))
        )

    [recorded] = _replies(
        _model(tmp_path, ScriptedModel([[Call("search", "z", "2", '{"a": 1}')]])), continued('{"b": 2}')
    )
    assert recorded[0].calls[0].extra == '{"a": 1}'
    assert _replies(_model(tmp_path), continued("")) == [recorded]


def test_what_is_recorded_is_not_requested_again(tmp_path):
    _replies(_model(tmp_path, ScriptedModel(["a"])), _request())
    script = ScriptedModel(["b"])
    assert [[reply.text for reply in one] for one in _replies(_model(tmp_path, script), _request(), _request())] == [
        ["a"],
        ["b"],
    ]
    assert len(script.requests) == 1


def test_units_do_not_share_replies(tmp_path):
    _replies(_model(tmp_path, ScriptedModel(["a"])), _request())
    _replies(_model(tmp_path, ScriptedModel(["b"]), unit="other"), _request())
    assert _replies(_model(tmp_path, unit="other"), _request())[0][0].text == "b"


def test_addresses_do_not_matter_and_secrets_are_unwritten(tmp_path):
    recorded = _replies(_model(tmp_path, ScriptedModel([f"key = '{SECRET}'"])), _request(f"{SECRET} <x at 0xabc>"))
    assert SECRET not in recorded[0][0].text
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert _replies(_model(tmp_path), _request(f"{SECRET} <x at …>")) == recorded


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"messages": (Message("user", "What then?"),)}, "What then?"),
        ({"sampling": Sampling(0.2, n=2)}, "temperature"),
        ({"schema": {"type": "object"}}, "schema"),
        ({"subject": "2"}, "subject"),
        ({"step": "solve"}, "solve"),
    ],
)
def test_a_missing_reply_names_unit_step_and_difference(tmp_path, changes, named):
    _replies(_model(tmp_path, ScriptedModel(["a"])), _request())
    with pytest.raises(EndpointError) as caught:
        _replies(_model(tmp_path), _request(**changes))
    assert named in str(caught.value) and "problem 1, rag, 0" in str(caught.value)


def test_a_failed_request_is_not_recorded(tmp_path):
    with pytest.raises(EndpointError):
        _replies(_model(tmp_path, ScriptedModel([])), _request())
    assert _replies(_model(tmp_path, ScriptedModel(["a"])), _request())[0][0].text == "a"


def test_a_packed_archive_can_be_extended(tmp_path):
    recorded = _replies(_model(tmp_path, ScriptedModel(["a", "b"])), _request(), _request())
    ReplyArchive(tmp_path).pack()
    assert len(list(tmp_path.iterdir())) == 1
    assert _replies(_model(tmp_path), _request(), _request()) == recorded
    more = _replies(_model(tmp_path, ScriptedModel(["c"])), _request(), _request(), _request())
    ReplyArchive(tmp_path).pack()
    assert len(list(tmp_path.iterdir())) == 1
    assert _replies(_model(tmp_path), *[_request()] * 3) == more == [*recorded, more[2]]
    assert ReplyArchive(tmp_path).models == ("scripted",)


@given(st.integers(0, 4000))
def test_a_torn_last_line_is_skipped(tmp_path_factory, length):
    folder = tmp_path_factory.mktemp("torn")
    recorded = _replies(_model(folder, ScriptedModel(["a", "b"])), _request(), _request("Other"))
    (path,) = folder.iterdir()
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    path.write_bytes(content[: first + min(length, len(content) - first - 2)])
    assert _replies(_model(folder), _request()) == recorded[:1]
    assert _replies(_model(folder, ScriptedModel(["c"])), _request("Other"))[0][0].text == "c"
    assert _replies(_model(folder), _request(), _request("Other"))[1][0].text == "c"


def test_a_replayed_exploration_has_the_same_events(tmp_path):
    def played(model):
        run = a_run(model, subtasks=1)
        result = anyio.run(explore, run)
        return result.verdict, [_timeless(event) for event in run.emit.__self__]

    assert played(_model(tmp_path, ScriptedModel(_answer))) == played(_model(tmp_path))


def _answer(request):
    answers = {
        "introduce": "math computes.",
        "plan": '{"subtasks": [{"title": "root", "description": "compute the root"}]}',
        "recommend": '{"apis": ["math.sqrt"]}',
        "propose": [f"```python\nimport math\nroot = math.sqrt({n})\nprint(root)\n```" for n in (16, 25, 36)],
        "solve": "```python\nimport math\nprint(math.sqrt(16))\n```",
    }
    return answers.get(request.step, "{}")


def _timeless(event):
    if event.kind == "candidate_observed":
        return replace(event, observation=replace(event.observation, seconds=0.0))
    return event
