"""What a sibling sends is taken only in the shape that the protocol gives it."""

import pytest

from exploracoder_jupyter.kernels.messages import parse_message


def message(kind, content, parent=None):
    return {"msg_type": kind, "content": content, "parent_header": {"msg_id": "1"} if parent is None else parent}


STREAM = {"name": "stdout", "text": "x"}
MALFORMED = {
    "no text": message("stream", {}),
    "another stream": message("stream", {**STREAM, "name": "log"}),
    "text of another type": message("stream", {**STREAM, "text": ["x"]}),
    "count of another type": message("stream", {**STREAM, "cut": "many"}),
    "metadata": message("display_data", {"data": {}, "metadata": 5}),
    "data": message("execute_result", {"data": ["text/plain", "x"]}),
    "transient": message("update_display_data", {"data": {}, "transient": "d"}),
    "traceback": message("error", {"ename": "E", "evalue": "", "traceback": [1]}),
    "no error name": message("error", {}),
    "reply": message("execute_reply", {"status": "ok", "payload": 3}),
    "content": message("status", ["busy"]),
    "parent": message("stream", STREAM, parent=["1"]),
    "nothing": {},
    "no message": None,
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_dropped(raw):
    assert parse_message(raw) is None


def test_what_is_well_formed_passes():
    found = parse_message(message("stream", STREAM))
    assert (found.request, found.kind, found.content) == ("1", "stream", {**STREAM, "cut": 0})
    assert parse_message(message("execute_result", {"data": {"text/plain": "1"}})).content["metadata"] == {}
    assert parse_message(message("status", {"execution_state": "idle"}, parent={})).request == ""


def test_texts_can_be_encoded_afterwards():
    data = {"application/json": {"\ud800": ["caf\u00e9 \udfff"]}}
    assert parse_message(message("display_data", {"data": data})).content["data"] == {
        "application/json": {"?": ["caf\u00e9 ?"]}
    }
