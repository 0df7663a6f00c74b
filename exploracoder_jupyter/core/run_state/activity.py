"""Words what a run is doing, as each event of it shows."""

from __future__ import annotations

from exploracoder_jupyter.core import events
from exploracoder_jupyter.core.configuration.exploration_settings import EXPLORE
from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.core.run_state.state import SOLUTION, RunState


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
