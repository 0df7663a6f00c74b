"""The runs of this kernel: started, followed by their messages, and steered by the user."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Literal

from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section, fold, with_failure, with_summary
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun, RunContext
from exploracoder_jupyter.ipython_extension.jupyter_server import server_root
from exploracoder_jupyter.ipython_extension.result_card.card_display import LineDisplay, NotebookDisplay
from exploracoder_jupyter.ipython_extension.running.engine import PATIENCE, FailedEngine, Relay, change_repository
from exploracoder_jupyter.protocol.browser_messages import (
    ChooseCandidate,
    Continue,
    Dismiss,
    EditPlan,
    ExploreNow,
    RetrySubtask,
    RunControl,
    RunEditedCandidate,
    SkipSubtask,
    StopRun,
)
from exploracoder_jupyter.protocol.messages import (
    CellsChanged,
    Choose,
    Continuation,
    Control,
    Explore,
    Failed,
    Finished,
    RecordMessage,
    Replan,
    Retry,
    RunEdited,
    Skip,
    SolutionShown,
    Start,
    Stop,
    TraceAt,
)

if TYPE_CHECKING:
    from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls


# One run of this kernel: its engine, a state computed from its messages, and a display.
#
# A run is followed either by the cell that waits for it or by its own thread. Both do the same: receive messages,
# fold them into the state, show it at most twice a second, and release all resources at the end, however the run
# ends.

MakeDisplay = Callable[["Run"], LineDisplay | NotebookDisplay]
"""Creates the display of a run."""

_POLL_SECONDS = 1.0
_SHORT_POLL_SECONDS = 0.02
"""For a cell that waits for something that takes about a second."""
_UPDATE_SECONDS = 0.5
AFTER_STOP_SECONDS = 1.0
"""Seconds to wait for an engine that was asked to stop and has used up its time."""


class Run:
    """One exploration, seen from the user's kernel."""

    def __init__(
        self, relay: Relay | FailedEngine, live: LiveRun, state: RunState, resources: ExitStack, display: MakeDisplay
    ) -> None:
        """`resources` are released when the run has ended."""
        self.state = state
        self.live = live
        self._relay = relay
        self._resources = resources
        self._stopping = False
        self._deadline = math.inf
        self._last_shown = 0.0
        self._thread: threading.Thread | None = None
        self._display = display(self)

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.state.over

    @property
    def refused(self) -> bool:
        """Whether the run failed before it had a trace."""
        return bool(self.state.failure) and not self.state.trace

    def wait(self) -> None:
        """Follow the run to its end in this thread; at an interrupt it is stopped, and its trace closed."""
        try:
            self._follow_or_stop(lambda: False)
        finally:
            self._release()

    def detach(self, *, patience: float = 0.0) -> None:
        """Follow the run in a thread, once the fork of this kernel is settled or `patience` seconds have passed.

        Until then the run is followed here: experiments must not see what the user changes next.
        """
        until = time.monotonic() + patience
        try:
            self._follow_or_stop(
                lambda: self._relay.fork_settled.is_set() or time.monotonic() >= until, tick=_SHORT_POLL_SECONDS
            )
        except BaseException:
            self._release()
            raise
        self._thread = threading.Thread(target=self._follow_and_release, daemon=True, name="explora-run")
        self._thread.start()

    def stop(self) -> None:
        """Ask the run to stop; returns at once. An engine that does not end in time is killed."""
        self._stopping = True
        self._deadline = time.monotonic() + 2 * scale_limit(PATIENCE)
        self.live.mark_stopping()  # before the end, which may follow immediately
        self._relay.send(Stop())

    def send(self, control: Control) -> None:
        """Send the run a control; returns at once."""
        self._relay.send(control)

    def change_repository(self, action: Literal["apply", "undo"], *, engine_python: str | None) -> str:
        """Write the run's patch into its repository, or undo that; return a sentence about it."""
        if not self.state.patch or not self.state.trace:
            raise UsageError("This run has no patch.")
        folder = self.state.started.environment.folder if self.state.started else ""
        sentence = change_repository(action, self.state.trace, repository=folder, engine_python=engine_python)
        self.live.mark_patched(action == "apply")
        return sentence

    def join(self, seconds: float | None = None) -> None:
        """Wait until a detached run has ended and released its resources."""
        if self._thread:
            self._thread.join(seconds)

    def _follow_or_stop(self, is_done: Callable[[], bool], *, tick: float = _POLL_SECONDS) -> None:
        try:
            self._follow(is_done, tick=tick)
        except KeyboardInterrupt:
            try:
                self.stop()
                self._deadline = time.monotonic() + scale_limit(PATIENCE)
                self._follow()
            except KeyboardInterrupt:  # a second one skips the wait
                self._relay.end(patience=0.0)
            raise

    def _follow_and_release(self) -> None:
        try:
            self._follow()
        finally:
            self._release()

    def _follow(self, is_done: Callable[[], bool] = lambda: False, *, tick: float = _POLL_SECONDS) -> None:
        for message in self._relay.messages(tick=tick):
            if isinstance(message, CellsChanged):
                self.live.update_cells(message.changes)
            elif message is not None:
                self._update_state(self._next_state(message), last=not isinstance(message, RecordMessage))
            now = time.monotonic()
            if not self.state.over and now - self._last_shown >= _UPDATE_SECONDS:
                self._last_shown = now
                self._display.show(self.state)
            if is_done() or now >= self._deadline:
                return

    def _update_state(self, state: RunState, *, last: bool = True) -> None:
        """Set the state and send it to the pages.

        The end of the run is sent with the engine's last message only: it follows at once and may report a failure.
        """
        self.state = state
        if last or not state.over:
            self.live.update_state(state)

    def _next_state(self, message: RecordMessage | TraceAt | SolutionShown | Finished | Failed) -> RunState:
        match message:
            case RecordMessage():
                return fold(self.state, message.record)
            case TraceAt():
                return replace(self.state, trace=message.path)
            case SolutionShown():
                return replace(self.state, solution_outputs=tuple(message.outputs))
            case Finished():
                return with_summary(self.state, message.summary)
            case Failed():
                reason = f"{message.error} {message.remedy}".strip()
                reason = f"Stopped. {reason}" if self._stopping else reason
                return with_failure(self.state, reason, at=time.time(), stopped=self._stopping)

    def _release(self) -> None:
        """End the engine, process its last messages and show the end of the run."""
        try:
            self._relay.end(patience=scale_limit(AFTER_STOP_SECONDS if self._stopping else PATIENCE))
            self._deadline = time.monotonic() + 1.0
            self._follow()
            if not self.state.over:
                self._update_state(with_failure(self.state, "The run was aborted.", at=time.time()))
            self._display.close(self.state)
        finally:
            self._resources.close()


