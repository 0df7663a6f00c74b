"""Messages and settings without pydantic: read and written as pydantic does it."""

import dataclasses
import json

import pydantic
import pytest

from exploracoder_jupyter.core import plain_validation as plain
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.types import Task
from tests.unit.factories import complete_run

RECORDS = complete_run()


def both(type_):
    return plain.TypeAdapter(type_), pydantic.TypeAdapter(type_)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record.event).__name__)
def test_records_are_read_and_written_alike(record):
    mine, theirs = both(Record)
    line = theirs.dump_json(record)
    assert mine.validate_json(line) == record
    assert mine.dump_json(record) == line


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"exploration": {"candidates": "7", "tests": "yes", "libraries": None}},
        {"budget": {"tokens": 5.0, "seconds": 3, "cost": "0.5"}},
        {"budget": {"tokens": 0}},
        {"budget": {"tokens": 1.5}},
        {"budget": {"tokens": "many"}},
        {"budget": {"seconds": 0}},
        {"budget": {"tokens": None}},
        {"budget": []},
        {"endpoint": {"retries": 11}},
        {"endpoint": {"model": 3}},
        {"endpoint": {"share": "all"}},
        {"exploration": {"tests": "perhaps"}},
        {"exploration": {"tests": []}},
        {"exploration": {"candidats": 3}},
        {"retrieval": {"docs": ["a", 1]}},
        {"retrieval": {"docs": "a"}},
        {"prices": {"models": {"m": {"input": 1, "output": "2.5"}}}},
        {"prices": {"models": {"m": {"input": 1}}}},
        {"prices": {"models": {"m": {"input": 1, "output": 1, "cashed": 1}}}},
        {"prices": {"models": []}},
        {"unknown": {}},
    ],
    ids=str,
)
def test_settings_are_accepted_and_refused_alike(given):
    mine, theirs = both(Settings)

    def outcome(adapter, error):
        try:
            return adapter.dump_python(adapter.validate_python(given), mode="json")
        except error as fault:
            first = fault.errors()[0]
            return first["loc"], first["msg"], first["input"]

    assert outcome(mine, plain.ValidationError) == outcome(theirs, pydantic.ValidationError)


def test_settings_keep_the_types_of_numbers():
    found = plain.TypeAdapter(Settings).validate_python({"budget": {"tokens": 5.0, "seconds": 3}})
    assert (type(found.budget.tokens), type(found.budget.seconds)) == (int, float)


@pytest.mark.parametrize("given", [None, [], {"text": "a"}, {"text": 1, "libraries": []}])
def test_a_task_that_is_not_one_is_refused(given):
    for adapter, error in zip(both(Task), (plain.ValidationError, pydantic.ValidationError), strict=True):
        with pytest.raises(error):
            adapter.validate_python(given)


def test_a_line_that_is_not_json_is_refused():
    with pytest.raises(plain.ValidationError):
        plain.TypeAdapter(Record).validate_json("not JSON")


def test_numbers_that_json_lacks_are_null():
    mine, theirs = both(dict[str, float])
    given = {"a": float("inf"), "b": float("nan"), "c": 0.5}
    assert json.loads(mine.dump_json(given)) == json.loads(theirs.dump_json(given))


class Message(plain.BaseModel):
    text: str
    names: list[str] = []  # noqa: RUF012 - what is tested
    key: plain.SecretStr | None = None


def test_a_message_copies_its_mutable_defaults():
    Message(text="a").names.append("b")
    assert Message(text="a").names == []


def test_a_message_hides_its_key():
    message = Message.model_validate({"text": "a", "key": "hidden", "newer": 1})
    assert message.key.get_secret_value() == "hidden"
    assert "hidden" not in repr(message) + message.model_dump_json()


def test_a_message_is_changed_only_by_copying():
    message = Message(text="a")
    assert message.model_copy(update={"text": "b"}) == Message(text="b")
    with pytest.raises(plain.ValidationError):
        message.text = "b"


@dataclasses.dataclass
class Odd:
    places: set[int]


def test_a_type_that_is_not_supported_is_an_error():
    with pytest.raises(TypeError):
        plain.TypeAdapter(Odd).validate_python({"places": [1]})
