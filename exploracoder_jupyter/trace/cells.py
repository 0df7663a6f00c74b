"""Lays out a run as a list of cells, in a trace and in the user's notebook, and as changes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.messages import describe_tries
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.types import Observation, Output, Solution
from exploracoder_jupyter.protocol.browser_messages import CellChange
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.trace import markdown
from exploracoder_jupyter.trace.metadata import (
    NAMESPACE,
    SCHEMA_VERSION,
    TAG_CANDIDATE,
    TAG_SELECTED,
    TAG_SKIP,
    TAG_SOLUTION,
    Cell,
    Role,
)
from exploracoder_jupyter.trace.output_sanitizer import sanitize

# Builds single generated cells: their ids, metadata, hashes and outputs.

Fields: TypeAlias = dict[str, JsonValue]
"""The metadata of a cell beside what all cells have in common."""


def outcome_metadata(run: RunState) -> Fields:
    """Return how the run ended, or that it is running."""
    return {"status": run.finished.verdict.outcome if run.finished else "running"}


def markdown_cell(run: RunState, role: Role, part: str, source: str, fields: Fields) -> Cell:
    """Return a Markdown cell of the run."""
    return {**new_cell(run, role, part, source, fields, []), "cell_type": "markdown"}


def new_cell(run: RunState, role: Role, part: str, source: str, fields: Fields, tags: list[str]) -> Cell:
    """Return a cell of the run that has no type yet."""
    common: dict[str, JsonValue] = {"schema_version": SCHEMA_VERSION, "run_id": run.run_id, "role": role}
    source = encodable(source)
    metadata: dict[str, JsonValue] = {NAMESPACE: {**common, **fields, "source_hash": source_hash(source)}}
    if tags:
        metadata["tags"] = [*tags]
    return {"id": cell_id(run.run_id, role, part), "source": source, "metadata": metadata}


def append_item(cell: Cell, line: str) -> Cell:
    """Append an item to the list at the end of a generated Markdown cell."""
    return with_source(cell, f"{cell['source']}\n- {line}")


def with_source(cell: Cell, source: str) -> Cell:
    """Return the generated cell with another source."""
    metadata = as_dict(cell["metadata"])
    marked: JsonValue = {**as_dict(metadata[NAMESPACE]), "source_hash": source_hash(source)}
    return {**cell, "source": source, "metadata": {**metadata, NAMESPACE: marked}}


def cell_id(run_id: str, role: Role, part: str = "") -> str:
    """Return the id of a generated cell: letters, digits, `-` and `_`, at most 64 characters."""
    natural = "-".join(["explora", run_id, role, *([part.replace(".", "_")] if part else [])])
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", natural) and "_" not in part:
        return natural
    digest = blake2b(f"{run_id}\n{role}\n{part}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"explora-{role}-{digest}"


def source_hash(source: str) -> str:
    """Return a hash of a cell's source, as sixteen hexadecimal digits, which shows whether the cell was edited."""
    return blake2b(source.encode("utf-8", "replace"), digest_size=8).hexdigest()


def as_dict(value: JsonValue) -> dict[str, JsonValue]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def code_cell(cell: Cell, outputs: Iterable[Output], *, hidden: bool = False) -> Cell:
    """Make the cell a code cell with these outputs; `hidden`: whether source and outputs are collapsed."""
    if hidden:
        folded: dict[str, JsonValue] = {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "collapsed": True}
        cell["metadata"] = {**as_dict(cell["metadata"]), **folded}  # both forms are in use by front ends
    return {**cell, "cell_type": "code", "execution_count": None, "outputs": [*outputs]}


# The final solution of a run, and outputs as cells show them: complete, and sanitized once for each observation.


