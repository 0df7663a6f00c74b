"""Runs the tests of a repository on an attempt in a branch, and what they show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from typing import Final, Literal

import anyio
from pydantic import BaseModel, ConfigDict, ValidationError

from exploracoder_jupyter.core.errors import BranchingChanged
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.types import Observation, RepositoryTask, Usage
from exploracoder_jupyter.kernel_agent.repository_test_runner import MIME, MOST_HANGS
from exploracoder_jupyter.pipeline.context import MOST_CHANGES, Run, notify_branching_change
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.documentation import shorten

# What the tests of a repository show about one state of it.

__test__ = False  # no module of tests

Outcome = Literal["passed", "failed", "slow", "skipped", "not run"]
"""A test is slow if it did not end within its limit, and not run if the time for all tests was over before it ended."""
_NO_TESTS: Final = 5
"""Exit status of pytest without any test."""
_USAGE: Final = 4
_COMPLETE: Final = frozenset({0, 1, _NO_TESTS})
"""Exit statuses of pytest after it has run all tests."""
_NOT_PASSED: Final[tuple[Outcome, ...]] = ("failed", "slow", "not run", "skipped")
"""Outcomes of one report that decide about the whole test, the stronger one first."""
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
"""Addresses differ in every run, and prompts must not, so that a resumed run can reuse its replies."""
_MISSING_MODULE: Final = re.compile(r"No module named '?([\w.]+)")
_NO_SUCH_TEST: Final = re.compile(r"^ERROR: ((?:file or directory )?not found: .*)$", re.M)
_REASONS: Final = (
    re.compile(r"^E\s+(\w[\w.]*(?:Error|Exception|Warning|Exit)\b.*)$", re.M),
    re.compile(r"^INTERNALERROR> (\w[\w.]*(?:Error|Exception|Exit)\b.*)$", re.M),
    re.compile(r"\berror: (.+)$", re.M),
    re.compile(r"^ERROR: (?!usage:)(.+)$", re.M),
    re.compile(r"^!* ?(?:_pytest\.outcomes\.)?(Exit: .+?) ?!*$", re.M),
    re.compile(r"^(\w[\w.]*(?:Error|Exception)\b.*)$", re.M),
)
"""Lines of pytest's output that say why it runs no tests, the most specific first."""
_MISSING_SERVICE: Final = re.compile(
    r"Name or service not known|name resolution|nodename nor servname|Network is unreachable|Connection refused"
    r"|ConnectionRefusedError|gaierror|fixture '\w+' not found|async def functions are not natively supported"
)
_CHECK_TESTS: Final = "Check --tests, which takes what pytest takes."
_MORE_TIME: Final = "Select fewer tests with --tests, or raise --timeout."
_LONGEST_FIRST: Final = 8000
"""Characters of the failure that is shown first: whole as a rule, with the test's body."""
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
    options_dropped: bool = False
    gave_up: bool = False
    never_ended: str = ""


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
    remedy: str = ""
    """What the user can do about a problem that no code could solve; empty for any other."""
    options_dropped: bool = False
    """Whether the tests ran without `addopts` of the repository, which name plugins that are not installed."""

    @property
    def passed(self) -> frozenset[str]:
        """Ids of the tests that passed."""
        return frozenset(item.id for item in self.results if item.outcome == "passed")

    @property
    def failed(self) -> tuple[TestResult, ...]:
        """Tests that failed or did not end, and files that could not be collected."""
        return tuple(item for item in self.results if item.outcome in ("failed", "slow"))

    @property
    def not_run(self) -> tuple[TestResult, ...]:
        """Tests for which no time was left."""
        return tuple(item for item in self.results if item.outcome == "not run")

    @property
    def complete(self) -> bool:
        """Whether all tests ran and none failed."""
        return not self.problem and bool(self.passed) and not self.failed and not self.not_run

    @property
    def duration(self) -> float | None:
        """Seconds that all tests took; `None` if not all of them ran to their end."""
        cut = self.problem or self.not_run or any(item.outcome == "slow" for item in self.results)
        return None if cut or not all(item.collected for item in self.results) else self.seconds

    def without(self, ids: Iterable[str]) -> TestReport:
        """Return the report without these tests."""
        excluded = set(ids)
        return replace(self, results=tuple(item for item in self.results if item.id not in excluded))

    @property
    def counts(self) -> str:
        """`3 of 7 tests failed`, or the problem."""
        total = sum(item.outcome != "skipped" for item in self.results if item.collected)
        broken = [item.id for item in self.failed if not item.collected]
        if self.problem:
            return self.problem.rstrip(".")
        if broken:
            return f"the tests in {', '.join(broken[:_MOST_SHOWN])} could not be imported"
        slow = sum(item.outcome == "slow" for item in self.results)
        failed, left, every = len(self.failed) - slow, len(self.not_run), plural(total, "test")
        faults = [f"{failed} of {every} failed"] if failed else []
        faults += [f"{slow} of {every} did not end within the limit of one test"] if slow else []
        faults += [f"{left} of {every} did not run in the time for all"] if left else []
        return ", ".join(faults) or f"{every} passed"

    def missing_modules(self) -> list[str]:
        """Return the modules that could not be imported."""
        texts = [self.output if self.problem else "", *(item.text for item in self.failed)]
        return [name for text in texts for name in missing_modules(text)]

    def feedback(self, regressions: Sequence[str] = ()) -> str:
        """Return the failures for a model: the first one whole, what is broken before others, and the rest by name."""
        ordered = sorted(self.failed, key=lambda item: (item.collected, item.outcome == "slow"))
        parts = [f"{self.counts}."]
        if self.problem and self.output:
            parts.append(shorten(self.output, _LONGEST_FIRST))
        if regressions:
            parts.append(f"Passed before, and fail now: {', '.join(regressions)}")
        rooms = (_LONGEST_FIRST, *[_LONGEST_FAILURE] * (_MOST_SHOWN - 1))
        parts += [f"{item.id}\n{shorten(item.text, room)}" for item, room in zip(ordered, rooms, strict=False)]
        if len(ordered) > _MOST_SHOWN:
            parts.append(f"Failed too: {', '.join(item.id for item in ordered[_MOST_SHOWN:])}")
        return "\n\n".join(parts)


