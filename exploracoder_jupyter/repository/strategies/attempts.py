"""The attempts of one run in a repository: what is written, what the tests show, and the result that follows.

Shared by all strategies for repositories. The tests run once before anything is written: failures that have nothing to
do with the target are named and not counted, and a broken environment ends the run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from anyio import to_thread

from exploracoder_jupyter.core.errors import MissingRequirement, ReplyError, UsageError
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    LookedUp,
    Notice,
    Progress,
)
from exploracoder_jupyter.core.types import (
    Call,
    Candidate,
    ErrorInfo,
    Experience,
    Observation,
    Output,
    Passage,
    RepositoryTask,
    Selection,
    Solution,
    StopCause,
    Verdict,
)
from exploracoder_jupyter.pipeline.context import Run
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.requests import ask_parsed
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution import RunResult
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.insertion import insert, parse_definition, without_target
from exploracoder_jupyter.repository.patch import make_patch
from exploracoder_jupyter.repository.source_files import Definition
from exploracoder_jupyter.repository.target import Target, find_target, similar_target
from exploracoder_jupyter.repository.testing import TestReport, TestResult, lacks_service, missing_modules, run_tests
from exploracoder_jupyter.repository.tools import Finding, RepositoryTools, answer, called_as

_PACKAGE: Final = "exploracoder_jupyter.repository.strategies"
_MOST_NAMED: Final = 5
_REMEDY: Final = "Run pytest there by hand until it starts, or choose the interpreter with --python."
_PATIENCE: Final = 5.0
"""Seconds that reading a class of another package may take, once: what a busy machine reads late changes the prompt."""
_LONGEST_FILE: Final = 6000
"""Characters of the target's file in a prompt."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt with its tests."""

    experience: Experience
    text: str
    """The whole file with the attempt; empty if it could not be inserted."""
    report: TestReport


