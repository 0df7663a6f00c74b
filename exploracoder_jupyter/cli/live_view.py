"""A run on standard error: as a live view on a terminal, or as lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.messages import one_line, plural
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, CandidateState, RunState, Section, fold
from exploracoder_jupyter.core.run_state.run_wording import describe_usage
from exploracoder_jupyter.core.types import Candidate, Exchange, Observation, Plan, Status, SubtaskStatus
from exploracoder_jupyter.text.characters import printable

# The live view on a terminal: the plan with its statuses, candidates with their outcomes, cost and time.
#
# Rich redraws it a few times per second in a separate thread, which is safe because a state is never mutated, only
# replaced. Color is never the only carrier of information.

_STATUS_STYLES: dict[SubtaskStatus, tuple[str, str]] = {
    "planned": ("·", "dim"),
    "exploring": ("▸", "bold cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("–", "yellow"),
}
_OUTCOME_STYLES: dict[CandidateState, tuple[str, str]] = {
    "running": ("…", "cyan"),
    "not finished": ("not finished", "yellow"),
    "not run": ("not run", "dim"),
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "check failed": ("check failed", "red"),
    "timeout": ("timeout", "red"),
    "died": ("died", "red"),
    "interrupted": ("interrupted", "yellow"),
    "duplicate": ("same", "dim"),
    "no code": ("no code", "dim"),
}


class _PipeSafeConsole(Console):
    def on_broken_pipe(self) -> None:
        """Stop printing; the run continues."""
        self.quiet = True


class LiveView:
    """Context manager that displays a run on standard error."""

    def __init__(self) -> None:
        self._state = RunState()
        self._live = Live(
            get_renderable=lambda: render_view(self._state, now=time.time()),
            console=_PipeSafeConsole(stderr=True),
            refresh_per_second=5,
            redirect_stdout=False,
        )

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def __call__(self, record: Record) -> None:
        """Add a record, to be displayed at the next refresh."""
        self._state = fold(self._state, record)


def render_view(state: RunState, *, now: float) -> RenderableType:
    """Render the state of the run at `now`, in seconds since the epoch."""
    about = (state.task.subject, state.model, state.isolation)
    parts: list[RenderableType] = [Text(printable("  ".join(part for part in about if part)), style="dim")]
    parts += [Text(printable(notice.text), style="yellow") for notice in state.notices[-3:]]
    if state.shown_sections:
        parts.append(_render_table(state.shown_sections, over=state.over))
    return Group(*parts, _render_footer(state, now))


def _render_table(rows: Sequence[Section], *, over: bool) -> Table:
    table = Table.grid(padding=(0, 1))
    for row in rows:
        symbol, style = _STATUS_STYLES[row.status]
        name = printable(_row_title(row, over=over))
        table.add_row(Text(symbol, style), Text(name, style if row.status == "exploring" else ""))
        if row.candidates:
            table.add_row("", _render_candidates(row))
    return table


def _row_title(row: Section, *, over: bool) -> str:
    title = row.title if row.id == SOLUTION else f"{row.id}. {row.title}"
    if over and row.status == "exploring":
        return f"{title} (not finished)"
    return title if row.status in ("planned", "exploring") else f"{title} ({row.status})"


def _render_candidates(row: Section) -> Text:
    text = Text()
    for candidate in row.candidates:
        symbol, style = _OUTCOME_STYLES[candidate.state]
        selected = candidate is row.selected
        text.append(f"{candidate.id} {symbol}", f"bold {style}" if selected else style)
        text.append(" carried forward  " if selected else "  ")
    return text if row.selected else text.append(_last_problem(row.candidates), "dim")


def _last_problem(candidates: tuple[Attempt, ...]) -> str:
    problems = [
        candidate.note for candidate in candidates if candidate.note and candidate.state not in ("duplicate", "no code")
    ]
    return printable(problems[-1].splitlines()[0])[:100] if problems else ""


def _render_footer(state: RunState, now: float) -> Text:
    minutes, seconds = divmod(int(state.seconds(now)), 60)
    parts = [printable(state.activity), f"{describe_usage(state)}, {minutes}:{seconds:02d}"]
    if not state.over:
        parts += [str(state.estimate or ""), "Ctrl-C stops"]
    return Text("  ".join(part for part in parts if part), style="dim")


# Formats each event as one line of plain text, for a standard error that is not a terminal.

_STATUS_VERBS: dict[Status, str] = {
    "ok": "ran",
    "error": "failed",
    "timeout": "timed out",
    "died": "lost its kernel",
    "interrupted": "was interrupted",
}

_MAX_TITLE = 120
_INTERRUPTED = "interrupted"
"""The `problem` of a model request that was abandoned because the run ended."""


class EventLines:
    """Takes records in order and writes a line for each noteworthy one."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._started_at: float | None = None
        self._titles: dict[str, str] = {}
        self._problems: set[str] = set()

    def __call__(self, record: events.Record) -> None:
        """Handle the next record."""
        self._started_at = record.at if self._started_at is None else self._started_at
        text = _describe_event(record.event, self._titles)
        if isinstance(record.event, events.PlanMade):
            self._titles |= {subtask.id: subtask.title for subtask in record.event.plan.subtasks}
        if text and self._is_new(record.event):
            self._write(f"[{record.at - self._started_at:6.1f}s] {' '.join(printable(text).split())}")

    def _is_new(self, event: events.Event) -> bool:
        """Return whether the event has no problem or a new one, so that a recurring problem is reported only once."""
        problem: str | None = ""
        if isinstance(event, events.ModelCalled):
            problem = event.exchange.problem
        elif isinstance(event, events.CandidateProposed):
            problem = event.candidate.problem
        known = problem in self._problems
        if problem:
            self._problems.add(problem)
        return not known


