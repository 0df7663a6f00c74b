"""Limits the size of single messages before they leave the kernel, and guards around code that may hang or print."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, TextIO, TypeVar

# Guards around third-party code, which may hang, print or read standard input.

_Result = TypeVar("_Result")
_Default = TypeVar("_Default")


def attempt(function: Callable[..., _Result], *arguments: Any, default: _Default) -> _Result | _Default:
    """Return the result of a function, or the default if it raises anything but an interrupt."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return default


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds, if the platform supports it. Blocks may be nested."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError("it took too long")

    previous = signal.signal(signal.SIGALRM, stop)
    started = time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - started), 0.01))


@contextmanager
def silence_standard_streams() -> Iterator[TextIO]:
    """Yield the real standard output; the library, including C code, writes to and reads from the null device."""
    sys.stdout.flush()
    null, saved = os.open(os.devnull, os.O_RDWR), [os.dup(0), os.dup(1)]
    for number in (0, 1):
        os.dup2(null, number)
    try:
        with open(saved[1], "w", encoding="utf-8", closefd=False) as stream:
            yield stream
    finally:
        sys.stdout.flush()
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(null)


# Limits the size of single messages before they leave the kernel, and keeps the order of standard output and error.
#
# Otherwise one `print` of a gigabyte would be buffered, serialised and sent as one message, taking several times
# its size at each stage. Cuts are marked; the receiver limits the total over many messages. Lone surrogates, which
# no message can contain, are shown as escapes; otherwise the text would be lost, and the kernel's own traceback
# shown in its place.

IMAGE_SIZE_FACTOR = 4
"""Images, with the rest of their message, may be this many times as long as a text."""

_OUTPUT_TYPES = frozenset(["stream", "execute_result", "display_data", "update_display_data", "error"])
_MESSAGES_WITH_TEXT = _OUTPUT_TYPES | {"execute_reply"}
_TEXTS = ("text/plain", "text/llm+plain")
_MAX_NAME_LENGTH = 200


def shorten(text: str, limit: int) -> str:
    """Return the text, or its start and end with a line between them that gives the number of characters cut."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half:,} characters cut] ...\n{text[-half:]}"


def shorten_lines(lines: list[str], limit: int) -> list[str]:
    """Return the lines, or the first and last ones with a note between, at most `limit` characters in total."""
    if sum(map(encoded_size, lines)) <= limit:
        return lines
    short = [shorten(line, limit // 4) for line in lines]
    head = _fitting_lines(short, limit // 2)
    tail = _fitting_lines(short[: len(head) - 1 if head else None : -1], limit // 2)[::-1]
    missing = len(lines) - len(head) - len(tail)
    return [*head, *([f"... [{missing:,} lines cut] ..."] if missing else []), *tail]


def encoded_size(value: object) -> int:
    """Return the number of characters that a value takes in a message."""
    return len(value) + 2 if isinstance(value, str) else len(json.dumps(value, default=repr))


def escape_surrogates(value: Any) -> Any:
    """Return the JSON value with each lone surrogate in its strings replaced by its escape, such as `\\ud800`."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {escape_surrogates(key): escape_surrogates(item) for key, item in value.items()}
    return [escape_surrogates(item) for item in value] if isinstance(value, list | tuple) else value


def bound_content(message_type: str, content: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return the content of an output message, with each text limited to `limit` characters and huge images dropped.

    Characters cut from a stream are counted in its field `cut` but not marked in its text: the receiver joins streams.
    """
    if message_type == "stream":
        text, half = content["text"], limit // 2
        if len(text) <= limit:
            return content
        return {**content, "text": text[:half] + text[-half:], "cut": content.get("cut", 0) + len(text) - 2 * half}
    if message_type == "error":
        name, message = shorten(content.get("ename", ""), _MAX_NAME_LENGTH), shorten(content.get("evalue", ""), limit)
        lines = shorten_lines(content.get("traceback", []), limit)
        return {**content, "ename": name, "evalue": message, "traceback": lines}
    metadata = content.get("metadata", {})
    bounded = {**content, "data": _limit_data(content.get("data", {}), limit)}
    return {**bounded, "metadata": metadata if encoded_size(metadata) <= limit else {}}


def _limit_data(data: dict[str, Any], limit: int) -> dict[str, Any]:
    """Shorten texts, and keep other formats in order while they fit in `IMAGE_SIZE_FACTOR` times the limit in total."""
    selected = {mime: shorten(data[mime], limit) for mime in _TEXTS if isinstance(data.get(mime), str)}
    room = IMAGE_SIZE_FACTOR * limit - sum(map(encoded_size, selected.values()))
    for mime, value in data.items():
        size = encoded_size(mime) + encoded_size(value)
        if mime not in selected and size <= room:
            selected[mime] = value
            room -= size
    return {mime: selected[mime] for mime in data if mime in selected}


def _fitting_lines(lines: list[str], room: int) -> list[str]:
    sizes = accumulate(map(encoded_size, lines))
    return [line for line, size in zip(lines, sizes, strict=False) if size <= room]


class OutputLimits:
    """Limits each text that this process's kernel sends to `limit` characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cut: dict[str, int] = {}
        self._written: Any = None
        """The stream that was written to last."""

    def install_once(self) -> None:
        """Install, unless this kernel was started with limits."""
        from jupyter_client.session import Session

        if not hasattr(Session.send, "__wrapped__"):
            self.install()

    def install(self) -> None:
        """Patch the output functions. Call this before the kernel is created."""
        from ipykernel.iostream import OutStream
        from jupyter_client.session import Session

        setattr(OutStream, "write", self._wrap_write(OutStream.write))  # noqa: B010
        setattr(Session, "send", self._wrap_send(Session.send))  # noqa: B010

    def _wrap_write(self, write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def bounded(stream: Any, string: Any) -> Any:
            last, self._written = self._written, stream
            if last is not None and last is not stream and not last.closed:
                last.flush()  # otherwise its own timer would decide which text comes first
            if not isinstance(string, str) or len(string) <= self._limit:
                return write(stream, string)
            half = self._limit // 2
            self._cut[stream.name] = self._cut.get(stream.name, 0) + len(string) - 2 * half
            write(stream, string[:half] + string[-half:])
            return len(string)

        return bounded

    def _wrap_send(self, send: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(send)
        def bounded(session: Any, stream: Any, message: Any, content: Any = None, *more: Any, **options: Any) -> Any:
            if isinstance(message, str) and message in _MESSAGES_WITH_TEXT and content:
                content = self._limit_content(message, escape_surrogates(content))
            elif isinstance(message, dict) and message.get("msg_type") in _MESSAGES_WITH_TEXT:
                text = escape_surrogates(message["content"])
                message = {**message, "content": self._limit_content(message["msg_type"], text)}
            return send(session, stream, message, content, *more, **options)

        return bounded

    def _limit_content(self, message_type: str, content: dict[str, Any]) -> dict[str, Any]:
        if message_type not in _OUTPUT_TYPES:
            return content
        if message_type == "stream" and (cut := self._cut.pop(content["name"], 0)):
            content = {**content, "cut": cut}
        return bound_content(message_type, content, self._limit)
