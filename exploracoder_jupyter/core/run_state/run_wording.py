"""Words a run's state for people: what it is doing, its headline, its candidates, its cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.configuration.sections import EXPLORE, OFFLINE
from exploracoder_jupyter.core.events import FilesKept
from exploracoder_jupyter.core.messages import describe_tokens, describe_tries, one_line, plural
from exploracoder_jupyter.core.run_state.state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.types import Change, Outcome

OUTCOMES: dict[Outcome, str] = {
    "solved": "Solved",
    "unchecked": "Unchecked",
    "unsolved": "Unsolved",
    "stopped": "Stopped",
}
_OUTCOME_WORDS = {"ok": "ran", "error": "failed", "timeout": "timed out", "check failed": "ran, but its check failed"}
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"`([^`\n]+)`")
_SIZE = re.compile(r", (?:about )?[\d.,]+ (?:bytes?|[kMGT]i?B)\b")
_PLAIN_TYPES = frozenset(("int", "float", "bool", "str", "complex", "NoneType"))
_MAX_RESULTS = 6
_MAX_RESULT_LINES = 5
_MAX_NOTE = 160
"""How many characters of an error or reason are shown."""


def headline(state: RunState) -> str:
    """Return one line: the current activity, or how the run ended."""
    if state.failure:
        return state.failure
    if state.verdict:
        reason = state.verdict.reason
        return f"{OUTCOMES[state.verdict.outcome]}. {reason}".strip()
    return state.activity


def cost(state: RunState, now: float) -> str:
    """Return what was spent so far: time, calls, tokens, executions."""
    minutes, seconds = divmod(int(state.seconds(now)), 60)
    return f"{minutes} min {seconds} s, {describe_usage(state)}" if minutes else f"{seconds} s, {describe_usage(state)}"


def candidate_line(candidate: Attempt) -> str:
    """Describe one candidate in words: `2.1 failed: KeyError: 'x'`."""
    note = f": {cut(candidate.note)}" if candidate.note else ""
    return f"{candidate.id} {outcome_word(candidate)}{note}"


def describe(row: Section) -> str:
    """Describe a subtask's candidates in words: `5 tried: 3 ran, 1 failed, 1 duplicate; 2.1 carried forward`."""
    if not row.candidates:
        return ""
    text = f"{len(row.candidates)} tried: {tally(row.candidates)}"
    return f"{text}; {row.selected.id} {selection_word(row.selected)}" if row.selected else text


def describe_usage(state: RunState) -> str:
    """Describe the cost: `3 model calls, 1,234 tokens, 5 executions`; only executions for the offline model."""
    usage, executions = state.usage, plural(state.usage.executions, "execution")
    if state.model == OFFLINE:
        return executions
    return f"{plural(usage.calls, 'model call')}, {describe_tokens(usage)}, {executions}"


def tally(candidates: Sequence[Attempt]) -> str:
    """Count candidates by what has become of them: `2 ran, 1 failed`."""
    counts = Counter(outcome_word(candidate) for candidate in candidates)
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def selection_word(candidate: Attempt) -> str:
    """Describe how the selected candidate is used: a failed one is only experience, not the base of the next step."""
    if candidate.state == "not run":
        return "selected"
    return "carried forward" if candidate.state == "ok" else "kept as experience"


def outcome_word(candidate: Attempt) -> str:
    """Describe what has become of a candidate: `failed`."""
    return _OUTCOME_WORDS.get(candidate.state, candidate.state)


def footer(state: RunState, now: float, *, in_page: bool = False, tries: bool = True) -> str:
    """Describe what was tried and what it cost, with the model.

    A page shows the isolation, and the time while the run goes on, in its sidebar.
    """
    tried = describe_tries(*state.tries) if tries and state.tries[0] else ""
    spent = cost(state, now) if state.over or not in_page else describe_usage(state)
    expected = f"{state.estimate} expected" if state.estimate and not state.over else ""
    parts = [tried, spent, expected, state.model, "" if in_page else state.isolation]
    return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What a solution left in one variable that its task names."""

    name: str
    value: str
    """`= 5` of a plain value; of others what they are: `: 3 rows x 3 columns`."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table: its header and its first rows, as text."""
    lines: tuple[str, ...] = ()
    """Of other values: what else is known of them."""


def stored_results(state: RunState) -> list[StoredResult]:
    """Return what the solution left in the variables that the task names; empty unless a solution ran.

    Names in backticks are meant as names. Where a task has none, any of its words may be one.
    """
    attempt = state.solution_section.selected
    outcome = state.verdict.outcome if state.verdict else ""
    if outcome not in ("solved", "unchecked") or not (attempt and attempt.observation):
        return []
    text = state.task.text
    quoted = {name for span in _QUOTED.findall(text) for name in _IDENTIFIER.findall(span)}
    changes = [change for change in attempt.observation.changes if change.summary]
    named = [change for change in changes if change.name in quoted]
    named = named or [change for change in changes if change.name in {*_IDENTIFIER.findall(text)}]
    return [_stored(change) for change in named[:_MAX_RESULTS]]


def describe_results(state: RunState) -> str:
    """Describe the variables that the task names as the solution left them, so that a person can check them."""
    return "\n".join(_as_lines(result) for result in stored_results(state))


