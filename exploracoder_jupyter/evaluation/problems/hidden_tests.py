"""Builds the code that runs a hidden test."""

from __future__ import annotations

from typing import Final

SOLUTION_VARIABLE: Final = "__solution__"
"""Name under which a test can read the code of the solution. DS-1000 runs it again, on other inputs."""


def hidden_test_code(test: str, solution: str) -> str:
    """Return the code of a test of `Problem.tests`, to be run in a copy of the state after the solution."""
    if SOLUTION_VARIABLE not in test:
        return test
    return f"{SOLUTION_VARIABLE} = {solution!r}\n{test}"
