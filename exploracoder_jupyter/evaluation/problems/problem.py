"""One problem of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.types import RepositoryTask

SOLUTION_VARIABLE: Final = "__solution__"
"""Name under which a test can read the code of the solution. DS-1000 runs it again, on other inputs."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A task with hidden tests."""

    id: str
    """Unique within its set."""
    task: str
    libraries: tuple[str, ...]
    tests: tuple[str, ...]
    """Code that is run after the solution, each test in a copy of its state; a test passes if it raises nothing.
    `SOLUTION_VARIABLE` in a test stands for the code of the solution."""
    setup: str = ""
    """Code that is run before the solution and is not part of it, such as imports and data. Strategies know it, unless
    it makes live variables."""
    solution_name: str | None = None
    """Name of the function that the solution must define, if it must."""
    docs: tuple[str, ...] = ()
    """Files and folders with documentation; relative paths are relative to `folder`."""
    solution: str | None = None
    """Reference solution; strategies never see it."""
    gold_apis: tuple[tuple[str, ...], ...] = ()
    """The APIs that a solution needs, each as a tuple of names of which one suffices."""
    problem_set: str = ""
    """Name of the set it belongs to."""
    repository: RepositoryTask | None = None
    """Set if the solution is a definition of the repository in `folder`, which contains the reference; then the tests
    are those of the repository."""
    folder: Path = Path()
    """Working directory of the code, with data files and private libraries; `Path()` stands for an empty one."""
    live: tuple[str, ...] = ()
    """Variables that the setup makes as if they were in the user's kernel: strategies see what a user's run would see
    of them, and not the setup."""
    check: str | None = None
    """Check of the user (`--check`), which strategies know; the tests are hidden all the same."""


def hidden_test_code(test: str, solution: str) -> str:
    """Return the code of a test of `Problem.tests`, to be run in a copy of the state after the solution."""
    if SOLUTION_VARIABLE not in test:
        return test
    return f"{SOLUTION_VARIABLE} = {solution!r}\n{test}"
