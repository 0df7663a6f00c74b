"""Bounds single messages before they leave the kernel.

One `print` of a gigabyte would otherwise be buffered, serialised and sent as one message, several times its size at
each stage. What is cut is said; the total over many messages is the receiver's business.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from itertools import accumulate
from typing import Any

MUCH = 4
"""An image, with what else its message holds, may be this many times as long as a text."""

_TYPES = frozenset(["stream", "execute_result", "display_data", "update_display_data", "error"])
_TEXTS = ("text/plain", "text/llm+plain")
_LONGEST_NAME = 200


def shorten(text: str, most: int) -> str:
    """The text, or its first and last parts with a line between them that tells how many characters are missing."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half:,} characters cut] ...\n{text[-half:]}"


def shorten_lines(lines: list[str], most: int) -> list[str]:
    """The lines, or the first and the last of them, each with its share of `most` characters, and a line between."""
    if sum(map(encoded_size, lines)) <= most:
        return lines
    short = [shorten(line, most // 4) for line in lines]
    head = _first(short, most // 2)
    tail = _first(short[: len(head) - 1 if head else None : -1], most // 2)[::-1]
    missing = len(lines) - len(head) - len(tail)
    return [*head, *([f"... [{missing:,} lines cut] ..."] if missing else []), *tail]


def encoded_size(value: object) -> int:
    """Characters that a value takes in a message."""
    return len(value) + 2 if isinstance(value, str) else len(json.dumps(value, default=repr))


def bound_content(kind: str, content: dict[str, Any], most: int) -> dict[str, Any]:
    """The content of an output message with every text in it at most `most` characters, images far beyond it dropped.

    What a stream loses is counted in its field `cut`, and not said in its text: the receiver joins streams.
    """
    if kind == "stream":
        text, half = content["text"], most // 2
        if len(text) <= most:
            return content
        return {**content, "text": text[:half] + text[-half:], "cut": content.get("cut", 0) + len(text) - 2 * half}
    if kind == "error":
        name, message = shorten(content.get("ename", ""), _LONGEST_NAME), shorten(content.get("evalue", ""), most)
        lines = shorten_lines(content.get("traceback", []), most)
        return {**content, "ename": name, "evalue": message, "traceback": lines}
    metadata = content.get("metadata", {})
    bounded = {**content, "data": _bounded_data(content.get("data", {}), most)}
    return {**bounded, "metadata": metadata if encoded_size(metadata) <= most else {}}


def _bounded_data(data: dict[str, Any], most: int) -> dict[str, Any]:
    """Texts shortened, and of the rest what fits in `MUCH` times as much together, in the order it comes."""
    kept = {mime: shorten(data[mime], most) for mime in _TEXTS if isinstance(data.get(mime), str)}
    room = MUCH * most - sum(map(encoded_size, kept.values()))
    for mime, value in data.items():
        size = encoded_size(mime) + encoded_size(value)
        if mime not in kept and size <= room:
            kept[mime] = value
            room -= size
    return {mime: kept[mime] for mime in data if mime in kept}


def _first(lines: list[str], room: int) -> list[str]:
    sizes = accumulate(map(encoded_size, lines))
    return [line for line, size in zip(lines, sizes, strict=False) if size <= room]


class Bounds:
    """Bounds what this process's kernel sends: `most` characters in one text."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._cut: dict[str, int] = {}

    def install_once(self) -> None:
        """Install, unless this kernel was started with bounds."""
        from jupyter_client.session import Session

        if not hasattr(Session.send, "__wrapped__"):
            self.install()

    def install(self) -> None:
        """Begin. To be called before the kernel is made."""
        from ipykernel.iostream import OutStream
        from jupyter_client.session import Session

        setattr(OutStream, "write", self._writing(OutStream.write))  # noqa: B010
        setattr(Session, "send", self._sending(Session.send))  # noqa: B010

    def _writing(self, write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def bounded(stream: Any, string: Any) -> Any:
            if not isinstance(string, str) or len(string) <= self._most:
                return write(stream, string)
            half = self._most // 2
            self._cut[stream.name] = self._cut.get(stream.name, 0) + len(string) - 2 * half
            write(stream, string[:half] + string[-half:])
            return len(string)

        return bounded

    def _sending(self, send: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(send)
        def bounded(session: Any, stream: Any, message: Any, content: Any = None, *more: Any, **named: Any) -> Any:
            if isinstance(message, str) and message in _TYPES and content:
                content = self._bounded(message, content)
            elif isinstance(message, dict) and message.get("msg_type") in _TYPES:
                message = {**message, "content": self._bounded(message["msg_type"], message["content"])}
            return send(session, stream, message, content, *more, **named)

        return bounded

    def _bounded(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        if kind == "stream" and (cut := self._cut.pop(content["name"], 0)):
            content = {**content, "cut": cut}
        return bound_content(kind, content, self._most)
