"""Where a run goes on from a recorded one: what is taken over of it, and what need not be asked again.

A run that itself went on from another may be cut off while it takes that over. Then the other one knows more, as long
as its trace is where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import ModelCalled, Record, Steered
from exploracoder_jupyter.core.types import Exchange
from exploracoder_jupyter.pipeline import Carried, Given
from exploracoder_jupyter.runs.recorded.recorded_progress import exchanges, given, hinted
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.run_state import Run, fold_all

Onward = tuple[Given, tuple[Exchange, ...]]
"""What a run begins with, and what has been asked for it already."""


def onward(records: Sequence[Record], run: Run, trace: Path, *, cell: str = "", hint: str = "") -> Onward:
    """What a run goes on with from this one.

    Args:
        records: of the earlier run.
        run: the same, folded.
        trace: where they are.
        cell: as in `recorded_progress.given`.
        hint: likewise.

    Raises:
        UsageError: there is no such cell, a run cannot go on from it, or there is nothing that the hint could be for.
    """
    return _onward(records, run, trace, cell, hint, frozenset())


def _onward(records: Sequence[Record], run: Run, trace: Path, cell: str, hint: str, seen: frozenset[str]) -> Onward:
    own = given(records, run, cell=cell)
    if cell or not cut_off(run):
        return hinted(own, hint), ()
    asked = exchanges(_still_wanted(records))
    before = None if run.run_id in seen else _before(run, trace, seen | {run.run_id})
    if before is None:
        return hinted(own, hint), asked
    begun, known = before
    return hinted(_joined(own, begun, records, run), hint), (*asked, *_but(known, exchanges(records)))


def _still_wanted(records: Sequence[Record]) -> list[Record]:
    """The records without what was asked for a subtask that the user had explored again since: for that, other answers
    were wanted."""
    anew = {
        record.event.subtask: place
        for place, record in enumerate(records)
        if isinstance(record.event, Steered) and record.event.what == "retry"
    }
    return [record for place, record in enumerate(records) if place >= anew.get(_subtask(record), 0)]


def _subtask(record: Record) -> str:
    """The subtask that the model was asked for, if it was."""
    return record.event.exchange.subject.partition(".")[0] if isinstance(record.event, ModelCalled) else ""


def cut_off(run: Run) -> bool:
    """Whether the run did not come to its own end: its last requests have not been made use of."""
    return run.finished is None or run.finished.verdict.outcome == "stopped"


def _before(run: Run, trace: Path, seen: frozenset[str]) -> Onward | None:
    """What the run itself went on with; `None` where it went on from none, or that cannot be read any more."""
    started = run.started
    if started is None or not (started.resumes and started.resumes_trace):
        return None
    try:
        path = trace.parent / Path(started.resumes_trace).expanduser()
        records = load(path)
        earlier = fold_all(records)
        if earlier.run_id != started.resumes:
            return None
        return _onward(records, earlier, path, started.resumes_from, started.resumes_hint, seen)
    except (UsageError, RuntimeError, ValueError):  # no such trace, user or path
        return None


def _joined(own: Given, begun: Given, records: Sequence[Record], run: Run) -> Given:
    """What a run had come to, with what it began with and had not come to yet."""
    if run.plan is None:
        return begun
    own = replace(own, revisions=own.revisions + begun.revisions, fixed=own.fixed or begun.fixed)
    if own.titles != begun.titles or _steered(records, begun.hint):
        return own
    carried = tuple(now or then for now, then in zip_longest(own.carried, begun.carried))
    told = begun.hint if _first(carried) == _first(begun.carried) else ""
    return replace(own, carried=carried, hint=own.hint or told)


def _first(carried: Sequence[Carried | None]) -> int:
    """The place of the first subtask that is explored."""
    return next((place for place, known in enumerate(carried) if known is None), len(carried))


def _steered(records: Sequence[Record], hint: str) -> bool:
    """Whether the user took the wheel; the hint that a run began with is told in the same way."""
    steered = [record.event for record in records if isinstance(record.event, Steered)]
    return any(event.what != "retry" or event.hint != hint for event in steered)


def _but(known: Sequence[Exchange], asked: Sequence[Exchange]) -> list[Exchange]:
    """Those of `known` that are not among `asked` again."""
    again = [_told(one) for one in asked]
    left = []
    for one in known:
        if _told(one) in again:
            again.remove(_told(one))
        else:
            left.append(one)
    return left


def _told(exchange: Exchange) -> tuple[object, ...]:
    """What makes two exchanges the same, whatever they cost."""
    return exchange.step, exchange.messages, exchange.sampling, exchange.replies
