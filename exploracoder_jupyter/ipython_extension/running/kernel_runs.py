"""The runs of this kernel since the extension was loaded: starts, finds and stops them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Literal

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun
from exploracoder_jupyter.ipython_extension.browser.run_view import RunContext
from exploracoder_jupyter.ipython_extension.jupyter_server import server_root
from exploracoder_jupyter.ipython_extension.running.engine_relay import FailedEngine, Relay
from exploracoder_jupyter.ipython_extension.running.followed_run import AFTER_STOP_SECONDS, MakeDisplay, Run
from exploracoder_jupyter.protocol.engine_messages import Start

if TYPE_CHECKING:
    from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls


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
