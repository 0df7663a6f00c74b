"""Prints what a run came to: its verdict, its solution, and where its trace is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.display.standard_streams import print_code, print_note, print_result

if TYPE_CHECKING:
    from pydantic import JsonValue


def print_summary(summary: Mapping[str, JsonValue], *, output: str = "") -> None:
    """Print the verdict, the solution with its output if there is one, and the path of the trace."""
    from exploracoder_jupyter.core.run_state import RunState, with_summary

    solution = with_summary(RunState(), summary).offered_solution
    print_result(f"{str(summary['status']).capitalize()}: {summary.get('reason') or 'no reason was given.'}")
    if patch := summary.get("patch"):
        print_result("")
        print_code(str(patch), "diff")
        print_result(f"Apply it with: jupyter explora repo apply {summary.get('trace') or 'TRACE'}")
    elif solution:
        print_result("")
        print_code(solution)
        print_result(f"\nOutput:\n{output}\n" if output else "")
    if summary.get("trace_problem"):
        print_note(str(summary["trace_problem"]))
    elif summary.get("trace"):
        print_result(f"Trace: {summary['trace']}")
    files = summary.get("files")
    if isinstance(files, list) and files:
        print_result("\n".join(["Files written:", *(f"  {path}" for path in files)]))
