"""Reads the task, the check and the setup as the user gives them: text, a file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError

MAX_BYTES = 64_000
"""Maximum size of a task, a check or a setup, in bytes of UTF-8."""
_EXAMPLES = {"check": "`assert f(1) == 2`", "setup": "`ages = [20, 30, 40]`"}


def read_task(texts: Sequence[str], source: str | None) -> str:
    """Read the task from one `-t TEXT`, from a file, or from standard input if the file is `-`."""
    if texts and source is not None:
        raise UsageError("Both a task file and -t were given.", remedy="Give only one of them.")
    if len(texts) > 1:
        raise UsageError(f"-t was given {len(texts)} times.", remedy="Give the whole task in one -t option.")
    if not texts and source is None:
        raise UsageError("No task was given.", remedy='Give a task file before --library, or -t "what to do".')
    task = (texts[0] if texts else _read(source or "-", "task")).strip()
    if not task:
        raise UsageError("The task is empty.", remedy="Describe what the code should do.")
    return _decode(task, "task")


def read_code(given: str | None, what: str) -> str | None:
    """Read a check or a setup (`what`): the content of the file of that name, else the text itself."""
    if given is None:
        return None
    is_name = len(given.split()) == 1 and given.endswith((".py", ".txt", ".md", ".rst"))
    try:
        code = _read(given, what) if is_name or Path(given).is_file() else given
    except (OSError, ValueError):  # too long for a path, or contains a NUL
        code = given
    if not code.strip():
        raise UsageError(f"The {what} is empty.", remedy=f"Give Python such as {_EXAMPLES[what]}, or a file.")
    return _decode(code, what)


def _read(source: str, what: str) -> str:
    try:
        if source == "-":
            return _decode(sys.stdin.buffer.read(MAX_BYTES + 1), what)
        with Path(source).open("rb") as file:
            return _decode(file.read(MAX_BYTES + 1), what)
    except OSError as error:
        raise UsageError(
            f"The {what} file {source!r} cannot be read: {error.strerror or error}.",
            remedy="Give the path of a text file.",
        ) from error


def _decode(content: str | bytes, what: str) -> str:
    """Return the content as text, if it is text and not too long."""
    try:
        encoded = content.encode() if isinstance(content, str) else content
        text = encoded[:MAX_BYTES].decode("utf-8-sig") if len(encoded) <= MAX_BYTES else ""
    except UnicodeError as error:
        raise UsageError(f"The {what} is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    if len(encoded) > MAX_BYTES:
        raise UsageError(
            f"The {what} is longer than {MAX_BYTES // 1000} kB.",
            remedy=f"Shorten the {what}, and move data to files that it refers to.",
        )
    return text
