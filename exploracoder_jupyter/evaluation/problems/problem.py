"""One problem of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """A task with hidden tests."""

    id: str
    """Unique within its set."""
    task: str
    libraries: tuple[str, ...]
    tests: tuple[str, ...]
    """Code that is run after the solution, each test in a copy of its state; a test passes if it raises nothing.
    `hidden_tests.hidden_test_code` gives a test the code of the solution, if it needs that."""
    setup: str = ""
    """Code that is run before the solution and is not part of it, such as imports and data. Strategies know it."""
    solution_name: str | None = None
    """Name of the function that the solution must define, if it must."""
    docs: tuple[str, ...] = ()
    """Files and folders with documentation, relative to `folder`."""
    solution: str | None = None
    """Reference solution; strategies never see it."""
    gold_apis: tuple[tuple[str, ...], ...] = ()
    """The APIs that a solution needs, each as a tuple of names of which one suffices."""
    problem_set: str = ""
    """Name of the set it belongs to."""
    folder: Path = Path()
    """Working directory: where `docs`, data files and private libraries are found."""
