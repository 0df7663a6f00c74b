"""Standard output and standard error of the command.

Standard output carries the result and nothing else: text, or one JSON object. A reader that goes away (`| head`) is
no error of ours: the stream is pointed at nothing and the command goes on to its end. What libraries and models wrote
is made harmless before it reaches a terminal: control characters would otherwise be obeyed by it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, TextIO

from exploracoder_jupyter.core.errors import ExploraError

if TYPE_CHECKING:
    from pydantic import JsonValue


def plain(text: str) -> str:
    """The text without control characters, line breaks and tabs kept."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def say(text: str) -> None:
    """A line of the result, on standard output; made harmless only where a terminal would read it."""
    write(sys.stdout, plain(text) if sys.stdout.isatty() else text)


def show_code(code: str) -> None:
    """Python code as part of the result, highlighted where a terminal shows it."""
    if not sys.stdout.isatty():
        return say(code)
    from rich.console import Console
    from rich.syntax import Syntax

    screen = Console(file=sys.stdout)
    with screen.capture() as captured:
        screen.print(Syntax(plain(code), "python", background_color="default", word_wrap=True))
    write(sys.stdout, captured.get().rstrip("\n"))


def note(text: str) -> None:
    """A line beside the result, on standard error."""
    write(sys.stderr, plain(text))


def emit(value: JsonValue) -> None:
    """The one object of `--json`, on standard output."""
    write(sys.stdout, json.dumps(value, indent=2))


def fail(error: ExploraError, *, as_json: bool) -> None:
    """One plain sentence on standard error; with `--json` also an object on standard output: the error, and what there
    is of the run that it ended."""
    note(f"jupyter explora: {' '.join(str(error).split())}")
    if as_json:
        emit({**error.summary, "error": error.message, "remedy": error.remedy})


def write(stream: TextIO, text: str) -> None:
    """The text and a line break, at once."""
    try:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8") + "\n")
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def settle(stream: TextIO) -> None:
    """Flush what others have printed, argparse for one: a reader that went away is met here, not at the exit."""
    try:
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Point a stream at nothing, so that neither later writes nor the interpreter's last flush raise."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)
