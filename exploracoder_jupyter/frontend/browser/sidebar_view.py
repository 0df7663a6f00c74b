"""The view of a run for the sidebar: a pure function from `panel_state.State` to `browser_messages.RunView`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.frontend.jupyter_server import Reach
from exploracoder_jupyter.frontend.panel.panel_html import headline
from exploracoder_jupyter.frontend.panel.panel_state import CandidateRow, State, SubtaskRow
from exploracoder_jupyter.protocol.browser_messages import ApiView, CandidateView, RunStatus, RunView, SubtaskView

_MAX_DOC = 600
_MAX_LINE = 300


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the kernel knows about a run besides its records."""

    key: str
    cell: str | None
    """Id of the calling cell."""
    folder: Path | None
    """The notebook's folder."""
    origin: str = ""
    """A description of the run, if it continues another one."""
    owner: str = ""
    """Id of the page that changes the cells."""
    stopping: bool = False
    """Whether the run was asked to stop."""
    root: Path | None = None
    """The server's root folder, if known: files below it can be opened from any notebook."""


def run_view(state: State, context: RunContext) -> RunView:
    """Return the run as the sidebar shows it."""
    return RunView(
        key=context.key,
        run_id=state.run_id,
        cell=context.cell,
        owner=context.owner,
        status=_status(state, stopping=context.stopping),
        task=state.task,
        origin=context.origin,
        libraries=[*state.libraries],
        model=state.model,
        isolation=state.isolation,
        activity="Stopping." if context.stopping and not state.over else headline(state),
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
        trace_link=relative_link(context.folder, state.trace, context.root),
    )


def relative_link(folder: Path | None, path: str | None, root: Path | None = None) -> str:
    """Return the path relative to the folder, with `/`.

    Returns an empty string if folder or path is unknown, or if the path is neither below the folder nor below the
    server's root.
    """
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
        candidates=[_candidate(candidate, selectable=selectable) for candidate in row.candidates],
        selected=row.selected,
        why=[*row.why],
    )


def _apis(row: SubtaskRow) -> list[ApiView]:
    """Return the recommended APIs, followed by the other APIs that the selected candidate calls."""
    chosen = next((candidate for candidate in row.candidates if candidate.id == row.selected), None)
    used = chosen.apis if chosen else ()
    known = {api.path for api in row.apis}
    others = [ApiView(path=path, recommended=False, used=True) for path in used if path not in known]
    return [*(_api(api, used=api.path in used) for api in row.apis), *others]


def _api(api: ApiDoc, *, used: bool) -> ApiView:
    first = " ".join(api.description.strip().split("\n\n", 1)[0].split())
    text = f"Deprecated: {api.deprecated} {first}" if api.deprecated else first
    return ApiView(path=api.path, kind=api.kind, signature=api.signature, doc=_cut(text, _MAX_DOC), used=used)


def _candidate(row: CandidateRow, *, selectable: bool) -> CandidateView:
    return CandidateView(
        id=row.id,
        round=row.round,
        repairs=row.repairs,
        status=row.state,
        seconds=row.seconds,
        line=_cut(row.note or row.judged or row.shown, _MAX_LINE),
        selectable=selectable and row.state == "ok",
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