@dataclass(slots=True)
class Attempts:
    """The attempts of one run."""

    run: Run
    task: RepositoryTask
    target: Target
    tools: RepositoryTools
    """Of the repository without its tests."""
    every: RepositoryIndex
    """With its tests."""
    cause: _Cause
    excluded: set[str]
    """Tests that fail for reasons that have nothing to do with the target."""
    duration: float | None
    """Seconds that all tests take, as far as that is known."""
    made: list[Attempt] = field(default_factory=list)

    @classmethod
    async def begin(cls, run: Run) -> Attempts:
        """Read the repository, find the target and run the tests before anything is written.

        UsageError if the run names no repository or its target or tests do not exist, MissingRequirement if the
        environment lacks what the tests need.
        """
        task = run.task.repository
        if task is None:
            name = run.settings.strategy
            raise UsageError(f"The strategy {name!r} writes code for a repository.", remedy="Add --repo and --target.")
        run.emit(Progress("Reading the repository"))
        every = await to_thread.run_sync(RepositoryIndex.open, run.workdir)
        index = every.without_tests()
        target = find_target(index, task.target)
        announce_libraries(run)
        unshared = ""
        if run.sharing != "values":
            unshared = f"With --share {run.sharing} no code is sent, so the model sees only the description."
        for sentence in filter(None, [index.notice, similar_target(index, target), unshared]):
            run.emit(Notice(sentence))
        run.emit(Progress("Running the tests before anything is written"))
        report, cause = await run_tests(run, task, {}), _Cause.of(run, index, target)
        if report.options_dropped:
            run.emit(Notice("The tests run without `addopts`, which names plugins that are not installed.", "warning"))
        excluded = _excluded(run, target, cause, report)
        tools = RepositoryTools(index, patience=_PATIENCE, python=run.interpreter)
        return cls(run, task, target, tools, every, cause, excluded, report.duration)

    @property
    def last(self) -> Attempt | None:
        """The latest attempt."""
        return self.made[-1] if self.made else None

    def context(self) -> Passage:
        """Return the rest of the target's file; of a long one the beginning, and the signatures of what follows."""
        target, file = self.target, self.tools.index.by_path.get(self.target.path)
        others = (
            item
            for item in (file.definitions if file else ())
            if item not in target.present and not f"{item.owner}.".startswith(f"{target.name}.")
        )
        return _code_passage(target.path, _shorten_file(self._rest, others), target.path)

    @property
    def shown_lines(self) -> tuple[str, int, int] | None:
        """What no search may return, as path and lines: the file if a prompt shows it whole, else the target."""
        return self.target.lines if len(self._rest) > _LONGEST_FILE else (self.target.path, 1, sys.maxsize)

    @property
    def _rest(self) -> str:
        return "It is a new file." if self.target.is_new_file else without_target(self.target)

    def inputs(self, template: str, passages: Iterable[Passage] = (), notes: Sequence[str] = ()) -> StrategyInputs:
        """Return the inputs of a prompt; the first passage is the rest of the file."""
        return StrategyInputs(
            f"{_PACKAGE}:{template}",
            self.run.task,
            experience=(self.last.experience,) if self.last else (),
            passages=(self.context(), *passages),
            notes=tuple(notes),
        )

    async def write(self, template: str, passages: Iterable[Passage] = (), notes: Sequence[str] = ()) -> str | None:
        """Return the code that the model writes; `None` if two replies do not define the target."""
        inputs = self.inputs(template, passages, notes)
        try:
            return await ask_parsed(self.run, "strategy", inputs, self._parse, subject=self.subject)
        except ReplyError as error:
            self.run.emit(Notice(f"The model gave no code for {self.target.name}: {error.message}"))
            return None

    @property
    def subject(self) -> str:
        """What the requests for the next attempt are about."""
        return self.last.experience.candidate.id if self.last else SOLUTION.id

    def look_up(self, calls: Sequence[Call], thought: str) -> list[Passage]:
        """Answer the model's tool calls about the repository with the latest attempt in it."""
        index = self.tools.index
        if self.last and self.last.text:
            index = index.replaced(self.target.path, self.last.text)
        current = replace(self.tools, index=index)
        found = []
        for call in calls:
            tools = self.tools if call.tool == "get_relevant_code" else current
            text = answer(tools, call, path=self.target.path, thought=thought)
            self.run.emit(LookedUp(self.subject, call.tool, call.argument, text))
            found.append(_code_passage(called_as(call), text, called_as(call)))
        return found

    async def test(self, code: str) -> Attempt:
        """Run the tests on code that `write` returned, in a branch of its own."""
        number, before = len(self.made), self.last
        repairs = before.experience.candidate.id if before else None
        same = next(
            (item.experience.candidate.id for item in self.made if item.experience.candidate.code == code), None
        )
        candidate_id = f"s{self.run.agenda.next_number(SOLUTION.id)}"
        candidate = Candidate(candidate_id, SOLUTION.id, code, number, repairs, duplicate_of=same)
        self.run.emit(CandidateProposed(candidate))
        text = insert(self.tools.index, self.target, code)
        report = _syntax_problem(self.target, text) or await self._tested(text)
        lost = sorted(before.report.passed - report.passed) if before else []
        observation = _observation(report, lost)
        self.run.emit(CandidateObserved(candidate.id, observation))
        attempt = Attempt(Experience(SOLUTION, candidate, observation), text, report)
        self.made.append(attempt)
        return attempt

    async def _tested(self, text: str) -> TestReport:
        """Run the tests with another text of the target's file, and leave out those that can fail only here.

        Files that could not be imported before, and a `conftest.py`, hide what their tests lack.
        """
        report = await run_tests(self.run, self.task, {self.target.path: text}, before=self.duration)
        if report.duration:
            self.duration = max(report.duration, self.duration or 0.0)
        lacking = [
            item
            for item in report.without(self.excluded).failed
            if self.target.path not in item.text and self.cause.is_environment(item.text)
        ]
        left = report.without({*self.excluded, *(item.id for item in lacking)})
        if lacking and not left.problem:
            self.cause.check_deciding(report, left)
        if lacking:
            self.run.emit(Notice(f"These tests cannot run here and are not counted: {_named(lacking)}.", "warning"))
        self.excluded |= {item.id for item in lacking}
        return left

    def finish(self, *, stopped: str = "", cause: StopCause = "") -> RunResult:
        """Return the result: the latest attempt if it passes, else the one that passes most tests.

        `stopped` says why the run ended early, in a sentence.
        """
        if not self.made:
            reason = stopped or f"The model gave no code that defines {self.target.name}."
            return RunResult(None, Verdict("stopped" if stopped else "unsolved", reason, cause))
        best = max(reversed(self.made), key=lambda item: (item.report.complete, len(item.report.passed)))
        chosen, counts = best.experience.candidate, best.report.counts
        before = None if self.target.is_new_file else f"{self.target.bom}{self.target.text}"
        patch = make_patch(self.target.path, before, best.text) if best.text else ""
        solution = Solution(chosen.code, chosen.id, patch=patch)
        left_out = f" {len(self.excluded)} that failed before are not counted." if self.excluded else ""
        self.run.emit(CandidateSelected(Selection(SOLUTION.id, chosen.id, (counts,))))
        if best.report.complete:
            return RunResult(solution, Verdict("solved", f"{counts[:1].upper()}{counts[1:]}.{left_out}"))
        if stopped:
            return RunResult(solution, Verdict("stopped", stopped, cause))
        tried = f"{len(self.made)} tried"
        return RunResult(solution, Verdict("unsolved", f"No attempt passed the tests ({tried}); of the best {counts}."))

    def _parse(self, text: str) -> str:
        code = parse_definition(text, self.target, self.last.experience.candidate.code if self.last else "")
        insert(self.tools.index, self.target, code)  # raises if it does not define the target
        return code


