"""Extracts the progress of a recorded run, from which another run can resume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from exploracoder_jupyter.core.errors import ReplyError, UsageError
from exploracoder_jupyter.core.events import CandidateProposed, ModelCalled, PlanMade, Record
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.types import Exchange, Experience, Passage, ScoredApi
from exploracoder_jupyter.pipeline import CarriedSubtask, ResumePoint
from exploracoder_jupyter.pipeline.prompting.reply_parsing import parse_code
from exploracoder_jupyter.pipeline.run_plan import CHANGED_BY_USER, CHOSEN_BY_USER
from exploracoder_jupyter.runs.trace_check.relocated_paths import expand_home

_MAX_LISTED = 40
"""Maximum number of cells listed in an error about an unknown cell."""


def recorded_exchanges(records: Iterable[Record]) -> tuple[Exchange, ...]:
    """Return all exchanges with the model, in order.

    Redacted home folders in the model's text are replaced by the current one. Replies with code are in the order in
    which they arrived, which determines the numbers of the candidates.
    """
    records = [*records]
    numbers: dict[tuple[str, str], int] = {}
    for candidate in (record.event.candidate for record in records if isinstance(record.event, CandidateProposed)):
        numbers.setdefault((candidate.subtask, candidate.code), len(numbers))
    found = (record.event.exchange for record in records if isinstance(record.event, ModelCalled))
    return tuple(_restore_exchange(exchange, numbers) for exchange in found)


def _restore_exchange(exchange: Exchange, numbers: Mapping[tuple[str, str], int]) -> Exchange:
    """Sort the replies of an exchange in the order of the candidates made from them, and expand home folders."""

    def place(index: int) -> int:
        try:
            code = parse_code(exchange.replies[index])
        except ReplyError:
            code = ""
        return numbers.get((exchange.subject, code), len(numbers))

    order = sorted(range(len(exchange.replies)), key=place)
    messages = (
        replace(one, content=expand_home(one.content)) if one.role == "assistant" else one for one in exchange.messages
    )
    return replace(
        exchange,
        messages=tuple(messages),
        replies=tuple(expand_home(exchange.replies[index]) for index in order),
        calls=tuple(exchange.calls[index] for index in order) if exchange.calls else (),
    )


def recorded_progress(records: Iterable[Record], run: RunState, *, cell: str = "") -> ResumePoint:
    """Return what a run starts with that resumes this one at its end or from one of its cells.

    `run` is the folded state of the records. `cell` is a candidate, which is carried forward instead of the selected
    one; a subtask, which is explored again; or `solution`.

    Raises:
        UsageError: there is no such cell, or a run cannot resume from it.
    """
    introduction = run.library.introduction if run.library else None
    if run.plan is None:
        if cell:
            raise _unknown_cell(run, cell)
        return ResumePoint(introduction=introduction)
    subtasks = run.plan.subtasks
    progress = _reusable_results(run)
    if cell:
        progress = _progress_before(run, cell, progress)
    first = progress.index(None) if None in progress else len(progress)
    wishes = [] if cell or first >= len(subtasks) else run.sections[subtasks[first].id].wishes
    plans = [record.event for record in records if isinstance(record.event, PlanMade)]
    reasons = [event.reason for event in plans if event.plan.revision]
    return ResumePoint(
        tuple(subtask.title for subtask in subtasks),
        tuple(progress),
        wishes[-1].hint if wishes else "",
        queries=tuple(subtask.online for subtask in subtasks),
        revisions=len(reasons) - reasons.count(CHANGED_BY_USER),
        fixed=CHANGED_BY_USER in reasons,
        reviewed=not run.reviewing,
        introduction=introduction,
        # not if the user chose to explore before all programs were tried
        tried_programs=not cell
        and [one.effort for one in run.efforts] == ["direct", "explore"]
        and run.efforts[-1].reason != CHOSEN_BY_USER,
    )


def with_hint(begin: ResumePoint, hint: str) -> ResumePoint:
    """Add a hint for the model, at the first subtask that is explored. UsageError: no subtask is left to explore."""
    if not hint.strip():
        return begin
    if begin.titles and len(begin.titles) == sum(one is not None for one in begin.carried):
        raise UsageError(
            "No subtask is left to explore, so the hint cannot be used.", remedy="Name a subtask with --from CELL."
        )
    return replace(begin, hint=hint.strip())


def reusable_result(section: Section) -> CarriedSubtask | None:
    """Return what is reused of a subtask; `None` if it has to be explored."""
    selected = section.selected
    code = expand_home(selected.candidate.code) if selected else ""
    match section.status:
        case "done" if code:
            return _with_search_results(section, CarriedSubtask(code))
        case "failed":
            return _with_search_results(section, CarriedSubtask(code, "failed", section.reason))
        case "skipped":
            return CarriedSubtask(status="skipped", reason=section.reason)
    # a candidate that the user had chosen, if the run was cut off before running it again
    wish = section.wishes[-1] if section.wishes else None
    return _chosen(section, section.attempts.get(wish.candidate) if wish and wish.what == "choose" else None)


def _chosen(section: Section, attempt: Attempt | None) -> CarriedSubtask | None:
    if attempt is None:
        return None
    return _with_search_results(section, CarriedSubtask(expand_home(attempt.candidate.code), chosen=True))


def _reusable_results(run: RunState) -> list[CarriedSubtask | None]:
    """Return what is reused of each planned subtask; after the first unexplored one, only those the user skipped."""
    assert run.plan
    progress = [reusable_result(run.sections[subtask.id]) for subtask in run.plan.subtasks]
    first = progress.index(None) if None in progress else len(progress)
    return progress[:first] + [one if one and one.status == "skipped" else None for one in progress[first:]]


def _progress_before(run: RunState, cell: str, progress: list[CarriedSubtask | None]) -> list[CarriedSubtask | None]:
    assert run.plan
    if cell == SOLUTION:
        place, chosen = len(progress), None
    else:
        section, attempt = _find_cell(run, cell)
        place = [subtask.id for subtask in run.plan.subtasks].index(section.subtask.id)
        chosen = _chosen(section, attempt)
    if None in progress[:place]:
        raise UsageError(f"The run had not reached {cell} yet.", remedy="Omit --from to continue where it ended.")
    return [*progress[:place], *([chosen] if chosen else [])]


def _find_cell(run: RunState, cell: str) -> tuple[Section, Attempt | None]:
    planned = [run.sections[subtask.id] for subtask in run.plan.subtasks] if run.plan else []
    for section in planned:
        attempt = section.attempts.get(cell)
        if section.subtask.id == cell:
            return section, None
        if attempt and attempt.observation and attempt.observation.ran:
            return section, attempt
        if attempt:
            raise UsageError(f"Candidate {cell} did not run to its end.", remedy=f"Use one of: {_list_cells(run)}.")
    solution = run.sections.get(SOLUTION)
    if solution and cell in solution.attempts:
        raise UsageError(
            f"{cell} is a solution, and a run cannot continue from it.",
            remedy=f"Use --from {SOLUTION} to write a new solution.",
        )
    raise _unknown_cell(run, cell)


def _unknown_cell(run: RunState, cell: str) -> UsageError:
    return UsageError(f"There is no cell {cell!r} in that run.", remedy=f"Use one of: {_list_cells(run)}.")


def _list_cells(run: RunState) -> str:
    found: list[str] = []
    for subtask in run.plan.subtasks if run.plan else ():
        section = run.sections[subtask.id]
        ran = [one.candidate.id for one in section.ordered if one.observation and one.observation.ran]
        found += [subtask.id, *ran]
    listed = [*found[:_MAX_LISTED], *(["..."] if len(found) > _MAX_LISTED else []), SOLUTION]
    return ", ".join(listed) if found else "none, because it had no plan"


def _with_search_results(section: Section, progress: CarriedSubtask) -> CarriedSubtask:
    found = [path for search in section.searches for path in search.apis]
    passages: list[Passage] = [one for search in section.searches for one in search.passages]
    used = {path for one in section.ordered if one.candidate.code == progress.code for path in one.apis}
    return replace(
        progress,
        used=tuple(sorted(used)),
        apis=tuple(ScoredApi(api, 0.0) for api in section.apis),
        retrieved=tuple(dict.fromkeys([*found, *(api.path for api in section.apis)])),
        passages=tuple(passages),
        failures=tuple(
            Experience(section.subtask, one.candidate, one.observation, one.apis)
            for one in section.ordered
            if one.observation and not one.observation.ran and one.candidate.code != progress.code
        ),
    )
