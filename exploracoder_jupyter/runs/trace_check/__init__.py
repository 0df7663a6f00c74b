"""Whether a trace still holds: all that it records, executed again without a model, and compared.

What differs is executed again in fresh kernels before it is blamed: forks of one kernel share its random state and the
seed of its hashes, so that only another kernel tells what varies from what has changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from anyio import to_thread

from exploracoder_jupyter.core.errors import UsageError, unwrapped
from exploracoder_jupyter.core.events import CandidateObserved, Record
from exploracoder_jupyter.core.settings import Sandbox, resolve
from exploracoder_jupyter.core.types import Environment, Observation
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.pipeline.solving.user_check import probe
from exploracoder_jupyter.runs.adapters import cache_folder
from exploracoder_jupyter.runs.trace_check import relocated_paths
from exploracoder_jupyter.runs.trace_check.check_report import Report, Row, changed_calls, in_order
from exploracoder_jupyter.runs.trace_check.check_subject import Subject, code_of, read
from exploracoder_jupyter.runs.trace_check.environment_builder import interpreter_of
from exploracoder_jupyter.runs.trace_check.matching_environment import (
    described,
    differences,
    lock_of,
    sandbox_like,
    versions,
)
from exploracoder_jupyter.runs.trace_check.re_execution import How, execute_again, never_ran, settled, with_ancestors
from exploracoder_jupyter.runs.trace_check.starting_state import Lacking, begun, require, require_names
from exploracoder_jupyter.trace import Redactor
from exploracoder_jupyter.trace.comparing.output_comparison import TOLERANCE, Seen, judge, seen
from exploracoder_jupyter.trace.recorded_executions import Execution
from exploracoder_jupyter.trace.sanitizing.path_redaction import own_homes
from exploracoder_jupyter.trace.size_limit import as_kept, left_out_of

__all__ = ["Asked", "Report", "check"]

Advance = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much (0: unknown)."""

_MOST_PASSES = 4
"""How often, at most, something that differs is executed, each time in fresh kernels: what has few values (a die)
shows the same twice by chance, and seldom four times."""
_SECONDS = 60.0
"""For one execution, where the trace does not say."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A check as ordered."""

    path: Path
    selected: bool = False
    """Only what was carried forward, and the solution."""
    tolerance: float = TOLERANCE
    before: Path | None = None
    """A file with what is to be run first."""
    otherwise: tuple[str, ...] = ()
    """What is to be run first where the run needs variables, and nothing else makes them."""
    env: bool = False
    """Whether an environment is built as it was recorded."""
    overrides: tuple[str, ...] = ()
    """`name==version`, in place of what was recorded."""
    kernel: str | None = None
    network: bool = False
    isolation: Literal["best", "require"] | None = None
    """Which level is needed; none: the one that the run needed, or the settings of now."""
    workdir: Path | None = None
    """Where the run had its files; none: where its trace says."""


async def check(asked: Asked, advance: Advance) -> Report:
    """Execute what a trace records again, and compare.

    Raises:
        UsageError, MissingMeans: it cannot be done, and why.
        KernelError: no kernel could be had.
    """
    subject = await to_thread.run_sync(read, asked.path)
    chosen = _chosen(subject, selected=asked.selected)
    code = code_of(asked.before) if asked.before else subject.before
    kernel = asked.kernel
    if asked.env or asked.overrides:
        lock = lock_of(subject, asked.overrides)
        kernel = str(await interpreter_of(lock, cache_folder() / "environments", advance))
    sandbox = sandbox_like(subject, resolve(), network=asked.network, kernel=kernel, isolation=asked.isolation)
    try:
        return await _Checking(asked, subject, code, sandbox, advance, chosen).report()
    except Lacking:
        if code or not asked.otherwise:
            raise
    return await _Checking(asked, subject, asked.otherwise, sandbox, advance, chosen).report()


def _chosen(subject: Subject, *, selected: bool) -> tuple[Execution, ...]:
    """What is compared.

    Raises:
        UsageError: nothing.
    """
    if not selected:
        return subject.executions
    chosen = tuple(one for one in subject.executions if one.selected or one.id == subject.solution)
    if not chosen:
        raise UsageError("In that run nothing was carried forward.", remedy="Leave --selected out.")
    return chosen