class SanitizedOutputs:
    """Sanitizes outputs, and caches them as long as it exists, because a cell is rendered many times."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[Observation, tuple[Output, ...]]] = {}
        """By the identity of the observation, which is kept here so that no other one gets its identity."""

    def __call__(self, observation: Observation | None) -> tuple[Output, ...]:
        """Return the sanitized outputs of an observation; none without one."""
        if observation is None:
            return ()
        if id(observation) not in self._cache:
            self._cache[id(observation)] = observation, sanitized_outputs(observation)
        return self._cache[id(observation)][1]


def sanitized_outputs(observation: Observation) -> tuple[Output, ...]:
    """Return the sanitized outputs of an observation, including its error, and the note of a failure."""
    return sanitize(_with_error_output(observation))


def _with_error_output(observation: Observation) -> list[Output]:
    """Return the outputs, with the error and the note of a failure added if the kernel could not send them."""
    outputs = list(observation.outputs)
    error = observation.error
    if error and not any(output.get("output_type") == "error" for output in outputs):
        trace = error.traceback.splitlines() or [error.headline]
        outputs.append({"output_type": "error", "ename": error.name, "evalue": error.message, "traceback": [*trace]})
    if observation.note and not observation.ran:
        outputs.append({"output_type": "stream", "name": "stderr", "text": f"[{observation.note}]\n"})
    return outputs


def final_solution(run: RunState) -> Solution | None:
    """Return the solution that is given to the user; `None` if it failed its check or did not run."""
    finished = run.finished
    if finished is None or finished.solution is None or finished.verdict.outcome == "unsolved":
        return None
    observation = observation_of(run, finished.solution)
    failed = observation and not observation.ran
    return None if failed or not finished.solution.code.strip() else finished.solution


def solution_outputs(run: RunState) -> tuple[Output, ...]:
    """Return what the final solution showed when it ran, sanitized; nothing if it was not run."""
    solution = final_solution(run)
    observation = observation_of(run, solution) if solution else None
    return sanitized_outputs(observation) if observation else ()


def observation_of(run: RunState, solution: Solution) -> Observation | None:
    """Return the observation of the solution's candidate, if it was run."""
    section = run.sections.get(SOLUTION)
    attempt = section.attempts.get(solution.candidate) if section else None
    return attempt.observation if attempt else None


# The cells of a run in the user's notebook, where they stand below the cell that called it.
#
# Everything that was tried stands under one heading, which says how much that was and collapses at the end of the
# run. The next heading of the same level ends it, so that collapsing hides no cell of the user; the solution
# follows there.

Cells = Literal["live", "collapsed", "card"]
"""How much of a run the notebook shows: all cells, open while it goes on; all, collapsed from the start; none."""

COLLAPSED = "jp-MarkdownHeadingCollapsed"
"""The key of JupyterLab in a cell's metadata for a heading that hides the cells below it."""


def tries_cell(run: RunState, cells: Cells) -> Cell:
    """Return the heading above everything that was tried."""
    tries, failed = run.tries
    title = describe_tries(tries, failed) if tries else "Exploration"
    cell = markdown_cell(run, "tries", "", f"### {title}", outcome_metadata(run))
    if run.finished or cells == "collapsed":
        cell["metadata"] = {**as_dict(cell["metadata"]), COLLAPSED: True}
    return cell


def adapt_cell(cell: Cell, caller: str) -> Cell:
    """Adapt a cell of a trace for the user's notebook.

    Headings move below that of the tries. Code cells are marked as trusted: their outputs are sanitized, and one
    untrusted cell would make the whole notebook untrusted. `collapsed` is dropped, because the front end writes it
    itself.
    """
    role, source = as_dict(as_dict(cell["metadata"])[NAMESPACE])["role"], str(cell["source"])
    if role in ("plan", "subtask") and source.startswith("#"):
        cell = with_source(cell, f"#{source}")
    metadata = {name: value for name, value in as_dict(cell["metadata"]).items() if name != "collapsed"}
    marked: dict[str, JsonValue] = {**metadata, NAMESPACE: {**as_dict(metadata[NAMESPACE]), "caller": caller}}
    return {**cell, "metadata": {**marked, "trusted": True} if cell["cell_type"] == "code" else marked}


