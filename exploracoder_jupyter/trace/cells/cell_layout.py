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

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, InputResult, InputRound, RunState, Section
from exploracoder_jupyter.core.types import Observation, Solution
from exploracoder_jupyter.trace.cells import cell_markdown
from exploracoder_jupyter.trace.cells.cell_building import code_cell, markdown_cell, new_cell
from exploracoder_jupyter.trace.cells.cell_metadata import (
    candidate_metadata,
    input_result_metadata,
    judgement_metadata,
    outcome_metadata,
    patch_metadata,
    solution_metadata,
    subtask_metadata,
    summary_metadata,
)
from exploracoder_jupyter.trace.cells.cell_outputs import SanitizedOutputs
from exploracoder_jupyter.trace.cells.notebook_cells import Cells, adapt_cell, outcome_cell, tries_cell
from exploracoder_jupyter.trace.final_solution import final_solution, observation_of
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
        return list(self._cells(run)) if run.started else []

    def _cells(self, run: RunState) -> Iterator[Cell]:
        if self._caller is None:
            yield from self._trace_cells(run)
        elif self._shown_cells != "card":
            yield from self._notebook_cells(run)

    def _trace_cells(self, run: RunState) -> Iterator[Cell]:
        yield markdown_cell(run, "task", "", cell_markdown.task_markdown(run), outcome_metadata(run))
        yield _setup_cell(run)
        yield from _opening_cells(run)
        for subtask in run.subtasks:
            yield from self._cached_cells(run, subtask)
        if section := run.sections.get(SOLUTION):
            yield _solution_heading(run, section)
            yield from _attempt_cells(run, section, self._show, self._outputs)
            yield from _result_cells(run, section, self._outputs)
            yield from _notice_cells(run, section)
        if run.finished:
            yield _summary_cell(run, run.finished)

    def _notebook_cells(self, run: RunState) -> Iterator[Cell]:
        yield from self._adapt([tries_cell(run, self._shown_cells), *_opening_cells(run)])
        for subtask in run.subtasks:
            yield from self._cached_cells(run, subtask)
        section = run.sections.get(SOLUTION)
        if section and section.attempts:
            yield from self._adapt([_attempts_heading(run, section)])
            yield from self._adapt(_attempt_cells(run, section, self._show, self._outputs))
        yield from self._adapt([outcome_cell(run, cell_markdown.outcome_markdown(run, final_solution(run)))])
        if section:
            yield from self._adapt(_result_cells(run, section, outputs=None))
            yield from self._adapt(_notice_cells(run, section))

    def _cached_cells(self, run: RunState, section: Section) -> list[Cell]:
        over, cached = run.finished is not None, self._cache.get(section.id)
        if cached and cached[0] is section and cached[1] is over:
            return cached[2]
        cells = list(self._adapt(_subtask_cells(run, section, self._show, self._outputs)))
        self._cache[section.id] = (section, over, cells)
        return cells

    def _adapt(self, cells: Iterable[Cell]) -> Iterable[Cell]:
        return cells if self._caller is None else (adapt_cell(cell, self._caller) for cell in cells)


def _opening_cells(run: RunState) -> Iterator[Cell]:
    if run.started and run.started.task.setup:
        yield code_cell(new_cell(run, "setup", "task", run.started.task.setup, {"subtask": "task"}, []), ())
    yield markdown_cell(run, "plan", "", cell_markdown.plan_markdown(run), outcome_metadata(run))
    if run.opening_notices:
        yield markdown_cell(run, "notice", "", cell_markdown.notice_markdown(run.opening_notices), {})


def _summary_cell(run: RunState, finished: RunFinished) -> Cell:
    source = cell_markdown.summary_markdown(run, finished)
    return markdown_cell(run, "summary", "", source, summary_metadata(run, finished))


def _setup_cell(run: RunState) -> Cell:
    """Return the cell that registers `%%explored`.

    Without this package it fails before any candidate, which stops Run All.
    """
    return code_cell(new_cell(run, "setup", "", f"%load_ext {NAMESPACE}", {}, [TAG_SKIP]), ())


def _subtask_cells(run: RunState, section: Section, show: Show, outputs: SanitizedOutputs) -> Iterator[Cell]:
    id = section.id
    if section.started and show != "none":
        heading = cell_markdown.heading_markdown(section, over=run.finished is not None)
        yield markdown_cell(run, "subtask", id, heading, subtask_metadata(id, section.status))
        for attempt in section.ordered:
            carried = section.is_carried_forward(attempt)
            if attempt.has_cell and (carried or show == "all"):
                cell = _candidate_cell(run, section, attempt, selected=carried)
                yield code_cell(cell, outputs(attempt.observation), hidden=carried is False)
    yield from _notice_cells(run, section)


