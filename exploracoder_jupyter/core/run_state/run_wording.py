"""Words a run's state for people: what it is doing, its headline, its candidates, its cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.configuration.sections import EXPLORE, OFFLINE
from exploracoder_jupyter.core.events import FilesKept
from exploracoder_jupyter.core.messages import describe_tokens, describe_tries, one_line, plural
from exploracoder_jupyter.core.run_state.state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.types import Outcome

OUTCOMES: dict[Outcome, str] = {
    "solved": "Solved",
    "unchecked": "Unchecked",
    "unsolved": "Unsolved",
    "stopped": "Stopped",
}
_OUTCOME_WORDS = {"ok": "ran", "error": "failed", "timeout": "timed out", "check failed": "ran, but its check failed"}
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
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


def describe_results(state: RunState) -> str:
    """Describe the variables that the task names as an unchecked solution left them, so that a person can check them.

    Empty for any other verdict: a check has looked at them, or there is nothing to look at.
    """
    attempt = state.solution_section.selected
    if not (state.verdict and state.verdict.outcome == "unchecked" and attempt and attempt.observation):
        return ""
    named = {*_IDENTIFIER.findall(state.task.text)}
    changes = [change for change in attempt.observation.changes if change.name in named and change.summary]
    return "\n".join(f"{change.name}: {_first_lines(change.summary)}" for change in changes[:_MAX_RESULTS])


def _first_lines(summary: str) -> str:
    lines = summary.splitlines()
    kept = [cut(line) if place == 0 else f"  {cut(line)}" for place, line in enumerate(lines[:_MAX_RESULT_LINES])]
    return "\n".join([*kept, *(["  ..."] if len(lines) > _MAX_RESULT_LINES else [])])


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
