"""One run of this kernel: its engine, a state computed from its messages, and a display.

A run is followed either by the cell that waits for it or by its own thread. Both do the same: receive messages, fold
them into the state, show it at most twice a second, and release all resources at the end, however the run ends.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.run_state import RunState, fold, with_failure, with_summary
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun
from exploracoder_jupyter.ipython_extension.result_card.card_display import LineDisplay, NotebookDisplay
from exploracoder_jupyter.ipython_extension.running.command_process import change_repository
from exploracoder_jupyter.ipython_extension.running.engine_relay import PATIENCE, FailedEngine, Relay
from exploracoder_jupyter.protocol.engine_messages import (
    CellsChanged,
    Failed,
    Finished,
    RecordMessage,
    SolutionShown,
    Stop,
    TraceAt,
)
from exploracoder_jupyter.protocol.run_controls import Control

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
