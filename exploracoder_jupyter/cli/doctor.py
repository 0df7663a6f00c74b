"""`jupyter explora doctor`: tests the installation, and reports problems with their remedies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.display.standard_streams import print_json, print_result

if TYPE_CHECKING:
    from pydantic import JsonValue


def execute(arguments: argparse.Namespace) -> int:
    """Test endpoint, sibling kernels and isolation, and print a report. Returns the exit status: 1 for problems.

    Raises:
        ExploraError: the configuration cannot be read.
    """
    import anyio

    from exploracoder_jupyter import runs

    with redirect_stdout(sys.stderr):
        found: dict[str, JsonValue] = anyio.run(runs.diagnose, ())
    if arguments.json:
        print_json(found)
    else:
        print_result(format_report(found))
    return 1 if found["problems"] else 0


def format_report(found: Mapping[str, JsonValue]) -> str:
    """Format the findings as text."""
    lines = [f"{name + ':':<13} {_format_value(value)}" for name, value in found.items() if name != "problems"]
    problems = found["problems"]
    if isinstance(problems, list) and problems:
        lines += ["", "Problems:", *(f"- {_format_problem(problem)}" for problem in problems)]
    else:
        lines += ["", "No problems were found."]
    return "\n".join(lines)


def _format_value(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_format_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_format_value(inner) for inner in value) or "none"
    return {True: "yes", False: "no", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)


def _format_problem(problem: JsonValue) -> str:
    return f"{problem['what']} {problem['remedy']}" if isinstance(problem, dict) else str(problem)
