"""What a recorded run had come to, as a run that goes on from it begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from exploracoder_jupyter.core.errors import ReplyError, UsageError
from exploracoder_jupyter.core.events import CandidateProposed, ModelCalled, PlanMade, Record
from exploracoder_jupyter.core.types import Exchange, Passage, ScoredApi
from exploracoder_jupyter.pipeline import Carried, Given
from exploracoder_jupyter.pipeline.prompting.reply_forms import parse_code
from exploracoder_jupyter.pipeline.run_plan import CHANGED_BY_USER
from exploracoder_jupyter.runs.trace_check.relocated_paths import at_home
from exploracoder_jupyter.trace.run_state import SOLUTION, Attempt, Run, Section

_MOST_TOLD = 40
"""Cells that are named to somebody who named one that is not there."""


def exchanges(records: Iterable[Record]) -> tuple[Exchange, ...]:
    """All exchanges with the model, in order; with this home where what the model wrote names one.

    Replies with code stand in the order in which they came, by which candidates are numbered.
    """
    known = [*records]
    numbers: dict[tuple[str, str], int] = {}
    for candidate in (record.event.candidate for record in known if isinstance(record.event, CandidateProposed)):
        numbers.setdefault((candidate.subtask, candidate.code), len(numbers))
    asked = (record.event.exchange for record in known if isinstance(record.event, ModelCalled))
    return tuple(_here(_as_they_came(exchange, numbers)) for exchange in asked)


def _as_they_came(exchange: Exchange, numbers: Mapping[tuple[str, str], int]) -> Exchange:
    """The exchange with its replies in the order of the candidates that were made of them."""
    places = [numbers.get((exchange.subject, _code(text)), len(numbers)) for text in exchange.replies]
    order = sorted(range(len(places)), key=places.__getitem__)
    calls = tuple(exchange.calls[place] for place in order) if exchange.calls else ()
    return replace(exchange, replies=tuple(exchange.replies[place] for place in order), calls=calls)


def _code(reply: str) -> str:
    try:
        return parse_code(reply)
    except ReplyError:
        return ""


def _here(exchange: Exchange) -> Exchange:
    messages = (
        replace(one, content=at_home(one.content)) if one.role == "assistant" else one for one in exchange.messages
    )
    return replace(exchange, messages=tuple(messages), replies=tuple(map(at_home, exchange.replies)))


def given(records: Iterable[Record], run: Run, *, cell: str = "") -> Given:
    """What a run begins with that goes on where this one ended, or from a cell of it.

    Args:
        records: of the earlier run.
        run: the same, folded.
        cell: a candidate, carried forward instead of the selected one; a subtask, explored again; or `solution`.

    Raises:
        UsageError: there is no such cell, or a run cannot go on from it.
    """
    introduction = run.library.introduction if run.library else None
    if run.plan is None:
        if cell:
            raise _unknown(run, cell)
        return Given(introduction=introduction)
    subtasks = run.plan.subtasks
    known = _carried(run)
    if cell:
        known = _from(run, cell, known)
    first = known.index(None) if None in known else len(known)
    wished = "" if cell or first >= len(subtasks) else _wish(run.sections[subtasks[first].id])
    reasons = [event.reason for event in _revisions(records)]
    return Given(
        tuple(subtask.title for subtask in subtasks),
        tuple(known),
        wished,
        queries=tuple(subtask.online for subtask in subtasks),
        revisions=len(reasons) - reasons.count(CHANGED_BY_USER),
        fixed=CHANGED_BY_USER in reasons,
        reviewed=not run.reviewing,
        introduction=introduction,
    )


def hinted(begin: Given, hint: str) -> Given:
    """The same with a hint for the model, at the first subtask that is explored.

    Raises:
        UsageError: none is.
    """
    if not hint.strip():
        return begin
    if begin.titles and len(begin.titles) == sum(one is not None for one in begin.carried):
        raise UsageError(
            "No subtask is left to explore that the hint could be for.", remedy="--from CELL names a subtask."
        )
    return replace(begin, hint=hint.strip())


def carried(section: Section) -> Carried | None:
    """What is taken over of a subtask; `None` where it is to be explored."""
    selected = section.selected
    code = at_home(selected.candidate.code) if selected else ""
    match section.status:
        case "done" if code:
            return _with_finds(section, Carried(code))
        case "failed":
            return _with_finds(section, Carried(code, "failed", section.reason))
        case "skipped":
            return Carried(status="skipped", reason=section.reason)
        case _:
            return _chosen(section)


def _chosen(section: Section) -> Carried | None:
    """The candidate that the user had chosen, where the run was cut off before it had been run again."""
    wish = section.wishes[-1] if section.wishes else None
    attempt = section.attempts.get(wish.candidate) if wish and wish.what == "choose" else None
    return _with_finds(section, Carried(at_home(attempt.candidate.code), chosen=True)) if attempt else None


def _carried(run: Run) -> list[Carried | None]:
    """For each subtask of the plan. After the first one that is to be explored, only what the user has given up."""
    assert run.plan
    known = [carried(run.sections[subtask.id]) for subtask in run.plan.subtasks]
    first = known.index(None) if None in known else len(known)
    return known[:first] + [one if one and one.status == "skipped" else None for one in known[first:]]


def _from(run: Run, cell: str, known: list[Carried | None]) -> list[Carried | None]:
    """What is known before a cell, and the cell itself where it is a candidate."""
    assert run.plan
    if cell == SOLUTION:
        place, chosen = len(known), None
    else:
        section, attempt = _find(run, cell)
        place = [subtask.id for subtask in run.plan.subtasks].index(section.subtask.id)
        chosen = _with_finds(section, Carried(at_home(attempt.candidate.code), chosen=True)) if attempt else None
    if None in known[:place]:
        raise UsageError(f"The run had not come to {cell} yet.", remedy="Leave --from out to go on where it ended.")
    return [*known[:place], *([chosen] if chosen else [])]


def _find(run: Run, cell: str) -> tuple[Section, Attempt | None]:
    """The subtask of this id, or that of the candidate, which comes along.

    Raises:
        UsageError: there is none in the plan, or the candidate cannot be carried forward.
    """
    planned = [run.sections[subtask.id] for subtask in run.plan.subtasks] if run.plan else []
    for section in planned:
        attempt = section.attempts.get(cell)
        if section.subtask.id == cell:
            return section, None
        if attempt and attempt.observation and attempt.observation.ran:
            return section, attempt
        if attempt:
            raise UsageError(f"Candidate {cell} did not run to its end.", remedy=f"Use one of: {_cells(run)}.")
    solution = run.sections.get(SOLUTION)
    if solution and cell in solution.attempts:
        raise UsageError(f"{cell} is a solution: nothing goes on from it.", remedy=f"--from {SOLUTION} tries anew.")
    raise _unknown(run, cell)


def _unknown(run: Run, cell: str) -> UsageError:
    return UsageError(f"There is no cell {cell!r} in that run.", remedy=f"Use one of: {_cells(run)}.")


def _cells(run: Run) -> str:
    """What a run can go on from: subtasks, each with its candidates that ran, and the solution."""
    found: list[str] = []
    for subtask in run.plan.subtasks if run.plan else ():
        section = run.sections[subtask.id]
        ran = [one.candidate.id for one in section.ordered if one.observation and one.observation.ran]
        found += [subtask.id, *ran]
    told = [*found[:_MOST_TOLD], *(["..."] if len(found) > _MOST_TOLD else []), SOLUTION]
    return ", ".join(told) if found else "none, for it had no plan"


def _with_finds(section: Section, known: Carried) -> Carried:
    """With what was recommended and found for the subtask."""
    found = [path for search in section.searches for path in search.apis]
    passages: list[Passage] = [one for search in section.searches for one in search.passages]
    return replace(
        known,
        apis=tuple(ScoredApi(api, 0.0) for api in section.apis),
        retrieved=tuple(dict.fromkeys([*found, *(api.path for api in section.apis)])),
        passages=tuple(passages),
    )


def _wish(section: Section) -> str:
    """The hint that the user gave along for a subtask."""
    return section.wishes[-1].hint if section.wishes else ""


def _revisions(records: Iterable[Record]) -> list[PlanMade]:
    return [record.event for record in records if isinstance(record.event, PlanMade) and record.event.plan.revision]
