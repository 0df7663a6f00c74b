"""`jupyter explora doctor`: what works here, found by trying it, and what to do about the rest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.terminal.standard_streams import emit, say

if TYPE_CHECKING:
    from pydantic import JsonValue


def execute(arguments: argparse.Namespace) -> int:
    """Try endpoint, sibling kernels and isolation, and tell. Returns the exit status: 1 when there are problems.

    Raises:
        ExploraError: the configuration cannot be read.
    """
    import anyio

    from exploracoder_jupyter import runs

    with redirect_stdout(sys.stderr):
        found: dict[str, JsonValue] = anyio.run(runs.diagnose, ())
    if arguments.json:
        emit(found)
    else:
        say(report(found))
    return 1 if found["problems"] else 0


def report(found: Mapping[str, JsonValue]) -> str:
    """The findings as text."""
    lines = [f"{name + ':':<13} {_words(value)}" for name, value in found.items() if name != "problems"]
    problems = found["problems"]
    if isinstance(problems, list) and problems:
        lines += ["", "Problems:", *(f"- {_problem(problem)}" for problem in problems)]
    else:
        lines += ["", "No problems were found."]
    return "\n".join(lines)


def _words(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_words(inner) for inner in value) or "none"
    return {True: "yes", False: "no", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)


def _problem(problem: JsonValue) -> str:
    return f"{problem['what']} {problem['remedy']}" if isinstance(problem, dict) else str(problem)
