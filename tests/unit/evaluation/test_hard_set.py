"""The hard set of problems in benchmarks/problems/hard: references pass, and each surprise that it claims matters."""

import json
import sys
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PROBLEMS = Path(__file__).parents[3] / "benchmarks" / "problems"
HARD = PROBLEMS / "hard"

pytestmark = pytest.mark.skipif(not HARD.is_dir(), reason="benchmarks are not part of the source distribution")


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


ROWS = {row["id"]: row for row in _rows(PROBLEMS / "hard.jsonl")}
MISREADINGS = _rows(PROBLEMS / "hard_misreadings.jsonl")


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> Iterator[None]:
    """Make the libraries importable, without compiled files beside them."""
    before = sys.dont_write_bytecode
    sys.path.insert(0, str(HARD))
    sys.dont_write_bytecode = True
    yield
    sys.dont_write_bytecode = before
    sys.path.remove(str(HARD))


def _failures(row: dict[str, Any], solution: str) -> int:
    """Return how many of the problem's tests the solution fails, each in a state of its own."""
    failed = 0
    for test in row["tests"]:
        names: dict[str, Any] = {"__name__": "problem"}
        try:
            for part in (row["setup"], solution, test):
                exec(part, names)
        except Exception:
            failed += 1
    return failed


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_only_the_reference_solution_passes(row: dict[str, Any]) -> None:
    assert len(row["tests"]) >= 2 and _failures(row, row["solution"]) == 0
    assert _failures(row, "") == len(row["tests"])
    misreadings = [each for each in MISREADINGS if each["problem"] == row["id"]]
    assert misreadings
    for each in misreadings:
        assert each["replace"] in row["solution"]
        assert _failures(row, row["solution"].replace(each["replace"], each["by"])) > 0, each["surprise"]


def test_documentation_and_gold_apis_exist() -> None:
    assert len(ROWS) == 40 and all(any((HARD / path).iterdir()) for row in ROWS.values() for path in row["docs"])
    for api in {api for row in ROWS.values() for alternatives in row["gold_apis"] for api in alternatives}:
        library, *names = api.split(".")
        assert reduce(getattr, names, import_module(library)) is not None