# Lays out a run as a list of cells.
#
# The order is: the setup of the task, the plan, notices, then for each subtask a heading, its candidates by round
# and number, and its notices; at the end the solution and, in a trace, the summary. The results of a solution on
# generated inputs follow that solution. Cells of tried code start with `%%explored ID` and are tagged
# `skip-execution`, so that running the whole notebook skips them; a trace notebook loads that magic first. The
# setup and the solution are plain code. Cell ids depend only on the run and the cell's role in it, so the same run
# always gives the same cells.

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
        yield markdown_cell(run, "task", "", markdown.task_markdown(run), outcome_metadata(run))
        # without this package this cell fails before any candidate, which stops Run All
        yield code_cell(new_cell(run, "setup", "", f"%load_ext {NAMESPACE}", {}, [TAG_SKIP]), ())
        yield from _opening_cells(run)
        for subtask in run.subtasks:
            yield from self._cached_cells(run, subtask)
        if section := run.sections.get(SOLUTION):
            outcome = run.finished.verdict.outcome if run.finished and final_solution(run) else None
            yield _solution_heading(run, markdown.solution_markdown(section, outcome, run.files, over=_over(run)))
            yield from self._attempt_cells(run, section)
            yield from _result_cells(run, self._outputs)
            yield from _notice_cells(run, section)
        if run.finished:
            seconds = round(max(run.now - run.started_at, 0), 3)
            fields: Fields = {"status": run.finished.verdict.outcome, "seconds": seconds, **_model(run)}
            yield markdown_cell(run, "summary", "", markdown.summary_markdown(run, run.finished), fields)

    def _notebook_cells(self, run: RunState) -> Iterator[Cell]:
        yield from self._adapt([tries_cell(run, self._shown_cells), *_opening_cells(run)])
        for subtask in run.subtasks:
            yield from self._cached_cells(run, subtask)
        section = run.sections.get(SOLUTION)
        if section and section.attempts:
            yield from self._adapt([_solution_heading(run, markdown.attempts_markdown(section, over=_over(run)))])
            yield from self._adapt(self._attempt_cells(run, section))
        outcome = markdown.outcome_markdown(run, final_solution(run))
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
            heading = markdown.heading_markdown(section, over=_over(run))
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
            source = f"%%explored {name}\n{markdown.input_code(shown.given, id)}"
            cell = new_cell(run, "test", name, source, fields, [TAG_CANDIDATE, TAG_SKIP])
            yield code_cell(cell, self._outputs(shown.observation), hidden=hidden)
        source = markdown.judgement_markdown(id, round_, over=_over(run))
        ruling: Fields = {"judged": round_.judgement.ruling} if round_.judgement else {}
        fields = {"subtask": SOLUTION, "candidate": id, **ruling, **_selected(selected)}
        yield markdown_cell(run, "judgement", id, source, fields)


def _over(run: RunState) -> bool:
    return run.finished is not None


def _opening_cells(run: RunState) -> Iterator[Cell]:
    if run.started and run.started.task.setup:
        yield code_cell(new_cell(run, "setup", "task", run.started.task.setup, {"subtask": "task"}, []), ())
    yield markdown_cell(run, "plan", "", markdown.plan_markdown(run), outcome_metadata(run))
    if run.opening_notices:
        yield markdown_cell(run, "notice", "", markdown.notice_markdown(run.opening_notices), {})


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
        yield markdown_cell(run, "patch", "", markdown.patch_markdown(solution.patch), fields)
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
        source = markdown.notice_markdown(section.notices)
        yield markdown_cell(run, "notice", section.id, source, {"subtask": section.id})


def _selected(selected: bool | None) -> Fields:
    return {} if selected is None else {"selected": selected}


def _seconds(observation: Observation | None) -> Fields:
    return {"seconds": round(observation.seconds, 3)} if observation else {}


def _model(run: RunState) -> Fields:
    return {"model": run.started.model} if run.started else {}


# Converts the states of a run to changes of a notebook's cells.
#
# A `CellView` lays out the run's cells again for each state and returns the difference. Changes refer to cells by
# id and are idempotent: `insert` of an existing cell replaces it, `remove` of a missing one does nothing. The same
# changes build the trace, the live cells in the browser, and any other view of a run as cells.


class CellView:
    """The cells of one run.

    Args:
        anchor: id of the calling cell, after which the cells are inserted; each cell's metadata names it. Without an
            anchor the cells form a separate notebook: its first cell is the task, and its solution cell keeps the
            recorded outputs.
        show: which candidates get cells.
        cells: how much of the run the user's notebook shows as cells.
    """

    def __init__(self, anchor: str | None = None, show: Show = "all", cells: Cells = "live") -> None:
        self._anchor = anchor
        self._layout = Layout(show=show, caller=anchor, cells=cells)
        self._cells: dict[str, Cell] = {}

    @property
    def cells(self) -> list[Cell]:
        """All current cells of the run, in order, for a front end that missed changes."""
        return list(self._cells.values())

    def update(self, state: RunState) -> list[CellChange]:
        """Return the changes in the notebook from the last state to this one."""
        before = self._cells
        self._cells = {str(cell["id"]): cell for cell in self._layout.cells(state)}
        return list(self._difference(before))

    def _difference(self, before: dict[str, Cell]) -> Iterator[CellChange]:
        yield from (CellChange(action="remove", id=id) for id in before if id not in self._cells)
        after = self._anchor
        for id, cell in self._cells.items():
            old = before.get(id)
            if old is None:
                yield CellChange(action="insert", id=id, after=after, cell=cell)
            elif old is not cell and old != cell:
                yield CellChange(action="replace", id=id, after=after, cell=cell)
            after = id
