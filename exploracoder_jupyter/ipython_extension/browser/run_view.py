"""The view of a run for the sidebar: a pure function from `RunState` to `browser_messages.RunView`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.message_formatting import describe_cost, money
from exploracoder_jupyter.core.run_state import Attempt, InputRound, RunState, Section
from exploracoder_jupyter.core.run_state.run_wording import headline
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach
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
    cells: bool = True
    """Whether a page shows the run as cells."""
    patched: bool = False
    """Whether the run's patch was applied to its repository."""
    root: Path | None = None
    """The server's root folder, if known: files below it can be opened from any notebook."""


def run_view(state: RunState, context: RunContext) -> RunView:
    """Return the run as the sidebar shows it."""
    solution, limits = state.solution_section, _limits(state)
    tokens, seconds = limits.get("tokens"), limits.get("seconds")
    return RunView(
        key=context.key,
        run_id=state.run_id,
        cell=context.cell,
        owner=context.owner,
        status=_status(state, stopping=context.stopping),
        task=state.task.text,
        setup=state.task.setup,
        origin=context.origin,
        libraries=[*state.task.libraries],
        model=state.model,
        isolation=state.isolation,
        activity="Stopping." if context.stopping and not state.over else headline(state),
        started=state.since,
        ended=_ended(state),
        waited=state.waited,
        waiting_since=state.waiting_since,
        estimate=str(state.estimate or ""),
        calls=state.usage.calls,
        tokens=state.usage.tokens,
        executions=state.usage.executions,
        cost=_money(state),
        budget_tokens=tokens if isinstance(tokens, int) else None,
        budget_seconds=float(seconds) if isinstance(seconds, int | float) else None,
        may_explore_now=state.may_explore_now,
        subtasks=[_subtask(section) for section in state.planned],
        solution=_subtask(solution, selectable=False) if solution.candidates else None,
        code=state.offered_solution,
        patch="" if not state.patch else "applied" if context.patched else "ready",
        notices=[notice.text for notice in state.notices],
        trace=state.trace or "",
        trace_link=relative_link(context.folder, state.trace, context.root),
    )


def relative_link(folder: Path | None, path: str | None, root: Path | None = None) -> str:
    """Return the path relative to the folder, with `/`; empty if it is below neither the folder nor the root."""
    try:
        return Reach(folder, root).link(path) if path else ""
    except OSError:
        return ""


def _ended(state: RunState) -> float | None:
    if not state.over or state.since is None:
        return (state.now or None) if state.over else None
    return state.since + state.waited + state.seconds(state.now)


def _limits(state: RunState) -> dict[str, JsonValue]:
    budget = state.started.settings.get("budget") if state.started else None
    return budget if isinstance(budget, dict) else {}


def _money(state: RunState) -> str:
    usage, limit = state.usage, _limits(state).get("cost")
    parts = [f"{usage.cached_tokens:,} tokens cached"] if usage.cached_tokens else []
    if usage.cost is not None:
        end = f" of {money(limit, usage.currency)}" if isinstance(limit, int | float) and limit else ""
        parts.insert(0, f"{describe_cost(usage.cost, usage.currency)}{end}")
    return ", ".join(parts)


def _status(state: RunState, *, stopping: bool) -> RunStatus:
    if state.verdict and not state.failure:
        return state.verdict.outcome
    if state.failure:
        return "stopped" if stopping else "failed"
    if stopping:
        return "stopping"
    if state.reviewing:
        return "reviewing"
    return "running" if state.run_id else "starting"


def _subtask(row: Section, *, selectable: bool = True) -> SubtaskView:
    used = row.selected.apis if row.selected else ()
    known = {api.path for api in row.apis}
    others = [ApiView(path=path, recommended=False, used=True) for path in used if path not in known]
    return SubtaskView(
        id=row.id,
        title=row.title,
        status=row.status,
        reason=row.reason,
        hint=row.hint,
        apis=[*(_api(api, used=api.path in used) for api in row.apis), *others],
        candidates=[_candidate(one, row.rounds, selectable=selectable) for one in row.candidates],
        selected=row.selection.candidate if row.selection else None,
        why=[*row.selection.reasons] if row.selection else [],
    )


def _api(api: ApiDoc, *, used: bool) -> ApiView:
    first = " ".join(api.description.strip().split("\n\n", 1)[0].split())
    text = f"Deprecated: {api.deprecated} {first}" if api.deprecated else first
    return ApiView(path=api.path, kind=api.kind, signature=api.signature, doc=_cut(text, _MAX_DOC), used=used)


def _candidate(attempt: Attempt, rounds: Mapping[str, InputRound], *, selectable: bool) -> CandidateView:
    judged = rounds[attempt.id].judgement if attempt.id in rounds else None
    shown = attempt.observation.text.strip() if attempt.observation else ""
    first = shown.splitlines()[0].strip() if shown else ""
    line = attempt.note or (f"judged {judged.summary}" if judged else first)
    return CandidateView(
        id=attempt.id,
        round=attempt.candidate.round,
        repairs=attempt.candidate.repairs,
        status=attempt.state,
        seconds=attempt.observation.seconds if attempt.observation else None,
        line=_cut(line, _MAX_LINE),
        selectable=selectable and attempt.state == "ok",
        apis=[*attempt.apis],
        edits=attempt.candidate.edits,
        agrees_with=attempt.agrees_with,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
