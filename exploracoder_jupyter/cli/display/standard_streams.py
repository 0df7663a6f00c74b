"""Writes to standard output and standard error of the command.

Standard output contains only the result: text, or one JSON object. A closed pipe (`| head`) is not an error: the stream
is redirected to the null device and the command continues to its end. Text from libraries, models and outputs is
sanitized before it is written, because a terminal would interpret its control characters, also behind a pipe.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, TextIO

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.text.terminal_text import printable, without_controls

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.syntax import Syntax


def print_result(text: str) -> None:
    """Print a line of the result on standard output, without control characters."""
    write_line(sys.stdout, printable(text) if sys.stdout.isatty() else without_controls(text))


def print_code(code: str, language: str = "python") -> None:
    """Print code as part of the result, highlighted on a terminal."""
    if not sys.stdout.isatty():
        return print_result(code)
    from rich.console import Console

    screen = Console(file=sys.stdout)
    with screen.capture() as captured:
        screen.print(highlighted(code, language))
    write_line(sys.stdout, captured.get().rstrip("\n"))


def highlighted(code: str, language: str = "python") -> Syntax:
    """Return code for rich in the terminal's own colours: its background may be dark or light."""
    from rich.syntax import Syntax

    return Syntax(printable(code), language, theme="ansi_dark", background_color="default", word_wrap=True)


def print_note(text: str) -> None:
    """Print a line on standard error, separate from the result."""
    write_line(sys.stderr, printable(text))


def print_json(value: JsonValue) -> None:
    """Print the JSON object of `--json` on standard output."""
    write_line(sys.stdout, json.dumps(value, indent=2))


def print_error(error: ExploraError, *, as_json: bool) -> None:
    """Print an error as one plain sentence on standard error.

    With `--json`, also print an object on standard output with the error and the summary of the run that it ended.
    """
    print_note(f"jupyter explora: {' '.join(str(error).split())}")
    if as_json:
        print_json({**error.summary, "error": error.message, "remedy": error.remedy})


def write_line(stream: TextIO, text: str) -> None:
    """Write the text with a line break and flush; characters that the stream cannot encode are replaced."""
    try:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8") + "\n")
        stream.flush()
    except BrokenPipeError:
        redirect_to_devnull(stream)


def flush(stream: TextIO) -> None:
    """Flush what others, such as argparse, have printed, so that a closed pipe is handled here and not at exit."""
    try:
        stream.flush()
    except BrokenPipeError:
        redirect_to_devnull(stream)


def redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that neither later writes nor the interpreter's final flush raise."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)
