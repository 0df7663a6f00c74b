"""Lays out a run as a list of cells.

The order is: the setup of the task, the plan, notices, then for each subtask a heading, its candidates by round and
number, and its notices; at the end the solution and, in a trace, the summary. The results of a solution on generated
inputs follow that solution. Cells of tried code start with `%%explored ID` and are tagged `skip-execution`, so that
running the whole notebook skips them; a trace notebook loads that magic first. The setup and the solution are plain
code. Cell ids depend only on the run and the cell's role in it, so the same run always gives the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import JsonValue

from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.trace.cells import cell_markdown
from exploracoder_jupyter.trace.cells.cell_building import Fields, code_cell, markdown_cell, new_cell, outcome_metadata
from exploracoder_jupyter.trace.cells.cell_outputs import SanitizedOutputs, final_solution, observation_of
from exploracoder_jupyter.trace.cells.notebook_cells import Cells, adapt_cell, tries_cell
from exploracoder_jupyter.trace.metadata_namespace import (
    NAMESPACE,
    TAG_CANDIDATE,
    TAG_SELECTED,
    TAG_SKIP,
    TAG_SOLUTION,
    Cell,
)

Show = Literal["all", "selected", "none"]
"""Which candidates get cells."""


class Layout:
    """Lays out a run as cells, repeatedly as it progresses.

    A section is laid out again only if it has changed, because most records change only one section.

    Args:
        show: which candidates get cells.
        caller: id of the calling cell. Without one the cells form a separate notebook: the task comes first, then a
            cell that registers `%%explored`, and the solution keeps its recorded outputs.
        cells: how much the user's notebook shows of the run, if there is a caller.
        outputs: sanitizes the outputs; of a run that is laid out by several layouts, each output is sanitized once.
    """

    def __init__(
        self,
        *,
        show: Show,
        caller: str | None = None,
        cells: Cells = "live",
        outputs: SanitizedOutputs | None = None,
    ) -> None:
        self._show = show
        self._shown_cells = cells
        self._caller = caller
        self._outputs = outputs or SanitizedOutputs()
        self._cache: dict[str, tuple[Section, bool, list[Cell]]] = {}

    def cells(self, run: RunState) -> list[Cell]:
        """Return the cells of the run, in order."""
        if run.started is None:
            return []
        if self._caller is None:
            return list(self._trace_cells(run))
        return [] if self._shown_cells == "card" else list(self._notebook_cells(run))

    def _trace_cells(self, run: RunState) -> Iterator[Cell]:
        yield markdown_cell(run, "task", "", cell_markdown.task_markdown(run), outcome_metadata(run))
        # without this package this cell fails before any candidate, which stops Run All
        yield code_cell(new_cell(run, "setup", "", f"%load_ext {NAMESPACE}", {}, [TAG_SKIP]), ())
        yield from _opening_cells(run)
        for subtask in run.subtasks:
            yield from self._cached_cells(run, subtask)
        if section := run.sections.get(SOLUTION):
            outcome = run.finished.verdict.outcome if run.finished and final_solution(run) else None
            yield _solution_heading(run, cell_markdown.solution_markdown(section, outcome, run.files, over=_over(run)))
            yield from self._attempt_cells(run, section)
            yield from _result_cells(run, self._outputs)
            yield from _notice_cells(run, section)
        if run.finished:
            seconds = round(max(run.now - run.started_at, 0), 3)
            fields: Fields = {"status": run.finished.verdict.outcome, "seconds": seconds, **_model(run)}
            yield markdown_cell(run, "summary", "", cell_markdown.summary_markdown(run, run.finished), fields)

    def _notebook_cells(self, run: RunState) -> Iterator[Cell]:
        yield from self._adapt([tries_cell(run, self._shown_cells), *_opening_cells(run)])
        for subtask in run.subtasks:
            yield from self._cached_cells(run, subtask)
        section = run.sections.get(SOLUTION)
        if section and section.attempts:
            yield from self._adapt([_solution_heading(run, cell_markdown.attempts_markdown(section, over=_over(run)))])
            yield from self._adapt(self._attempt_cells(run, section))
        outcome = cell_markdown.outcome_markdown(run, final_solution(run))
        yield from self._adapt([markdown_cell(run, "outcome", "", outcome, outcome_metadata(run))])
        if section:
            yield from self._adapt(_result_cells(run, outputs=None))
            yield from self._adapt(_notice_cells(run, section))

    def _cached_cells(self, run: RunState, section: Section) -> list[Cell]:
        over, cached = _over(run), self._cache.get(section.id)
        if cached and cached[0] is section and cached[1] is over:
            return cached[2]
        cells = list(self._adapt(self._subtask_cells(run, section)))
        self._cache[section.id] = (section, over, cells)
        return cells

    def _adapt(self, cells: Iterable[Cell]) -> Iterable[Cell]:
        return cells if self._caller is None else (adapt_cell(cell, self._caller) for cell in cells)

    def _subtask_cells(self, run: RunState, section: Section) -> Iterator[Cell]:
        if section.started and self._show != "none":
            heading = cell_markdown.heading_markdown(section, over=_over(run))
            yield markdown_cell(run, "subtask", section.id, heading, {"subtask": section.id, "status": section.status})
            for attempt in section.ordered:
                carried = section.is_carried_forward(attempt)
                if attempt.has_cell and (carried or self._show == "all"):
                    cell = _candidate_cell(run, section, attempt, selected=carried)
                    yield code_cell(cell, self._outputs(attempt.observation), hidden=carried is False)
        yield from _notice_cells(run, section)

    def _attempt_cells(self, run: RunState, section: Section) -> Iterator[Cell]:
        """Yield the attempts at a solution but the final one, and what the attempts did on generated inputs."""
        solution = final_solution(run)
        best = None if solution and not solution.patch else _best_attempt(run, section)
        patched = solution.candidate if solution and solution.patch else ""
        for attempt in section.ordered:
            final = solution is not None and attempt.id == solution.candidate and not solution.patch
            if attempt.has_cell and not final and (self._show == "all" or attempt is best):
                selected = patched == attempt.id if run.finished else section.is_carried_forward(attempt)
                cell = _candidate_cell(run, section, attempt, selected=selected)
                yield code_cell(cell, self._outputs(attempt.observation), hidden=attempt is not best)
            if self._show == "all" or (self._show == "selected" and final):
                yield from self._round_cells(run, section, attempt, final=final)

    def _round_cells(self, run: RunState, section: Section, attempt: Attempt, *, final: bool) -> Iterator[Cell]:
        """Yield a cell for each result of a solution on generated inputs, and one for their judgement."""
        id, selected = attempt.id, final if run.finished else None
        round_ = section.rounds.get(id)
        if round_ is None:
            return
        hidden = not selected if run.finished else id != list(section.rounds)[-1]
        for shown in round_.shown:
            name = f"{id}-{shown.given.id}"
            judged = round_.ruling_on(shown.given.id) if shown.usable else None
            fields: Fields = {
                "subtask": SOLUTION,
                "candidate": id,
                "input": shown.given.id,
                "round": attempt.candidate.round,
                "status": shown.observation.status,
                **({"judged": judged} if judged else {}),
                **_selected(selected),
                **_seconds(shown.observation),
                **_model(run),
            }
            source = f"%%explored {name}\n{cell_markdown.input_code(shown.given, id)}"
            cell = new_cell(run, "test", name, source, fields, [TAG_CANDIDATE, TAG_SKIP])
            yield code_cell(cell, self._outputs(shown.observation), hidden=hidden)
        source = cell_markdown.judgement_markdown(id, round_, over=_over(run))
        ruling: Fields = {"judged": round_.judgement.ruling} if round_.judgement else {}
        fields = {"subtask": SOLUTION, "candidate": id, **ruling, **_selected(selected)}
        yield markdown_cell(run, "judgement", id, source, fields)


def _over(run: RunState) -> bool:
    return run.finished is not None


def _opening_cells(run: RunState) -> Iterator[Cell]:
    if run.started and run.started.task.setup:
        yield code_cell(new_cell(run, "setup", "task", run.started.task.setup, {"subtask": "task"}, []), ())
    yield markdown_cell(run, "plan", "", cell_markdown.plan_markdown(run), outcome_metadata(run))
    if run.opening_notices:
        yield markdown_cell(run, "notice", "", cell_markdown.notice_markdown(run.opening_notices), {})


def _solution_heading(run: RunState, heading: str) -> Cell:
    status = "exploring" if run.finished is None else "done" if final_solution(run) else "failed"
    return markdown_cell(run, "subtask", SOLUTION, heading, {"subtask": SOLUTION, "status": status})


def _result_cells(run: RunState, outputs: SanitizedOutputs | None) -> Iterator[Cell]:
    """Yield the solution; without `outputs` it shows none, because it is there to be run."""
    solution = final_solution(run)
    if solution is None:
        return
    fields: Fields = {"candidate": solution.candidate, **outcome_metadata(run), **_model(run)}
    if solution.patch:
        yield markdown_cell(run, "patch", "", cell_markdown.patch_markdown(solution.patch), fields)
        return
    observation = observation_of(run, solution)
    given: list[JsonValue] = [variable.name for variable in run.task.variables if variable.given]
    fields |= {"selected": True, **_seconds(observation), **({"given": given} if given else {})}
    cell = new_cell(run, "solution", "", solution.code, fields, [TAG_SOLUTION])
    yield code_cell(cell, outputs(observation) if outputs else ())


def _best_attempt(run: RunState, section: Section) -> Attempt | None:
    """Return the best attempt if there is no solution: the one that the run returned, else the last one."""
    returned = run.finished.solution if run.finished else None
    last = section.ordered[-1] if section.ordered else None
    return section.attempts.get(returned.candidate if returned else "", last)


def _candidate_cell(run: RunState, section: Section, attempt: Attempt, *, selected: bool | None) -> Cell:
    candidate, observation = attempt.candidate, attempt.observation
    given_up = run.finished is not None or section.was_skipped(attempt)
    fields: Fields = {
        "subtask": candidate.subtask,
        "candidate": candidate.id,
        "round": candidate.round,
        "status": observation.status if observation else "interrupted" if given_up else "running",
        **_selected(selected),
        **_seconds(observation),
        **_model(run),
    }
    tags = [TAG_CANDIDATE, TAG_SKIP, *([TAG_SELECTED] if selected else [])]
    return new_cell(run, "candidate", candidate.id, f"%%explored {candidate.id}\n{candidate.code}", fields, tags)


def _notice_cells(run: RunState, section: Section) -> Iterator[Cell]:
    if section.notices:
        source = cell_markdown.notice_markdown(section.notices)
        yield markdown_cell(run, "notice", section.id, source, {"subtask": section.id})


def _selected(selected: bool | None) -> Fields:
    return {} if selected is None else {"selected": selected}


def _seconds(observation: Observation | None) -> Fields:
    return {"seconds": round(observation.seconds, 3)} if observation else {}


def _model(run: RunState) -> Fields:
    return {"model": run.started.model} if run.started else {}
