"""A run's state as the sidebar is sent it: a pure function from `panel_state.State` to `page.RunView`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.frontend.jupyter_server import Reach
from exploracoder_jupyter.frontend.panel.panel_html import headline
from exploracoder_jupyter.frontend.panel.panel_state import CandidateRow, State, SubtaskRow
from exploracoder_jupyter.protocol.browser_messages import ApiView, CandidateView, RunStatus, RunView, SubtaskView

_MOST_DOC = 600
_MOST_LINE = 300


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the kernel knows of a run besides its records."""

    key: str
    cell: str | None
    """Id of the calling cell."""
    folder: Path | None
    """The notebook's."""
    origin: str = ""
    """What the run is, if it goes on from another."""
    owner: str = ""
    """Id of the page that changes cells."""
    stopping: bool = False
    """Whether its end was asked for."""
    root: Path | None = None
    """The server's folder, where that is known: files below it can be opened from any notebook."""


def run_view(state: State, place: RunContext) -> RunView:
    """The run as the sidebar shows it."""
    return RunView(
        key=place.key,
        run_id=state.run_id,
        cell=place.cell,
        owner=place.owner,
        status=_status(state, stopping=place.stopping),
        task=state.task,
        origin=place.origin,
        libraries=[*state.libraries],
        model=state.model,
        isolation=state.isolation,
        activity="Stopping." if place.stopping and not state.over else headline(state),
        started=state.started,
        ended=_ended(state),
        waited=state.waited,
        waiting_since=state.waiting_since,
        estimate=state.estimate,
        calls=state.usage.calls,
        tokens=state.usage.tokens,
        executions=state.usage.executions,
        budget_tokens=state.budget_tokens,
        budget_seconds=state.budget_seconds,
        subtasks=[_subtask(row) for row in state.subtasks],
        solution=_subtask(state.solution_row, selectable=False) if state.solution_row.candidates else None,
        code=state.solution,
        notices=[*state.notices],
        trace=state.trace or "",
        trace_link=relative_link(place.folder, state.trace, place.root),
    )


def relative_link(folder: Path | None, path: str | None, root: Path | None = None) -> str:
    """The path relative to the folder, with `/`; empty where one is unknown, or the path is neither below the folder
    nor below the server's root."""
    try:
        return Reach(folder, root).link(path) if path else ""
    except OSError:
        return ""


def _ended(state: State) -> float | None:
    if not state.over or state.started is None:
        return state.last if state.over else None
    return state.started + state.waited + state.seconds(state.last or state.started)


def _status(state: State, *, stopping: bool) -> RunStatus:
    if state.verdict and not state.failure:
        return state.verdict.outcome
    if state.failure:
        return "stopped" if stopping else "failed"
    if stopping:
        return "stopping"
    if state.reviewing:
        return "reviewing"
    return "running" if state.run_id else "starting"


def _subtask(row: SubtaskRow, *, selectable: bool = True) -> SubtaskView:
    return SubtaskView(
        id=row.id,
        title=row.title,
        status=row.status,
        reason=row.reason,
        hint=row.hint,
        apis=_apis(row),
        candidates=[_candidate(one, selectable=selectable) for one in row.candidates],
        selected=row.selected,
        why=[*row.why],
    )


def _apis(row: SubtaskRow) -> list[ApiView]:
    """Those recommended, then what else the selected candidate calls."""
    chosen = next((one for one in row.candidates if one.id == row.selected), None)
    used = chosen.apis if chosen else ()
    known = {api.path for api in row.apis}
    others = [ApiView(path=path, recommended=False, used=True) for path in used if path not in known]
    return [*(_api(api, used=api.path in used) for api in row.apis), *others]


def _api(api: ApiDoc, *, used: bool) -> ApiView:
    first = " ".join(api.description.strip().split("\n\n", 1)[0].split())
    said = f"Deprecated: {api.deprecated} {first}" if api.deprecated else first
    return ApiView(path=api.path, kind=api.kind, signature=api.signature, doc=_cut(said, _MOST_DOC), used=used)


def _candidate(row: CandidateRow, *, selectable: bool) -> CandidateView:
    return CandidateView(
        id=row.id,
        round=row.round,
        repairs=row.repairs,
        status=row.state,
        seconds=row.seconds,
        line=_cut(row.note or row.judged or row.shown, _MOST_LINE),
        selectable=selectable and row.state == "ok",
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