def missing_modules(text: str) -> list[str]:
    """Return the modules that could not be imported, in the text of a failure."""
    return _MISSING_MODULE.findall(text)


def lacks_service(text: str) -> bool:
    """Whether a test failed because a network, a service or a plugin of pytest is missing where it ran."""
    return _MISSING_SERVICE.search(text) is not None


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
        late = "The test command did not end within the time limit." if report.status is None else ""
        result = TestResult(command, outcome, report.output)
        return TestReport((result,), late, report.output, report.seconds, _MORE_TIME if late else "")
    rows: dict[str, list[_Row]] = {}
    for row in report.rows:
        rows.setdefault(row.id, []).append(row)
    results = tuple(map(_result, rows.values()))
    problem, remedy = _problem(report, results)
    return TestReport(results, problem, report.output, report.seconds, remedy, report.options_dropped)


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


def _problem(report: _Report, results: Sequence[TestResult]) -> tuple[str, str]:
    """Return why the tests did not run to their end, and the remedy if that does not depend on the code."""
    if report.gave_up:
        why = f"pytest ended with status {report.status} before it had run all tests: {_reason(report.output)}."
        return why, ""
    if any(item.outcome == "not run" for item in results):
        return "", ""
    if report.never_ended or (report.status is None and results):
        return f"pytest did not end after the last test. {_ADDRESS.sub('0x...', report.never_ended)}".strip(), ""
    if report.status is None:
        return "The tests did not end within the time limit.", _MORE_TIME
    if results:
        complete = report.status in _COMPLETE
        return "" if complete else f"pytest ended with status {report.status} before it had run all tests.", ""
    if report.status == _NO_TESTS:
        return "There are no tests that --tests selects.", _CHECK_TESTS
    if "No module named pytest" in report.output:
        return "pytest is not installed in the environment of the tests.", "Install it there."
    if report.status == _USAGE and (missing := _NO_SUCH_TEST.search(report.output)):
        return f"pytest refused --tests: {missing[1].strip()}.", _CHECK_TESTS
    return f"pytest could not start the tests: {_reason(report.output)}.", ""


def _reason(output: str) -> str:
    """Return the line of pytest's output that says why it ran no tests."""
    found = next(filter(None, (pattern.findall(output) for pattern in _REASONS)), None)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return _ADDRESS.sub("0x...", (found or lines or ["no reason is given"])[-1].strip().rstrip("."))


# Runs the tests in a branch, in which an attempt is written first; the repository itself never changes.
#
# The working directory of a branch is an overlay over the repository, or a copy where overlays are not possible
# (`kernels.sandbox`). Attempts run in forks of the same state, so that none sees the files of another.

_CODE: Final = """
_explora = {{"__name__": "explora_tests"}}
exec({source!r}, _explora)
_explora["run_tests"](__import__("json").loads({request!r}))
"""
_GRACE: Final = 10.0
"""Seconds that an execution may take longer than the tests in it."""
_FIRST: Final = 10
"""All tests may take this many times the limit of one while it is not known how long they take."""
_SLOWER: Final = 3
"""After that they may take this many times as long as before."""


async def run_tests(
    run: Run, task: RepositoryTask, files: Mapping[str, str], *, before: float | None = None
) -> TestReport:
    """Write files, texts by their paths, in a new branch, run the tests there and return the report.

    One test may take `exploration.timeout`; all together three times the seconds that they took `before`, if that is
    more, or ten times the limit of one if that is not known.
    """
    for changes in range(MOST_CHANGES + 1):
        run.meter.reserve()
        try:
            report = await run_tests_in_fork(run.root, task, files, each=run.settings.timeout, before=before)
            break
        except BranchingChanged as change:
            if changes == MOST_CHANGES:
                raise
            notify_branching_change(run, change)
    run.meter.charge("execute", Usage(seconds=report.seconds))
    return report


async def run_tests_in_fork(
    root: Branch, task: RepositoryTask, files: Mapping[str, str], *, each: float, before: float | None = None
) -> TestReport:
    """Write files in a new fork of a branch, run the tests there, each for at most so many seconds; see `run_tests`."""
    seconds = _FIRST * each if before is None else max(each, _SLOWER * before)
    runner = resources.files("exploracoder_jupyter.kernel_agent").joinpath("repository_test_runner.py")
    limits = {"seconds": seconds, "each": each}
    request = {"files": dict(files), "tests": list(task.tests), "command": task.command, **limits}
    longest = seconds + MOST_HANGS * each * 2 + _GRACE
    code = _CODE.format(source=runner.read_text("utf-8"), request=json.dumps(request))
    [branch] = await root.fork(1)
    try:
        return read_report(await branch.run(code, timeout=longest), command=task.command)
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()
