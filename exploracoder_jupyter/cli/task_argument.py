"""The task and the check as given on the command line: text, a file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError

LARGEST = 64_000
"""Bytes of UTF-8 that a task, or a check, may have."""


def read_task(texts: Sequence[str], source: str | None) -> str:
    """The task from one `-t TEXT`, or from a file, or from standard input where the file is `-`.

    Raises:
        UsageError: there is none, there are two, it is empty, too long, or cannot be read.
    """
    if texts and source is not None:
        raise UsageError("Both a task file and -t were given.", remedy="Give one of the two.")
    if len(texts) > 1:
        raise UsageError(f"-t was given {len(texts)} times.", remedy="Give the whole task in one.")
    if not texts and source is None:
        raise UsageError("There is no task.", remedy='Give a task file before --library, or -t "what to do".')
    task = (texts[0] if texts else _read(source or "-", "task")).strip()
    if not task:
        raise UsageError("The task is empty.", remedy="Say in words what the code should do.")
    return _bounded(task, "task")


def read_check(given: str | None) -> str | None:
    """The check: the content of the file of that name, else the text itself.

    Raises:
        UsageError: it is empty, too long, names a missing Python file, or the file cannot be read.
    """
    if given is None:
        return None
    check = _read(given, "check") if _names_file(given) else given
    if not check.strip():
        raise UsageError("The check is empty.", remedy="Give Python such as `assert f(1) == 2`, or a file.")
    return _bounded(check, "check")


def _names_file(given: str) -> bool:
    looks_like_one = "\n" not in given and given.endswith((".py", ".txt", ".md", ".rst"))
    try:
        return looks_like_one or Path(given).is_file()
    except (OSError, ValueError):
        return False


def _read(source: str, what: str) -> str:
    try:
        if source == "-":
            return _decode(sys.stdin.buffer.read(LARGEST + 1), what)
        with Path(source).open("rb") as file:
            return _decode(file.read(LARGEST + 1), what)
    except OSError as error:
        raise UsageError(
            f"The {what} file {source!r} cannot be read: {error.strerror or error}.",
            remedy="Give the path of a text file.",
        ) from error


def _decode(content: bytes, what: str) -> str:
    if len(content) > LARGEST:
        raise _too_long(what)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(what) from error


def _bounded(text: str, what: str) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise _not_text(what) from error
    if size > LARGEST:
        raise _too_long(what)
    return text


def _not_text(what: str) -> UsageError:
    return UsageError(f"The {what} is not UTF-8 text.", remedy="Save it as UTF-8.")


def _too_long(what: str) -> UsageError:
    return UsageError(
        f"The {what} is longer than {LARGEST // 1000} kB.",
        remedy=f"Shorten the {what} to what matters, and put data into files that it names.",
    )