# The runs of this kernel since the extension was loaded: starts, finds and stops them.


@dataclass(slots=True)
class Runs:
    """All runs since the extension was loaded, oldest first."""

    controls: Controls
    """Broadcasts the runs to the pages."""
    all: list[Run] = field(default_factory=list)

    def start(
        self,
        order: Start,
        *,
        command: Sequence[str],
        display: MakeDisplay,
        resources: ExitStack,
        fork: Callable[[str], None] | None = None,
        session: str = "",
        origin: str = "",
        cells: bool = True,
        refused: ExploraError | None = None,
    ) -> Run:
        """Start the engine of a run with this command; `fork` forks this kernel when the engine requests it.

        `resources` are released when the run has ended or cannot be started. `session` is that of the calling
        connection; `cells` is whether a page shows the run as cells. If it is `refused`, there is no engine, and the
        run fails at once.
        """
        with ExitStack() as undo:
            undo.callback(resources.close)
            relay = FailedEngine(refused) if refused else Relay(order, command=command, fork=fork)
            undo.callback(relay.end, patience=scale_limit(AFTER_STOP_SECONDS))
            state = RunState(task=Task(order.task, tuple(order.libraries)), called_at=time.time())
            folder = Path(order.notebook).parent if order.notebook else None
            context = RunContext(token_hex(6), order.cell, folder, origin, cells=cells, root=server_root())
            live = LiveRun(self.controls, context, state, session=session)
            run = Run(relay, live, state, resources, display)
            undo.pop_all()
        self.all.append(run)
        self.controls.assign_owner(live)
        return run

    def find(self, key_or_id: str) -> Run | None:
        """Return the run with this key, or the newest with this id."""
        matches = (
            run for run in reversed(self.all) if key_or_id and key_or_id in (run.live.context.key, run.state.run_id)
        )
        return next(matches, None)

    def running(self) -> list[Run]:
        """Return the runs that have not ended."""
        return [run for run in self.all if not run.over]

    def explored(self) -> list[Run]:
        """Return the runs that began to explore, or may still begin."""
        return [run for run in self.all if not run.refused]

    def last(self, *, having: Literal["trace", "files"]) -> Run | None:
        """Return the newest run that has a trace, or has files."""
        return next((run for run in reversed(self.all) if getattr(run.state, having)), None)

    def stop_runs_of_cell(self, cell: str | None) -> None:
        """Stop the runs of this calling cell, which starts a new exploration."""
        for run in self.running():
            if cell and run.live.context.cell == cell:
                run.stop()

    def stop(self) -> None:
        """Stop all runs; returns at once. Engines end by themselves when this process ends."""
        for run in self.running():
            run.stop()