def passages_of(findings: Iterable[Finding]) -> list[Passage]:
    """Return what a tool found as passages for a prompt."""
    return [_code_passage(item.title, item.text, item.place) for item in findings]


def _code_passage(title: str, text: str, origin: str) -> Passage:
    return Passage("workspace", title, text, origin, code=True)


def _shorten_file(text: str, definitions: Iterable[Definition]) -> str:
    """Return the text of a file; of a long one half, and the signatures of the definitions that begin after that."""
    if len(text) <= _LONGEST_FILE:
        return text
    head = text[: _LONGEST_FILE // 2].rpartition("\n")[0]
    lines = [head, "... the rest of the file, without bodies:"]
    room = _LONGEST_FILE - sum(len(line) + 1 for line in lines) - len("...\n")
    for item in definitions:
        if item.line > head.count("\n") + 1 and item.kind != "attribute":
            pad = "    " * (item.owner.count(".") + bool(item.owner))
            line = f"{pad}{item.signature}" + (f"  # {item.summary}" if item.summary else "")
            room -= len(line) + 1
            if room < 0:
                lines.append("...")
                break
            lines.append(line)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Cause:
    """Tells what the failure of a test is due to, by the names in its text."""

    target: re.Pattern[str]
    own: frozenset[str]
    """First parts of the names of modules that the repository has."""
    folder: Path

    @classmethod
    def of(cls, run: Run, index: RepositoryIndex, target: Target) -> _Cause:
        """A failure may be due to the target if it names it, its class, its module or its file."""
        current = index.replaced(target.path, target.text).by_path[target.path]
        module = current.module if target.language == "python" else target.path
        names = {target.last_name, target.path, *target.name.split("."), module}
        own = {name.partition(".")[0] for name in [*index.modules, module]} | {PurePosixPath(target.path).stem}
        own |= {entry.stem for entry in run.workdir.iterdir()}
        pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return cls(re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), frozenset(own), run.workdir)

    def is_target(self, text: str) -> bool:
        return self.target.search(text) is not None

    def is_environment(self, text: str) -> bool:
        return lacks_service(text) or any(self._foreign(missing_modules(text)))

    def refuse(self, report: TestReport) -> None:
        """MissingRequirement if tests need a module that is neither installed nor in the repository."""
        for module in self._foreign(report.missing_modules()):
            raise MissingRequirement(
                f"The tests need the module {module!r}, which is not installed where they run.",
                remedy="Install it there, or choose the interpreter with --python.",
            )

    def check_deciding(self, report: TestReport, left: TestReport) -> None:
        """MissingRequirement as `refuse`, if no file of tests that names the target is left to decide."""
        every, kept = ({item.id.partition("::")[0] for item in one.results} for one in (report, left))
        deciding = {path for path in every if self._mentions(path)}
        if deciding and not deciding & kept:
            self.refuse(report)

    def _mentions(self, path: str) -> bool:
        try:
            return self.is_target((self.folder / path).read_text("utf-8", "replace"))
        except OSError:
            return False

    def _foreign(self, modules: Iterable[str]) -> Iterator[str]:
        return (module for module in modules if module.partition(".")[0] not in self.own)


