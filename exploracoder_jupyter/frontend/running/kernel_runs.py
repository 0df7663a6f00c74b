"""The runs of this kernel: each is an engine, the state folded from its messages, and the display that shows it.

A run is followed either by the cell that waits for it or by a thread of its own. Both do the same: take messages,
fold them, show the state at most twice a second, and release everything at the end, whatever the end is.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Literal

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.time_limits import scale
from exploracoder_jupyter.frontend.browser.browser_run import Broadcaster, LiveRun, NullBroadcaster
from exploracoder_jupyter.frontend.browser.sidebar_view import RunContext
from exploracoder_jupyter.frontend.jupyter_server import server_root
from exploracoder_jupyter.frontend.panel.panel_display import Display
from exploracoder_jupyter.frontend.panel.panel_state import State, with_trace, with_failure, finished, fold
from exploracoder_jupyter.frontend.running.engine_relay import PATIENCE, Engine, FailedEngine, Relay
from exploracoder_jupyter.protocol.engine_messages import CellsChanged, Failed, Finished, RecordMessage, Start, TraceAt

MakeDisplay = Callable[["Run"], Display]
"""Makes the display of a run."""

_TICK = 1.0
_SHORT_TICK = 0.02
"""While a cell waits for something that is over in about a second."""
_BETWEEN_UPDATES = 0.5
_AFTER_STOP = 1.0
"""Patience with an engine that was asked to stop and has had its time."""


class Run:
    """One exploration, seen from the user's kernel."""

    def __init__(self, relay: Engine, live: LiveRun, state: State, resources: ExitStack, display: MakeDisplay) -> None:
        """`resources` are released when the run has ended."""
        self.state = state
        self.live = live
        self._relay = relay
        self._resources = resources
        self._stopping = False
        self._deadline = math.inf
        self._shown = 0.0
        self._thread: threading.Thread | None = None
        self._display = display(self)

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state.over

    @property
    def refused(self) -> bool:
        """Whether it failed before there was anything to keep."""
        return bool(self.state.failure) and not self.state.trace

    def wait(self) -> None:
        """Follow the run to its end in this thread.

        Raises:
            KeyboardInterrupt: the user interrupted; the run was stopped, its trace closed, its processes ended.
        """
        try:
            self._follow_or_stop(lambda: False)
        finally:
            self._release()

    def detach(self, *, patience: float = 0.0) -> None:
        """Follow the run in a thread, as soon as this kernel was forked or will not be; or after `patience` seconds.

        Until then it is followed here: what the user changes next must not be seen by experiments.

        Raises:
            KeyboardInterrupt: the user interrupted; see `wait`.
        """
        until = time.monotonic() + patience
        with ExitStack() as broken_off:
            broken_off.callback(self._release)
            self._follow_or_stop(lambda: self._relay.fork_settled.is_set() or time.monotonic() >= until, tick=_SHORT_TICK)
            broken_off.pop_all()
        self._thread = threading.Thread(target=self._follow_and_release, daemon=True, name="explora-run")
        self._thread.start()

    def stop(self) -> None:
        """Ask for its end; returns at once. An engine that does not end in time is ended."""
        self._stopping = True
        self._deadline = time.monotonic() + 2 * scale(PATIENCE)
        self.live.mark_stopping()  # before the end, which may follow at once
        self._relay.stop()

    def skip(self, subtask: str) -> None:
        """Ask for giving up this subtask; returns at once, as all of these."""
        self._relay.skip(subtask)

    def retry(self, subtask: str, hint: str) -> None:
        """Ask for exploring this subtask and the later ones again."""
        self._relay.retry(subtask, hint)

    def choose(self, candidate: str) -> None:
        """Ask for carrying this candidate forward instead."""
        self._relay.choose(candidate)

    def replan(self, titles: Sequence[str]) -> None:
        """Replace the subtasks that have not begun; ends a review."""
        self._relay.replan(titles)

    def join(self, seconds: float | None = None) -> None:
        """Wait until a detached run has ended and released everything."""
        if self._thread:
            self._thread.join(seconds)

    def _follow_or_stop(self, enough: Callable[[], bool], *, tick: float = _TICK) -> None:
        try:
            self._follow(enough, tick=tick)
        except KeyboardInterrupt:
            self._interrupted()
            raise

    def _interrupted(self) -> None:
        """A message and some patience first; a second interrupt skips the patience."""
        try:
            self.stop()
            self._deadline = time.monotonic() + scale(PATIENCE)
            self._follow()
        except KeyboardInterrupt:
            self._relay.end(patience=0.0)

    def _follow_and_release(self) -> None:
        try:
            self._follow()
        finally:
            self._release()

    def _follow(self, enough: Callable[[], bool] = lambda: False, *, tick: float = _TICK) -> None:
        for message in self._relay.messages(tick=tick):
            if isinstance(message, CellsChanged):
                self.live.update_cells(message.changes)
            elif message is not None:
                self._go_on(self._after(message), last=not isinstance(message, RecordMessage))
            self._refresh()
            if enough() or time.monotonic() >= self._deadline:
                return

    def _go_on(self, state: State, *, last: bool = True) -> None:
        """Take the state and send it to the pages; how the run ended is sent with the engine's last message alone,
        which follows at once and may say that it failed."""
        self.state = state
        if last or not state.over:
            self.live.update_state(state)

    def _after(self, message: RecordMessage | TraceAt | Finished | Failed) -> State:
        match message:
            case RecordMessage():
                return fold(self.state, message.record)
            case TraceAt():
                return with_trace(self.state, message.path)
            case Finished():
                return finished(self.state, message.summary)
            case Failed():
                said = f"{message.error} {message.remedy}".strip()
                said = f"Stopped. {said}" if self._stopping else said
                return with_failure(self.state, said, at=time.time(), stopped=self._stopping)

    def _refresh(self) -> None:
        now = time.monotonic()
        if not self.state.over and now - self._shown >= _BETWEEN_UPDATES:
            self._shown = now
            self._display.show(self.state)

    def _release(self) -> None:
        """End the engine, take its last words, show the end."""
        try:
            self._relay.end(patience=scale(_AFTER_STOP if self._stopping else PATIENCE))
            self._deadline = time.monotonic() + 1.0
            self._follow()
            if not self.state.over:
                self._go_on(with_failure(self.state, "The run was given up.", at=time.time()))
            self._display.close(self.state)
        finally:
            self._resources.close()