# Manual steering: applies the user's controls to an active run, and builds the continuation of one that has ended.


def apply_control(run: Run, control: RunControl) -> str:
    """Apply a control; return why that is not possible, in one sentence, or an empty string."""
    match control:
        case Dismiss():
            run.live.dismiss(control.cells)
        case _ if run.over:
            return "This run has ended."
        case StopRun():
            run.stop()
        case _ if not run.state.explores:
            return f"A run with the strategy {run.state.strategy!r} can only be stopped."
        case _:
            found = _for_engine(run.state, control)
            if isinstance(found, str):
                return found
            run.send(found)
    return ""


def _for_engine(state: RunState, control: RunControl) -> Control | str:
    """Return the control as the engine takes it, or why it is not possible, in one sentence."""
    match control:
        case ExploreNow():
            return Explore()
        case EditPlan():
            remaining = tuple(title.strip() for title in control.titles if title.strip())
            if not remaining and all(row.status == "planned" for row in state.planned):
                return "A plan needs at least one subtask."
            return Replan(remaining)
        case ChooseCandidate() | RunEditedCandidate():
            row, candidate = state.find(control.candidate)
            if row is None or candidate is None:
                return f"There is no candidate {control.candidate} in this run."
            return _choose(row, candidate) if isinstance(control, ChooseCandidate) else _run_edited(row, control)
        case SkipSubtask() | RetrySubtask():
            planned = next((row for row in state.planned if row.id == control.subtask), None)
            if planned is None:
                return f"There is no subtask {control.subtask} in this run."
            if isinstance(control, SkipSubtask):
                is_open = planned.status in ("planned", "exploring")
                return Skip(planned.id) if is_open else f"Subtask {planned.id} is already {planned.status}."
            if planned.status == "planned":
                return f"Subtask {planned.id} has not begun yet."
            return Retry(planned.id, control.hint.strip())
        case _:
            return "A run does not support this request."


def _choose(row: Section, candidate: Attempt) -> Choose | str:
    if row.id == SOLUTION:
        return "A solution is chosen by its check, not by hand."
    if candidate.state != "ok":
        return f"Candidate {candidate.id} did not run to its end."
    return (
        f"Candidate {candidate.id} is already carried forward." if row.selected is candidate else Choose(candidate.id)
    )


def _run_edited(row: Section, control: RunEditedCandidate) -> RunEdited | str:
    if row.id == SOLUTION:
        return "A solution is run by the run itself: run the edited code in a cell of your own."
    if not control.code.strip():
        return "There is no code to run."
    return RunEdited(row.id, control.candidate, control.code)


def build_continuation(state: RunState, request: Continue) -> Continuation:
    """Return what a run that continues this ended one starts with.

    Subtasks before the requested one are executed again with the candidates that were carried forward; a subtask
    without such a candidate is left out. The requested subtask and the later ones are explored again.
    """
    target, chosen = _target(state, request)
    ids = [row.id for row in state.planned]
    first = ids.index(target.id) if target else len(ids)
    carried = [(row, row.selected) for row in state.planned[:first] if row.selected and row.selected.state == "ok"]
    plan = [*(row.title for row, _ in carried), *(row.title for row in state.planned[first:])]
    code = [selected.candidate.code for _, selected in carried]
    code += [request.code or chosen.candidate.code] if chosen else []
    return Continuation(plan=plan, code=code, chosen=chosen is not None, hint=request.hint.strip())


def describe_continuation(state: RunState, request: Continue) -> str:
    """Describe in a few words the run that continues this ended one."""
    if request.candidate:
        return f"candidate {request.candidate} {'edited' if request.code else 'chosen'}"
    place = next((n for n, row in enumerate(state.planned, 1) if row.id == request.subtask), None)
    again = f"step {place} again" if place else "continued"
    hint = request.hint.strip()
    return f"{again}, hint: {hint}" if hint else again


def _target(state: RunState, request: Continue) -> tuple[Section | None, Attempt | None]:
    if request.candidate:
        row, candidate = state.find(request.candidate)
        if row is None or candidate is None:
            raise UsageError(f"There is no candidate {request.candidate} in that run.")
        if row.id == SOLUTION or (candidate.state != "ok" and not request.code):
            raise UsageError(f"Candidate {candidate.id} cannot be carried forward.")
        return row, candidate
    row = next((row for row in state.planned if row.id == request.subtask), None)
    if row is None and request.subtask:
        raise UsageError(f"There is no subtask {request.subtask} in that run.")
    return row, None
