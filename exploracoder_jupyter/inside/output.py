"""Bounds single messages before they leave the kernel.

One `print` of a gigabyte would otherwise be buffered, serialised and sent as one message, several times its size at
each stage. What is cut is said in place; the total over many messages is the receiver's business.
"""

from __future__ import annotations

import functools
from typing import Any

_TYPES = frozenset(["stream", "execute_result", "display_data", "update_display_data", "error"])


def shorten(text: str, most: int) -> str:
    """The text, or its first and last parts with a line between them that tells how many characters are missing."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half:,} characters cut] ...\n{text[-half:]}"


def bound_content(kind: str, content: dict[str, Any], most: int) -> dict[str, Any]:
    """The content of an output message with every text in it at most `most` characters, images beyond it dropped."""
    if kind == "stream":
        return {**content, "text": shorten(content["text"], most)}
    if kind == "error":
        lines = [shorten(line, most) for line in content.get("traceback", [])]
        return {**content, "evalue": shorten(content.get("evalue", ""), most), "traceback": lines}
    data = {mime: value for mime, value in content.get("data", {}).items() if _keeps(mime, value, most)}
    return {**content, "data": {m: shorten(v, most) if isinstance(v, str) else v for m, v in data.items()}}


def _keeps(mime: str, value: object, most: int) -> bool:
    return mime in ("text/plain", "text/llm+plain") or not isinstance(value, str) or len(value) <= 4 * most


def install(most: int) -> None:
    """Bound what this process's kernel sends: `most` characters in one text. Call before the kernel is made."""
    from ipykernel.iostream import OutStream
    from jupyter_client.session import Session

    write, send = OutStream.write, Session.send

    @functools.wraps(write)
    def bounded_write(self: Any, string: str) -> Any:
        if isinstance(string, str) and len(string) > most:
            write(self, shorten(string, most))
            return len(string)
        return write(self, string)

    @functools.wraps(send)
    def bounded_send(self: Any, stream: Any, msg_or_type: Any, content: Any = None, *args: Any, **kwargs: Any) -> Any:
        kind = msg_or_type if isinstance(msg_or_type, str) else msg_or_type.get("msg_type")
        if kind in _TYPES and isinstance(msg_or_type, str) and content:
            content = bound_content(kind, content, most)
        elif kind in _TYPES and isinstance(msg_or_type, dict):
            msg_or_type = {**msg_or_type, "content": bound_content(kind, msg_or_type["content"], most)}
        return send(self, stream, msg_or_type, content, *args, **kwargs)

    setattr(OutStream, "write", bounded_write)  # noqa: B010
    setattr(Session, "send", bounded_send)  # noqa: B010