def _stored(change: Change) -> StoredResult:
    head, *lines = change.summary.splitlines()
    kind, _, value = head.partition(": ")
    if kind in _PLAIN_TYPES:
        return StoredResult(change.name, f" = {cut(value)}")
    value = _SIZE.sub("", value) or kind
    rows = tuple(_table_rows(lines))
    return StoredResult(change.name, f": {cut(value)}", rows, () if rows else tuple(line.strip() for line in lines))


def _table_rows(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield header and rows of the table in a summary; nothing if it has none, or its cells cannot be told apart."""
    start = next((place for place, line in enumerate(lines) if line.strip() in ("all rows:", "first rows:")), None)
    if start is None:
        return
    indent = len(lines[start]) - len(lines[start].lstrip()) + 1
    table = [line.strip() for line in takewhile(lambda line: line[:indent].isspace(), lines[start + 1 :])]
    rows = [tuple(row.split(" | ")) for row in table[: _MAX_RESULT_LINES + 1]]
    if rows and len(rows[-1]) < len(rows[0]) and rows[-1][-1].endswith("..."):
        rows.pop()  # where the whole summary was cut
    widest = max(map(len, rows), default=0)
    width = min(map(len, rows), default=0)
    # a long row is cut at its end; the columns that all rows have are left then
    if all(len(row) == widest or row[-1].endswith(" characters]") for row in rows):
        yield from (row[:width] for row in rows)


def _as_lines(result: StoredResult) -> str:
    shown = [*(" | ".join(row) for row in result.rows), *result.lines]
    kept = [f"  {cut(line)}" for line in shown[: _MAX_RESULT_LINES + bool(result.rows)]]
    return "\n".join([f"{result.name}{result.value}", *kept, *(["  ..."] if len(shown) > len(kept) else [])])


def describe_files(kept: FilesKept | None) -> str:
    """Describe where the files are that the solution wrote; empty if it wrote none."""
    if kept is None or not kept.files:
        return ""
    return f"The solution wrote {plural(len(kept.files), 'file')}, kept in {kept.folder}; see %explora files."


def trace_path(state: RunState, folder: Path | None) -> str:
    """Return the path of the trace, relative to the folder if it is below; empty without a trace."""
    path = Path(state.trace or "")
    return str(path.relative_to(folder)) if folder and path.is_relative_to(folder) else state.trace or ""


def section_status(row: Section, *, over: bool) -> str:
    """Return the status in words: `ran` for a subtask that is done, because its result was not verified."""
    if over and row.status == "exploring":
        return "not finished"
    return "ran" if row.status == "done" and row.id != SOLUTION else row.status


def latest(state: RunState) -> Attempt | None:
    """Return the candidate that ran last."""
    sections = state.sections.values()
    return next((found for section in sections if (found := section.attempts.get(state.last_observed))), None)


def cut(text: str) -> str:
    """Shorten an error or a reason to one line."""
    return one_line(text, _MAX_NOTE)


def describe_activity(state: RunState, event: events.Event) -> str:
    """Return what the run does after this event, in one sentence; empty if the event does not change that."""
    match event:
        case events.RunStarted():
            return "Reading the libraries."
        case events.Progress(what=what, done=done, total=total):
            return f"{what} ({done} of {total})" if total else f"{what} ({done})" if done else what
        case events.LibraryRead(apis=apis):
            return f"{plural(apis, 'API')} known{'; planning' if state.strategy == EXPLORE else ''}."
        case events.EffortChosen(effort=effort):
            return "Writing a whole program first." if effort == "direct" else "Planning."
        case events.PlanMade():
            return "Planned."
        case events.ReviewAsked():
            return "The plan is waiting for your review."
        case events.SubtaskStarted(subtask=id):
            return _describe_subtask(state, id)
        case events.Steered(what="retry" | "choose", subtask=id) if any(section.id == id for section in state.planned):
            return _describe_subtask(state, id)
        case events.CandidateProposed(candidate=candidate) if candidate.subtask == SOLUTION:
            return f"Trying solution {candidate.id}."
        case events.KnowledgeSearched(subject=subject, round=round_) if round_:
            return f"Repairing {subject} with the results of another search."
        case events.InputsInvented(inputs=inputs):
            return f"Testing the solution on {plural(len(inputs), 'generated input')}."
        case events.SolutionTested(candidate=id):
            return f"Judging the outputs of solution {id}."
        case events.SolutionJudged(candidate=id, judgement=judgement) if state.find(id)[1]:
            return f"Solution {id} is judged {judgement.summary}."
        case events.SubtaskFinished() if all(
            section.status not in ("planned", "exploring") for section in state.planned
        ):
            return "Writing the solution."  # no event announces this before it is done
        case _:
            return ""


def _describe_subtask(state: RunState, id: str) -> str:
    """Return the subtask's position and title; ids are never reused, so a position may differ from its id."""
    ids = [section.id for section in state.planned]
    position = ids.index(id) + 1 if id in ids else len(ids)
    count = f"{position} of {len(ids)}"
    title = state.sections[id].title if id in ids else ""
    return f"Subtask {count if id == str(position) else f'{id} ({count})'}: {title}"
