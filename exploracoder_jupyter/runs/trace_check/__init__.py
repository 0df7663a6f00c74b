"""Checks whether a trace is still reproducible: executes all its code again, without a model, and compares the results.

Code whose results differ is executed again in fresh kernels before it is reported: forks of one kernel share its random
state and hash seed, so only another kernel shows whether a result varies or has changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from anyio import to_thread

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import UsageError, unwrap_group
from exploracoder_jupyter.core.events import CandidateObserved, Record
from exploracoder_jupyter.core.types import Environment, Observation
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.solving.user_check import build_check
from exploracoder_jupyter.runs.knowledge_factory import cache_folder
from exploracoder_jupyter.runs.trace_check import re_execution
from exploracoder_jupyter.runs.trace_check.check_report import Report, Row, changed_calls, id_sort_key
from exploracoder_jupyter.runs.trace_check.checked_trace import Subject, read_code, read_subject
from exploracoder_jupyter.runs.trace_check.environments import (
    build_environment,
    describe_differences,
    describe_environment,
    library_versions,
    lock_of,
    matching_sandbox,
)
from exploracoder_jupyter.runs.trace_check.re_execution import (
    ExecutionOptions,
    MissingVariables,
    execute_again,
    never_ran,
    require_names,
    require_state,
    retry_on_branching_change,
    run_code_before,
    run_setup,
    with_ancestors,
)
from exploracoder_jupyter.trace import Redactor
from exploracoder_jupyter.trace.comparison import TOLERANCE, Comparison, comparable_result, compare_with_record
from exploracoder_jupyter.trace.reading import Execution
from exploracoder_jupyter.trace.redaction import local_homes
from exploracoder_jupyter.trace.storage import omitted_values, trim_like_record

__all__ = ["CheckRequest", "Report", "check_trace"]

Advance = Callable[[str, int, int], None]
"""Called with a description of the current work, the amount done, and the total (0: unknown)."""

_MAX_PASSES = 4
"""Maximum number of executions of code whose results differ, each in fresh kernels. A result with few possible values
(a die) is often the same twice by chance, but rarely four times."""
_DEFAULT_TIMEOUT = 60.0
"""Time limit for one execution, if the trace has none."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The options of a check."""

    path: Path
    selected: bool = False
    """Whether to check only what was carried forward, and the solution."""
    tolerance: float = TOLERANCE
    before: Path | None = None
    """A file with code to run first."""
    otherwise: tuple[str, ...] = ()
    """Code to run first if the run needs variables that nothing else defines."""
    env: bool = False
    """Whether to build the recorded environment."""
    overrides: tuple[str, ...] = ()
    """`name==version` lines that replace recorded ones."""
    kernel: str | None = None
    network: bool = False
    isolation: Literal["best", "require"] | None = None
    """The required level; by default that of the run, or of the current settings if stricter."""
    workdir: Path | None = None
    """The folder with the run's files; by default determined from the trace."""


async def check_trace(asked: CheckRequest, advance: Advance) -> Report:
    """Execute the code of a trace again, and compare the results.

    Raises:
        UsageError, MissingRequirement: the trace cannot be checked here.
        KernelError: no kernel could be started.
    """
    subject = await to_thread.run_sync(read_subject, asked.path)
    chosen = subject.executions
    if asked.selected:
        chosen = tuple(one for one in chosen if one.selected or one.id == subject.solution)
    if not chosen:
        raise UsageError("Nothing was carried forward in that run.", remedy="Omit --selected.")
    code = read_code(asked.before) if asked.before else subject.before
    kernel = asked.kernel
    if asked.env or asked.overrides:
        lock = lock_of(subject, asked.overrides)
        kernel = str(await build_environment(lock, cache_folder() / "environments", advance))
    sandbox = matching_sandbox(subject, resolve(), network=asked.network, kernel=kernel, isolation=asked.isolation)
    try:
        return await _Check(asked, subject, code, sandbox, advance, chosen).report()
    except MissingVariables:
        if code or not asked.otherwise:
            raise
    return await _Check(asked, subject, asked.otherwise, sandbox, advance, chosen).report()