@dataclass(slots=True)
class _Checking:
    """A check under way."""

    asked: Asked
    subject: Subject
    code: Sequence[str]
    sandbox: Sandbox
    advance: Advance
    chosen: Sequence[Execution]
    shown: dict[str, list[Observation]] = field(default_factory=dict)
    """By id, what each execution anew showed."""
    environment: Environment | None = None

    @property
    def workdir(self) -> str:
        """The working directory, as it stands in observations."""
        return _redactor().text(str(relocated_paths.workdir_of(self.subject.path, self.asked.workdir)))

    async def report(self) -> Report:
        """Execute all that is compared, and say what was found.

        Raises:
            Lacking: variables that the run had are not there.
            ExploraError: it cannot be executed, for another reason.
        """
        try:
            await self._execute_all()
        except Exception as error:
            raise unwrapped(error) from None
        return self._report()

    async def _execute_all(self) -> None:
        """What differs several times, and what had no state to be run in."""
        wanted = self.chosen
        for _ in range(_MOST_PASSES):
            await self._execute(with_ancestors([one.id for one in wanted], self.subject.executions))
            wanted = [one for one in wanted if not self._row(one).same]
            if not wanted:
                return

    async def _execute(self, executions: Sequence[Execution]) -> None:
        """Execute these once, in kernels that are made for it."""
        asked = self.asked
        workdir = relocated_paths.workdir_of(self.subject.path, asked.workdir)
        self.advance("Starting kernels", 0, 0)
        async with open_siblings(self.sandbox, workdir=workdir) as siblings:
            root, first = await siblings.root(), self.environment is None
            base = await settled(lambda: begun(root, self.code))
            if first:
                await settled(lambda: require(base, self.subject, executions))
            self.environment = siblings.environment()
            again = await execute_again(base, executions, self._how(len(executions)))
        if first:
            require_names(self.subject, again, executions)
        self._take(executions, again)

    def _how(self, total: int) -> How:
        done: list[str] = []

        def advance(id_: str) -> None:
            done.append(id_)
            self.advance("Executing", len(done), total)

        timeout = self.subject.setting("exploration", "timeout")
        seconds = float(timeout) if isinstance(timeout, int | float) else _SECONDS
        return How(seconds, probe(self.subject.started.task), os.cpu_count() or 2, advance)

    def _take(self, executions: Sequence[Execution], again: Mapping[str, Observation]) -> None:
        for one in executions:
            if observation := again.get(one.id):
                self.shown.setdefault(one.id, []).append(_as_recorded(observation))

    def _row(self, one: Execution) -> Row:
        """How an execution compares with its record, as far as is known."""
        if never_ran(one.observation):
            return Row(one.id, "not run", "it was not run when it was recorded", counts=False)
        if one.id not in self.shown:
            return Row(one.id, "not run", f"the state after {one.parent} was lost")
        judged = judge(self._recorded(one), self._shown(one), tolerance=self.asked.tolerance)
        gone = ", ".join(sorted({name for output in one.observation.outputs for name in left_out_of(output)}))
        unseen = f"not compared: {gone}, for which the trace had no room" if gone else ""
        untold = "a trace hides homes and keys, and its code named one" if relocated_paths.tells_less(one.code) else ""
        why = (judged.why, unseen, untold if judged.result == "changed" else "")
        return Row(one.id, judged.result, "; ".join(filter(None, why)))

    def _recorded(self, one: Execution) -> Seen:
        found = relocated_paths.tails(self.shown[one.id], self.workdir)
        told = relocated_paths.below(_as_recorded(one.observation), self.subject.started.environment.folder)
        return seen(relocated_paths.below_any(told, found), day=self.subject.day, code=one.code)

    def _shown(self, one: Execution) -> list[Seen]:
        today, known = datetime.now(UTC).date(), bool(self.subject.started.environment.folder)
        kept = (as_kept(one.observation, shown) for shown in self.shown[one.id])
        told = [relocated_paths.below(shown, self.workdir, itself=known) for shown in kept]
        return [seen(shown, day=today, code=one.code) for shown in told]

    def _report(self) -> Report:
        subject, recorded = self.subject, self.subject.started.environment
        rows = [self._with_edits(self._row(one)) for one in sorted(self.chosen, key=lambda one: in_order(one.id))]
        ids = {row.id for row in rows}
        ran = {one.id for one in subject.executions}
        more = [Row(id_, "edited", why) for id_, why in subject.edited.items() if id_ not in ids | ran]
        now = self.environment or recorded
        return Report(
            (*rows, *more),
            described(recorded, {info.name: info.version for info in subject.libraries}),
            described(now, versions(subject, now)),
            differences(subject, now, self.sandbox),
            changed_calls(rows, subject.executions),
        )

    def _with_edits(self, row: Row) -> Row:
        edited = self.subject.edited.get(row.id)
        if not edited:
            return row
        if row.result == "changed" and edited.endswith(f": {row.why}"):
            return Row(
                row.id, "edited", f"its record was edited: executed again it shows what the cell does: {row.why}"
            )
        return Row(row.id, "edited", f"{edited}; executed again: {row.why}" if row.result == "changed" else edited)


def _as_recorded(observation: Observation) -> Observation:
    """The observation as a trace would hold it: without secrets and homes, in plain JSON."""
    event = _redactor().record(Record(0, 0.0, CandidateObserved("", observation))).event
    return event.observation if isinstance(event, CandidateObserved) else observation


def _redactor() -> Redactor:
    return Redactor(homes=own_homes())