def _describe_event(event: events.Event, titles: Mapping[str, str]) -> str | None:
    match event:
        case events.RunStarted():
            return f"Model: {event.model}. Isolation: {event.environment.confinement}."
        case events.Progress():
            return f"{event.what}." if event.done == 0 else None
        case events.Notice():
            return event.text
        case events.LibraryRead():
            if not event.libraries:
                return None
            names = ", ".join(library.titled for library in event.libraries)
            return f"Read {names}: {plural(event.apis, 'API')}."
        case events.Estimated():
            return f"Expected cost: {event}."
        case events.PlanMade():
            return _describe_plan(event.plan, event.reason, titles)
        case events.SubtaskStarted():
            return f"Subtask {event.subtask}: {one_line(titles.get(event.subtask, ''), _MAX_TITLE)}"
        case events.CandidateProposed():
            return _describe_proposal(event.candidate)
        case events.CandidateObserved():
            return _describe_observation(event.candidate, event.observation)
        case events.CandidateSelected():
            reasons = "; ".join(event.selection.reasons)
            return f"Candidate {event.selection.candidate} is carried forward: {reasons}."
        case events.SubtaskFinished():
            return f"Subtask {event.subtask} {event.status}{': ' if event.reason else '.'}{event.reason}"
        case events.EffortChosen():
            return event.reason
        case events.ReviewAsked():
            return "The plan is waiting for review."
        case events.Steered():
            return _describe_steering(event)
        case events.ModelCalled():
            return _describe_reply(event.exchange)
        case events.KnowledgeSearched():
            return _describe_search(event) if event.round else None
        case events.LookedUp():
            return f"Looked up: {event.argument or event.tool}"
        case events.FilesKept():
            return (
                f"The solution wrote {plural(len(event.files), 'file')}, kept in {event.folder}."
                if event.files
                else None
            )
        case events.InputsInvented():
            return f"Generated inputs for testing solutions: {'; '.join(item.title for item in event.inputs)}."
        case events.SolutionTested():
            ran = sum(item.observation.ran for item in event.results)
            inputs = plural(len(event.results), "generated input")
            return f"Solution {event.candidate} ran to its end on {ran} of {inputs}."
        case events.SolutionJudged():
            return f"Solution {event.candidate} was judged {event.judgement.summary}."
        case events.RunFinished():
            return None  # the command itself prints the verdict or the error at the end


def _describe_search(event: events.KnowledgeSearched) -> str:
    found = [*event.apis[:3], *(f"“{item.title}”" for item in event.passages[:2])]
    result = f"found {', '.join(found)}" if found else "found nothing"
    return f"Searched again after {event.subject} ({event.made_of}): {result}."


def _describe_steering(event: events.Steered) -> str:
    what = {
        "skip": f"skip subtask {event.subtask}",
        "retry": f"explore subtask {event.subtask} again",
        "choose": f"continue from candidate {event.candidate}",
        "replan": "change the plan",
        "edit": f"run candidate {event.candidate} as edited",
    }
    return f"User request: {what[event.what]}{f' ({event.hint})' if event.hint else ''}."


def _describe_reply(exchange: Exchange) -> str | None:
    """Describe a problem with replies. Without replies, the run was stopped, or ends with an error shown later."""
    is_reported = exchange.replies and exchange.problem not in ("", _INTERRUPTED)
    return f"The model's reply had a problem: {exchange.problem}" if is_reported else None


def _describe_plan(plan: Plan, reason: str, known: Mapping[str, str]) -> str:
    """Describe a plan with full titles; a subtask whose title is already known is listed only by its id."""
    unchanged = [subtask.id for subtask in plan.subtasks if known.get(subtask.id) == subtask.title]
    steps = [f"{', '.join(unchanged)} as before"] if unchanged else []
    steps += [f"{subtask.id} {subtask.title}" for subtask in plan.subtasks if subtask.id not in unchanged]
    return f"{'Plan revised' if plan.revision else 'Plan'}{f' ({reason})' if reason else ''}: {'; '.join(steps)}"


def _describe_proposal(candidate: Candidate) -> str | None:
    """Describe a candidate that will not run; the others are described after they have run."""
    if candidate.problem:
        return f"Candidate {candidate.id} has no code: {candidate.problem}"
    return f"Candidate {candidate.id} is the same as {candidate.duplicate_of}." if candidate.duplicate_of else None


def _describe_observation(candidate: str, observation: Observation) -> str:
    reason = observation.error.headline if observation.error else observation.note
    ending = f": {reason}" if reason and not observation.ran else "."
    return f"Candidate {candidate} {_STATUS_VERBS[observation.status]}{ending}"