@dataclass(slots=True)
class _Check:
    asked: CheckRequest
    subject: Subject
    code: Sequence[str]
    sandbox: Sandbox
    advance: Advance
    chosen: Sequence[Execution]
    observations: dict[str, list[Observation]] = field(default_factory=dict)
    """The observations of each re-execution, by id."""
    environment: Environment | None = None

    @property
    def workdir(self) -> Path:
        return re_execution.workdir_of(self.subject.path, self.asked.workdir)

    async def report(self) -> Report:
        """Execute everything once, and repeatedly what differs or could not run because its state was lost."""
        pending = self.chosen
        for _ in range(_MAX_PASSES):
            try:
                await self._execute(with_ancestors([one.id for one in pending], self.subject.executions))
            except Exception as error:
                raise unwrap_group(error) from None
            pending = [one for one in pending if not self._row(one).same]
            if not pending:
                break
        return self._report()

    async def _execute(self, executions: Sequence[Execution]) -> None:
        self.advance("Starting kernels", 0, 0)
        async with open_siblings(self.sandbox, workdir=self.workdir) as siblings:
            root, is_first = await siblings.root(), self.environment is None
            base = await retry_on_branching_change(lambda: self._restore(root))
            if is_first:
                await retry_on_branching_change(lambda: require_state(base, self.subject, executions))
            self.environment = siblings.environment()
            again = await execute_again(base, executions, self._execution_options(len(executions)))
        if is_first:
            require_names(self.subject, again, executions)
        for one in executions:
            if observation := again.get(one.id):
                self.observations.setdefault(one.id, []).append(_as_recorded(observation))

    async def _restore(self, root: Branch) -> Branch:
        task = self.subject.started.task
        setup = re_execution.expand_home(task.setup)
        return await run_setup(await run_code_before(root, self.code), replace(task, setup=setup))

    def _execution_options(self, total: int) -> ExecutionOptions:
        done: list[str] = []

        def advance(id_: str) -> None:
            done.append(id_)
            self.advance("Executing", len(done), total)

        timeout = self.subject.setting("exploration", "timeout")
        seconds = float(timeout) if isinstance(timeout, int | float) else _DEFAULT_TIMEOUT
        task = self.subject.started.task
        return ExecutionOptions(seconds, task, build_check(task), os.cpu_count() or 2, advance)

    def _row(self, one: Execution) -> Row:
        if never_ran(one.observation):
            return Row(one.id, "not run", "it did not run in the recorded run either", counts=False)
        if one.id not in self.observations:
            return Row(one.id, "not run", f"the state after {one.parent} was lost")
        comparison = self._compare(one)
        omitted = ", ".join(sorted({name for output in one.observation.outputs for name in omitted_values(output)}))
        reasons = [comparison.why, f"not compared: {omitted}, too large for the trace" if omitted else ""]
        if comparison.result == "changed" and re_execution.is_redacted(one.code):
            reasons.append("its code contained a home folder or key, which traces redact")
        return Row(one.id, comparison.result, "; ".join(filter(None, reasons)))

    def _compare(self, one: Execution) -> Comparison:
        """Compare an execution with its record, both with paths relative to their working directories."""
        then, now = self.subject.started.environment.folder, _redactor().text(str(self.workdir))
        again = self.observations[one.id]
        recorded = re_execution.make_relative(_as_recorded(one.observation), then)
        recorded = re_execution.make_known_relative(recorded, re_execution.relative_paths(again, now))
        trimmed = (trim_like_record(one.observation, observation) for observation in again)
        relative = [re_execution.make_relative(observation, now, itself=bool(then)) for observation in trimmed]
        today = datetime.now(UTC).date()
        return compare_with_record(
            comparable_result(recorded, day=self.subject.day, code=one.code),
            [comparable_result(observation, day=today, code=one.code) for observation in relative],
            tolerance=self.asked.tolerance,
        )

    def _report(self) -> Report:
        subject, recorded = self.subject, self.subject.started.environment
        rows = [self._with_edits(self._row(one)) for one in sorted(self.chosen, key=lambda one: id_sort_key(one.id))]
        ids = {row.id for row in rows}
        ran = {one.id for one in subject.executions}
        more = [Row(id_, "edited", why) for id_, why in subject.edited.items() if id_ not in ids | ran]
        now = self.environment or recorded
        return Report(
            (*rows, *more),
            describe_environment(recorded, {info.name: info.version for info in subject.libraries}),
            describe_environment(now, library_versions(subject, now)),
            describe_differences(subject, now, self.sandbox),
            changed_calls(rows, subject.executions),
        )

    def _with_edits(self, row: Row) -> Row:
        edited = self.subject.edited.get(row.id)
        if not edited:
            return row
        if row.result == "changed" and edited.endswith(f": {row.why}"):
            why = f"its record was edited: its re-execution gives what the cell shows: {row.why}"
            return Row(row.id, "edited", why)
        return Row(row.id, "edited", f"{edited}; executed again: {row.why}" if row.result == "changed" else edited)


def _as_recorded(observation: Observation) -> Observation:
    event = _redactor().record(Record(0, 0.0, CandidateObserved("", observation))).event
    return event.observation if isinstance(event, CandidateObserved) else observation


def _redactor() -> Redactor:
    return Redactor(homes=local_homes())
