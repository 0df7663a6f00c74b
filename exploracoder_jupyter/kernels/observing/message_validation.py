"""Validates the messages that a sibling sends.

Code in a sibling has the key of its connection and can send anything. Messages that pass have the shape that Jupyter's
protocol defines for their type, and text that can be encoded; everything else is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exploracoder_jupyter.text.characters import encodable


@dataclass(frozen=True, slots=True)
class Message:
    """One message from a kernel."""

    request: str
    """Id of the request that it answers; empty if it has none."""
    kind: str
    content: dict[str, Any]


def parse_message(raw: Any) -> Message | None:
    """Return the validated message; `None` if it is invalid."""
    try:
        kind, content = str(raw["msg_type"]), _clean(raw["content"])
        return Message(str(raw["parent_header"].get("msg_id", "")), kind, _CHECKS.get(kind, dict)(content))
    except Exception:  # invalid in any way: code in the sibling controls the content
        return None


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _stream(content: dict[str, Any]) -> dict[str, Any]:
    name, text, cut = content["name"], content["text"], content.get("cut", 0)
    _require(name in ("stdout", "stderr") and isinstance(text, str) and isinstance(cut, int) and cut >= 0)
    return {"name": name, "text": text, "cut": cut}


def _display(content: dict[str, Any]) -> dict[str, Any]:
    found = {name: content.get(name) or {} for name in ("data", "metadata", "transient")}
    _require(all(isinstance(value, dict) for value in found.values()))
    return found


def _error(content: dict[str, Any]) -> dict[str, Any]:
    name, message, traceback = content["ename"], content["evalue"], content["traceback"]
    _require(isinstance(name, str) and isinstance(message, str))
    _require(isinstance(traceback, list) and all(isinstance(line, str) for line in traceback))
    return {"ename": name, "evalue": message, "traceback": traceback}


def _reply(content: dict[str, Any]) -> dict[str, Any]:
    _require(isinstance(content["status"], str))
    _require(all(isinstance(content.get(name, []), list) for name in ("payload", "traceback")))
    return content


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


_CHECKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "stream": _stream,
    "display_data": _display,
    "execute_result": _display,
    "update_display_data": _display,
    "error": _error,
    "execute_reply": _reply,
}
