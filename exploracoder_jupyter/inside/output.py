"""Bounds single messages before they leave the kernel.

One `print` of a gigabyte would otherwise be buffered, serialised and sent as one message, several times its size at
each stage. What is cut is said; the total over many messages is the receiver's business.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_TYPES = frozenset(["stream", "execute_result", "display_data", "update_display_data", "error"])


def shorten(text: str, most: int) -> str:
    """The text, or its first and last parts with a line between them that tells how many characters are missing."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half:,} characters cut] ...\n{text[-half:]}"


def bound_content(kind: str, content: dict[str, Any], most: int) -> dict[str, Any]:
    """The content of an output message with every text in it at most `most` characters, images beyond it dropped.

    What a stream loses is counted in its field `cut`, and not said in its text: the receiver joins streams.
    """
    if kind == "stream":
        text, half = content["text"], most // 2
        if len(text) <= most:
            return content
        return {**content, "text": text[:half] + text[-half:], "cut": content.get("cut", 0) + len(text) - 2 * half}
    if kind == "error":
        lines = [shorten(line, most) for line in content.get("traceback", [])]
        return {**content, "evalue": shorten(content.get("evalue", ""), most), "traceback": lines}
    data = {mime: value for mime, value in content.get("data", {}).items() if _keeps(mime, value, most)}
    return {**content, "data": {m: shorten(v, most) if isinstance(v, str) else v for m, v in data.items()}}


def _keeps(mime: str, value: object, most: int) -> bool:
    return mime in ("text/plain", "text/llm+plain") or not isinstance(value, str) or len(value) <= 4 * most


class Bounds:
    """Bounds what this process's kernel sends: `most` characters in one text."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._cut: dict[str, int] = {}

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
