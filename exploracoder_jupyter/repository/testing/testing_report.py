"""What the tests of a repository show about one state of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.kernel_agent.repository_test_runner import MIME
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten

__test__ = False  # no module of tests

Outcome = Literal["passed", "failed", "skipped"]
_NO_TESTS: Final = 5
"""Exit status of pytest without any test."""
_USAGE: Final = 4
_COMPLETE: Final = frozenset({0, 1, _NO_TESTS})
"""Exit statuses of pytest after it has run all tests."""
_NOT_PASSED: Final[tuple[Outcome, ...]] = ("failed", "skipped")
"""Outcomes of one report that decide about the whole test, the stronger one first."""
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
"""Addresses differ in every run, and prompts must not, so that a resumed run can reuse its replies."""
_MISSING_MODULE: Final = re.compile(r"No module named '?([\w.]+)")
_LONGEST_FAILURE: Final = 1500
_MOST_SHOWN: Final = 5


class _Row(BaseModel):
    """One report of pytest, as displayed by `kernel_agent.repository_test_runner`."""

    model_config = ConfigDict(frozen=True)
    id: str
    when: str
    outcome: Outcome
    text: str
    captured: str
    expected: bool


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True)
    rows: tuple[_Row, ...]
    status: int | None
    output: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test, or one file whose tests could not be collected."""

    __test__ = False

    id: str
    outcome: Outcome
    text: str = ""
    """Why it failed, with what it printed."""
    collected: bool = True
    """False for a file that could not be imported."""


@dataclass(frozen=True, slots=True)
class TestReport:
    """The outcome of all tests."""

    __test__ = False

    results: tuple[TestResult, ...]
    problem: str = ""
    """Why there are no results; a sentence."""
    output: str = ""
    """What the command printed."""
    seconds: float = 0.0

    @property
    def passed(self) -> frozenset[str]:
        """Ids of the tests that passed."""
        return frozenset(item.id for item in self.results if item.outcome == "passed")

    @property
    def failed(self) -> tuple[TestResult, ...]:
        """Tests that failed, and files that could not be collected."""
        return tuple(item for item in self.results if item.outcome == "failed")

    @property
    def complete(self) -> bool:
        """Whether tests ran and none failed."""
        return not self.problem and bool(self.passed) and not self.failed

    def without(self, ids: Iterable[str]) -> TestReport:
        """Return the report without these tests."""
        excluded = set(ids)
        return replace(self, results=tuple(item for item in self.results if item.id not in excluded))

    @property
    def counts(self) -> str:
        """`3 of 7 tests failed`, or the problem."""
        total = sum(item.outcome != "skipped" for item in self.results if item.collected)
        broken = [item.id for item in self.results if not item.collected]
        if self.problem:
            return self.problem.rstrip(".")
        if broken:
            return f"the tests in {', '.join(broken[:_MOST_SHOWN])} could not be imported"
        failed = len(self.failed)
        return f"{failed} of {plural(total, 'test')} failed" if failed else f"{plural(total, 'test')} passed"

    def missing_module(self) -> str:
        """Return the first module that could not be imported; empty if there is none."""
        texts = [self.output if self.problem else "", *(item.text for item in self.failed)]
        return next((found[1] for text in texts if (found := _MISSING_MODULE.search(text))), "")

    def feedback(self, regressions: Sequence[str] = ()) -> str:
        """Return the failures for a model: what is broken first, each shortened, and the rest by name."""
        ordered = sorted(self.failed, key=lambda item: item.collected)
        parts = [f"{self.counts}."]
        if self.problem and self.output:
            parts.append(shorten(self.output, 2 * _LONGEST_FAILURE))
        if regressions:
            parts.append(f"Passed before, and fail now: {', '.join(regressions)}")
        parts += [f"{item.id}\n{shorten(item.text, _LONGEST_FAILURE)}" for item in ordered[:_MOST_SHOWN]]
        if len(ordered) > _MOST_SHOWN:
            parts.append(f"Failed too: {', '.join(item.id for item in ordered[_MOST_SHOWN:])}")
        return "\n\n".join(parts)


def read_report(observation: Observation, *, command: str) -> TestReport:
    """Return the report that the execution of `kernel_agent.repository_test_runner` displayed.

    `command` is the test command; empty for pytest.
    """
    report: _Report | None = None
    for output in observation.outputs:
        data = output.get("data")
        if isinstance(data, dict) and MIME in data:
            with suppress(ValidationError):
                report = _Report.model_validate(data[MIME])
            break
    if report is None:
        error = observation.error.headline if observation.error else observation.note or observation.status
        return TestReport((), f"The tests could not be run: {error.rstrip('.')}.", observation.text)
    if command:
        outcome: Outcome = "passed" if report.status == 0 else "failed"
        problem = "The test command did not end within the time limit." if report.status is None else ""
        return TestReport((TestResult(command, outcome, report.output),), problem, report.output, report.seconds)
    rows: dict[str, list[_Row]] = {}
    for row in report.rows:
        rows.setdefault(row.id, []).append(row)
    results = tuple(map(_result, rows.values()))
    return TestReport(results, _problem(report, results), report.output, report.seconds)


def _result(rows: Sequence[_Row]) -> TestResult:
    """Return the result of a test: it failed if its setup, call or teardown did, or if it did not end."""
    for outcome in _NOT_PASSED:
        for row in rows:
            if ("skipped" if row.expected and row.outcome != "passed" else row.outcome) == outcome:
                text = "\n".join(filter(None, [row.text, row.captured]))
                return TestResult(row.id, outcome, _ADDRESS.sub("0x...", text), row.when != "collect")
    if {"call", "teardown"} <= {row.when for row in rows}:
        return TestResult(rows[0].id, "passed")
    return TestResult(rows[0].id, "failed", "The test began and did not end.")


def _problem(report: _Report, results: Sequence[TestResult]) -> str:
    if report.status is None:
        return "The tests did not end within the time limit."
    if results:
        complete = report.status in _COMPLETE
        return "" if complete else f"pytest ended with status {report.status} before it had run all tests."
    if report.status == _NO_TESTS:
        return "There are no tests that --tests selects."
    if report.status == _USAGE:
        errors = (line for line in report.output.splitlines() if line.startswith("ERROR"))
        return f"pytest refused --tests: {next(errors, 'no reason is given').removeprefix('ERROR:').strip()}."
    if "No module named pytest" in report.output:
        return "pytest is not installed in the environment of the tests."
    return f"pytest ended with status {report.status} before any test."
