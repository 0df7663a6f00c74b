"""Reads the task, the check and the setup given on the command line: text, a file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError

MAX_BYTES = 64_000
"""Maximum size of a task, a check or a setup, in bytes of UTF-8."""


def read_task(texts: Sequence[str], source: str | None) -> str:
    """Read the task from one `-t TEXT`, from a file, or from standard input if the file is `-`.

    Raises:
        UsageError: there is no task or more than one, or the task is empty, too long, or cannot be read.
    """
    if texts and source is not None:
        raise UsageError("Both a task file and -t were given.", remedy="Give only one of them.")
    if len(texts) > 1:
        raise UsageError(f"-t was given {len(texts)} times.", remedy="Give the whole task in one -t option.")
    if not texts and source is None:
        raise UsageError("No task was given.", remedy='Give a task file before --library, or -t "what to do".')
    task = (texts[0] if texts else _read(source or "-", "task")).strip()
    if not task:
        raise UsageError("The task is empty.", remedy="Describe what the code should do.")
    return _check_size(task, "task")


def read_check(given: str | None) -> str | None:
    """Read the check: the content of the file of that name, else the text itself.

    Raises:
        UsageError: the check is empty or too long, or it names a file that is missing or cannot be read.
    """
    return None if given is None else _read_code(given, "check", example="`assert f(1) == 2`")


def read_setup(given: str | None) -> str:
    """Read the setup as `read_check` does; empty if none is given.

    Raises:
        UsageError: as for the check.
    """
    return "" if given is None else _read_code(given, "setup", example="`ages = [20, 30, 40]`")


def _read_code(given: str, what: str, *, example: str) -> str:
    code = _read(given, what) if _is_file_name(given) else given
    if not code.strip():
        raise UsageError(f"The {what} is empty.", remedy=f"Give Python such as {example}, or a file.")
    return _check_size(code, what)


def _is_file_name(given: str) -> bool:
    has_file_suffix = "\n" not in given and given.endswith((".py", ".txt", ".md", ".rst"))
    try:
        return has_file_suffix or Path(given).is_file()
    except (OSError, ValueError):
        return False


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


def _decode(content: bytes, what: str) -> str:
    if len(content) > MAX_BYTES:
        raise _too_long(what)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(what) from error


def _check_size(text: str, what: str) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise _not_text(what) from error
    if size > MAX_BYTES:
        raise _too_long(what)
    return text


def _not_text(what: str) -> UsageError:
    return UsageError(f"The {what} is not UTF-8 text.", remedy="Save it as UTF-8.")


def _too_long(what: str) -> UsageError:
    return UsageError(
        f"The {what} is longer than {MAX_BYTES // 1000} kB.",
        remedy=f"Shorten the {what}, and move data to files that it refers to.",
    )