def _solution_heading(run: RunState, section: Section) -> Cell:
    outcome = run.finished.verdict.outcome if run.finished and final_solution(run) else None
    heading = cell_markdown.solution_markdown(section, outcome, run.files, over=run.finished is not None)
    return _heading_of_solution(run, heading)


def _attempts_heading(run: RunState, section: Section) -> Cell:
    return _heading_of_solution(run, cell_markdown.attempts_markdown(section, over=run.finished is not None))


def _heading_of_solution(run: RunState, heading: str) -> Cell:
    status = "exploring" if run.finished is None else "done" if final_solution(run) else "failed"
    return markdown_cell(run, "subtask", SOLUTION, heading, subtask_metadata(SOLUTION, status))


def _attempt_cells(run: RunState, section: Section, show: Show, outputs: SanitizedOutputs) -> Iterator[Cell]:
    """Yield the attempts at a solution but the final one, and what the attempts did on generated inputs."""
    solution = final_solution(run)
    best = None if solution and not solution.patch else _best_attempt(run, section)
    patched = solution.candidate if solution and solution.patch else ""
    for attempt in section.ordered:
        final = solution is not None and attempt.id == solution.candidate and not solution.patch
        if attempt.has_cell and not final and (show == "all" or attempt is best):
            selected = patched == attempt.id if run.finished else section.is_carried_forward(attempt)
            cell = _candidate_cell(run, section, attempt, selected=selected)
            yield code_cell(cell, outputs(attempt.observation), hidden=attempt is not best)
        if show == "all" or (show == "selected" and final):
            yield from _round_cells(run, section, attempt, outputs, selected=final if run.finished else None)


def _result_cells(run: RunState, section: Section, outputs: SanitizedOutputs | None) -> Iterator[Cell]:
    """Yield the solution; without `outputs` it shows none, because it is there to be run."""
    solution = final_solution(run)
    if solution and solution.patch:
        source = cell_markdown.patch_markdown(solution.patch)
        yield markdown_cell(run, "patch", "", source, patch_metadata(run, solution))
    elif solution:
        observation = observation_of(section, solution)
        cell = _solution_cell(run, solution, observation)
        yield code_cell(cell, outputs(observation) if outputs else ())


def _best_attempt(run: RunState, section: Section) -> Attempt | None:
    """Return the best attempt if there is no solution: the one that the run returned, else the last one."""
    returned = run.finished.solution if run.finished else None
    last = section.ordered[-1] if section.ordered else None
    return section.attempts.get(returned.candidate if returned else "", last)


def _round_cells(
    run: RunState, section: Section, attempt: Attempt, outputs: SanitizedOutputs, *, selected: bool | None
) -> Iterator[Cell]:
    """Yield a cell for each result of a solution on generated inputs, and one for their judgement."""
    id = attempt.id
    round_ = section.rounds.get(id)
    if round_ is None:
        return
    latest = id == list(section.rounds)[-1]
    hidden = not selected if run.finished else not latest
    for shown in round_.shown:
        cell = _test_cell(run, attempt, round_, shown, selected=selected)
        yield code_cell(cell, outputs(shown.observation), hidden=hidden)
    source = cell_markdown.judgement_markdown(id, round_, over=run.finished is not None)
    yield markdown_cell(run, "judgement", id, source, judgement_metadata(id, round_, selected=selected))


def _test_cell(
    run: RunState, attempt: Attempt, round_: InputRound, shown: InputResult, *, selected: bool | None
) -> Cell:
    candidate, given = attempt.candidate, shown.given
    fields = input_result_metadata(run, candidate, round_, shown, selected=selected)
    source = f"%%explored {candidate.id}-{given.id}\n{cell_markdown.input_code(given, candidate.id)}"
    return new_cell(run, "test", f"{candidate.id}-{given.id}", source, fields, [TAG_CANDIDATE, TAG_SKIP])


def _candidate_cell(run: RunState, section: Section, attempt: Attempt, *, selected: bool | None) -> Cell:
    candidate = attempt.candidate
    fields = candidate_metadata(run, section, attempt, selected=selected)
    tags = [TAG_CANDIDATE, TAG_SKIP, *([TAG_SELECTED] if selected else [])]
    source = f"%%explored {candidate.id}\n{candidate.code}"
    return new_cell(run, "candidate", candidate.id, source, fields, tags)


def _solution_cell(run: RunState, solution: Solution, observation: Observation | None) -> Cell:
    return new_cell(run, "solution", "", solution.code, solution_metadata(run, solution, observation), [TAG_SOLUTION])


def _notice_cells(run: RunState, section: Section) -> Iterator[Cell]:
    if section.notices:
        id = section.id
        yield markdown_cell(run, "notice", id, cell_markdown.notice_markdown(section.notices), {"subtask": id})
