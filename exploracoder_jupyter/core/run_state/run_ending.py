"""Adds to a state what the process that started the run knows of its end: the engine's summary, or why it broke off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from pydantic import JsonValue

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.run_state.event_reducer import close
from exploracoder_jupyter.core.run_state.state import RunState
from exploracoder_jupyter.core.types import Outcome, Solution, Verdict


def with_summary(state: RunState, summary: Mapping[str, JsonValue]) -> RunState:
    """Return the state after the engine's summary: with the path of the trace, and the verdict if no record has it."""
    state = replace(state, trace=str(summary.get("trace") or "") or state.trace)
    outcome = next((outcome for outcome in get_args(Outcome) if outcome == summary.get("status")), None)
    if state.finished or outcome is None:
        return state
    code, verdict = summary.get("solution"), Verdict(outcome, str(summary.get("reason") or ""))
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
