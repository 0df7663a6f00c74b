"""Determines what a resuming run reuses: the progress, and the model exchanges that need not be repeated.

A run that itself resumed another may be cut off while it repeats that run's progress. Then the other trace has more,
as long as it still exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import ModelCalled, Record, Steered
from exploracoder_jupyter.core.run_state import RunState, fold_all
from exploracoder_jupyter.core.types import Exchange
from exploracoder_jupyter.pipeline import CarriedSubtask, ResumePoint
from exploracoder_jupyter.runs.recorded.recorded_progress import recorded_exchanges, recorded_progress, with_hint
from exploracoder_jupyter.trace import load

ResumeState = tuple[ResumePoint, tuple[Exchange, ...]]
"""What a run starts with, and the model exchanges that have already been made for it."""


def resume_state(
    records: Sequence[Record], run: RunState, trace: Path, *, cell: str = "", hint: str = ""
) -> ResumeState:
    """Return what a run that resumes this one starts with; `trace` is the path of the records.

    `cell` is that of `recorded_progress.recorded_progress`, `hint` that of `recorded_progress.with_hint`.

    Raises:
        UsageError: there is no such cell, a run cannot resume from it, or no subtask is left for the hint.
    """
    return _resume_state(records, run, trace, cell, hint, frozenset())


def _resume_state(
    records: Sequence[Record], run: RunState, trace: Path, cell: str, hint: str, seen: frozenset[str]
) -> ResumeState:
    own = recorded_progress(records, run, cell=cell)
    if cell or not was_cut_off(run):  # its programs would have to be paid for again
        return with_hint(replace(own, tried_programs=False), hint), ()
    reusable = recorded_exchanges(_without_retried(records))
    before = None if run.run_id in seen else _state_before(run, trace, seen | {run.run_id})
    if before is None:
        return with_hint(own, hint), reusable
    start, earlier = before
    repeated = [_key(one) for one in recorded_exchanges(records)]
    remaining = []
    for one in earlier:
        if _key(one) in repeated:
            repeated.remove(_key(one))
        else:
            remaining.append(one)
    return with_hint(_combine(own, start, records, run), hint), (*reusable, *remaining)


def _without_retried(records: Sequence[Record]) -> list[Record]:
    """Drop the model calls for a subtask from before the user retried it, because other replies are wanted now."""
    kept: list[Record] = []
    for record in records:
        if isinstance(record.event, Steered) and record.event.what == "retry":
            retried = record.event.subtask
            kept = [one for one in kept if not (isinstance(one.event, ModelCalled) and _subtask(one.event) == retried)]
        kept.append(record)
    return kept


def _subtask(event: ModelCalled) -> str:
    return event.exchange.subject.partition(".")[0]


def was_cut_off(run: RunState) -> bool:
    """Whether the run ended prematurely, so that its last model replies have not been used."""
    return run.finished is None or run.finished.verdict.outcome == "stopped"


def _state_before(run: RunState, trace: Path, seen: frozenset[str]) -> ResumeState | None:
    """Return what the run itself started with; `None` if it resumed no other run, or that trace is unreadable."""
    started = run.started
    if started is None or not (started.resumes and started.resumes_trace):
        return None
    try:
        path = trace.parent / Path(started.resumes_trace).expanduser()
        records = load(path)
        earlier = fold_all(records)
        if earlier.run_id != started.resumes:
            return None
        return _resume_state(records, earlier, path, started.resumes_from, started.resumes_hint, seen)
    except (UsageError, RuntimeError, ValueError):  # no such trace, no such user, or an invalid path
        return None


def _combine(own: ResumePoint, start: ResumePoint, records: Sequence[Record], run: RunState) -> ResumePoint:
    """Combine a run's own progress with what it started with and had not repeated yet."""
    if run.plan is None:
        return start
    own = replace(own, revisions=own.revisions + start.revisions, fixed=own.fixed or start.fixed)
    # the hint that a run started with is recorded as a retry too
    steered = [record.event for record in records if isinstance(record.event, Steered) and record.event.what != "edit"]
    was_steered = any(event.what != "retry" or event.hint != start.hint for event in steered)
    if own.titles != start.titles or was_steered:
        return own
    carried = tuple(now or then for now, then in zip_longest(own.carried, start.carried))
    hint = start.hint if _first_unexplored(carried) == _first_unexplored(start.carried) else ""
    return replace(own, carried=carried, hint=own.hint or hint)


def _first_unexplored(carried: Sequence[CarriedSubtask | None]) -> int:
    return next((place for place, progress in enumerate(carried) if progress is None), len(carried))


def _key(exchange: Exchange) -> tuple[object, ...]:
    return exchange.step, exchange.messages, exchange.sampling, exchange.replies
