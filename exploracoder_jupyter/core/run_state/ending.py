"""Adds to a state what the process that started the run knows of its end: the engine's summary, or why it broke off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from pydantic import JsonValue

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.run_state.fold import close
from exploracoder_jupyter.core.run_state.state import RunState
from exploracoder_jupyter.core.types import Outcome, Solution, Verdict


def with_summary(state: RunState, summary: Mapping[str, JsonValue]) -> RunState:
    """Return the state after the engine's summary, which has the path of the trace, and the verdict if no record has.

    Args:
        state: the state after all records that arrived.
        summary: the object that `--json` prints.
    """
    trace, verdict = summary.get("trace"), _verdict(summary)
    state = replace(state, trace=str(trace) if trace else state.trace)
    if state.finished or verdict is None:
        return state
    code = summary.get("solution")
    solution = Solution(code, "") if isinstance(code, str) else None
    return close(replace(state, finished=RunFinished(verdict, solution, state.spent)))


def with_failure(state: RunState, reason: str, *, at: float, stopped: bool = False) -> RunState:
    """Return the state of a run that could not be started, or that broke off `at` this time.

    `stopped` is set if the user stopped it. The reason names the trace if there is one.
    """
    if state.trace and state.trace not in reason:
        reason = f"{reason} The results so far are in {state.trace}; --resume continues from there."
    ended = close(replace(state, now=state.now if state.finished else at))
    return replace(ended, failure=reason, activity=reason, stopped=stopped)


def _verdict(summary: Mapping[str, JsonValue]) -> Verdict | None:
    status, reason = summary.get("status"), summary.get("reason")
    outcome = next((outcome for outcome in get_args(Outcome) if outcome == status), None)
    return Verdict(outcome, str(reason or "")) if outcome else None