@dataclass(slots=True)
class Runs:
    """All runs since the extension was loaded, oldest first."""

    broadcaster: Broadcaster = field(default_factory=NullBroadcaster)
    """The pages that are told of them."""
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
        refused: ExploraError | None = None,
    ) -> Run:
        """Start an engine for this order; `resources` are released when it has ended, or cannot be started.

        `fork` forks this kernel when the engine asks for that; `session` is the calling connection's; `origin` says
        what the run is, if it goes on from another. `refused` is why there can be no such run: then no engine is
        started, and the run fails at once.

        Raises:
            MissingMeans: the engine cannot be started.
        """
        with ExitStack() as undo:
            undo.callback(resources.close)
            relay = FailedEngine(refused) if refused else Relay(order, command=command, fork=fork)
            undo.callback(relay.end, patience=scale(_AFTER_STOP))
            state = State(libraries=tuple(order.libraries), task=order.task, started=time.time())
            folder = Path(order.notebook).parent if order.notebook else None
            place = RunContext(token_hex(6), order.cell, folder, origin, root=server_root())
            live = LiveRun(self.broadcaster, place, state, session=session)
            run = Run(relay, live, state, resources, display)
            undo.pop_all()
        self.all.append(run)
        self.broadcaster.assign_owner(live)
        return run

    def find(self, name: str) -> Run | None:
        """The run with this key, or the newest with this id."""
        return next((run for run in reversed(self.all) if name in (run.live.key, run.state.run_id) and name), None)

    def running(self) -> list[Run]:
        """Those that have not ended."""
        return [run for run in self.all if not run.over]

    def explored(self) -> list[Run]:
        """Those that came to explore, or may still do so."""
        return [run for run in self.all if not run.refused]

    def last(self, *, having: Literal["trace", "files"]) -> Run | None:
        """The newest one that has this."""
        return next((run for run in reversed(self.all) if getattr(run.state, having)), None)

    def stop_runs_of_cell(self, cell: str | None) -> None:
        """Ask the runs of this calling cell for their end: it explores anew."""
        for run in self.running():
            if cell and run.live.cell == cell:
                run.stop()

    def stop(self) -> None:
        """Ask every run for its end; returns at once. Without this process, engines end by themselves."""
        for run in self.running():
            run.stop()