def _excluded(run: Run, target: Target, cause: _Cause, report: TestReport) -> set[str]:
    """Return the failures before anything was written that have nothing to do with the target.

    That nothing runs without the target is as it should be: its package, or `conftest.py`, may import it.
    """
    unrelated = [item for item in report.failed if not cause.is_target(f"{item.id}\n{item.text}")]
    left = report.without(item.id for item in unrelated)
    cause.refuse(left if left.results else report)
    cause.check_deciding(report, left)
    if report.problem and (report.remedy or not (left.failed or cause.is_target(report.output))):
        raise UsageError(report.problem, remedy=report.remedy or _REMEDY)
    skipped = [item.text for item in left.results if item.outcome == "skipped"]
    if skipped and len(skipped) == len(left.results) and not any(map(cause.is_target, skipped)):
        raise UsageError(f"All tests are skipped: {skipped[0]}.", remedy="Choose others with --tests.")
    if unrelated and not left.results:
        raise UsageError(
            f"All tests fail for other reasons than {target.name}: {_named(unrelated)}.", remedy="Repair them first."
        )
    if unrelated:
        run.emit(Notice(f"These tests fail without any change and are not counted: {_named(unrelated)}.", "warning"))
    if left.complete:
        state = f"as {target.name} is now" if target.present else f"without {target.name}"
        run.emit(Notice(f"The tests pass {state}, so passing them shows little.", "warning"))
    return {item.id for item in unrelated}


def _named(results: Sequence[TestResult]) -> str:
    more = f" and {len(results) - _MOST_NAMED} more" if len(results) > _MOST_NAMED else ""
    return ", ".join(item.id for item in results[:_MOST_NAMED]) + more


def _syntax_problem(target: Target, text: str) -> TestReport | None:
    """Return the report on a file that is not valid Python, whose tests need not be run."""
    if target.language != "python":
        return None
    try:
        ast.parse(text.removeprefix(target.bom))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        fault = str(error)
        if isinstance(error, SyntaxError):
            line = text.split("\n")[(error.lineno or 1) - 1].strip()
            fault = f"{error.msg} in line {error.lineno}: {line}"
        return TestReport((), f"{target.path} is not valid Python: {fault}")
    return None


def _observation(report: TestReport, lost: Sequence[str]) -> Observation:
    """Return what the tests show as the observation of the attempt."""
    feedback = report.counts if report.complete else report.feedback(lost)
    output: Output = {"output_type": "stream", "name": "stdout", "text": f"{feedback}\n"}
    if report.complete:
        return Observation("ok", (output,), text=f"{feedback}\n", schema=f"{feedback}\n", seconds=report.seconds)
    names = "\n".join([report.counts, *(item.id for item in report.failed)])
    error = ErrorInfo("TestsFailed", report.counts, feedback, feedback, names)
    return Observation("error", (output,), error, seconds=report.seconds, unmet="check")
