"""What a control means where the run is: it is refused with a reason, or told and carried out at once."""

from __future__ import annotations

from exploracoder_jupyter.core.events import Notice, PlanMade, Steered, SubtaskFinished
from exploracoder_jupyter.core.types import Plan, Subtask
from exploracoder_jupyter.pipeline.exploring.planning import clean_titles
from exploracoder_jupyter.pipeline.run_controls import Choose, Control, Replan, Retry, Skip
from exploracoder_jupyter.pipeline.run_loop import RunLoop
from exploracoder_jupyter.pipeline.run_plan import CHANGED_BY_USER

_MOST_SUBTASKS = 20
"""Of a plan that the user writes; more is no plan."""


class ControlHandler:
    """Takes the controls of a run."""

    def __init__(self, loop: RunLoop) -> None:
        self._loop = loop
        self._run = loop.run
        self._agenda = loop.run.agenda

    async def listen(self) -> None:
        """Take every control as it comes; one that cannot be carried out is answered by a notice."""
        while True:
            problem = self._take(await self._run.steering.next())
            if problem:
                self._run.emit(Notice(problem, "warning"))

    def _take(self, control: Control) -> str:
        """Carry a control out; why not, as a sentence, or nothing."""
        if self._loop.finished:
            return "The run is over: nothing was changed."
        if not self._loop.states:
            return "There is no plan yet: nothing was changed."
        if self._loop.reviewing and not isinstance(control, Replan):
            return "The plan waits for your word: nothing else is done before."
        match control:
            case Skip():
                return self._skip(control.subtask)
            case Retry():
                return self._retry(control.subtask, control.hint)
            case Choose():
                return self._choose(control.candidate)
            case Replan():
                return self._replan(clean_titles(control.titles))

    def _skip(self, subtask: str) -> str:
        position = self._position(subtask)
        if position is None:
            return f"There is no subtask {subtask} to skip."
        if position < self._loop.current or subtask in self._agenda.skipped:
            return f"Subtask {subtask} is over: it cannot be skipped."
        self._run.emit(Steered("skip", subtask))
        if position == self._loop.current:
            self._loop.skip_current()
        else:
            self._agenda.skipped.add(subtask)
        self._run.emit(SubtaskFinished(subtask, "skipped", "skipped by the user"))
        return ""

    def _retry(self, subtask: str, hint: str) -> str:
        position = self._begun(subtask)
        if position is None:
            return f"There is no subtask {subtask} that has begun: it cannot be explored again."
        self._run.emit(Steered("retry", subtask, hint=hint))
        self._loop.go_back_to(position)
        self._agenda.hints[subtask] = hint
        return ""

    def _choose(self, candidate: str) -> str:
        chosen = self._agenda.ran.get(candidate)
        if chosen is None:
            return f"Candidate {candidate} cannot be carried forward: there is none of this name that ran to its end."
        subtask = chosen.subtask.id
        position = self._begun(subtask)
        if position is None:
            return f"Candidate {candidate} cannot be carried forward: its subtask has not begun again."
        if chosen.candidate in [item.candidate for item in self._loop.states[-1].experience]:
            return f"Candidate {candidate} is carried forward already."
        self._run.emit(Steered("choose", subtask, candidate))
        self._loop.go_back_to(position)
        self._agenda.chosen[subtask] = chosen
        return ""

    def _replan(self, titles: list[str]) -> str:
        plan, begun = self._agenda.plan, 0 if self._loop.reviewing else self._loop.current + 1
        done, rest = plan.subtasks[:begun], plan.subtasks[begun:]
        planned = [subtask.title for subtask in rest]
        titles = titles if titles == planned else _drop_begun(done, titles)
        if not (done or titles):
            return "A plan has at least one subtask: nothing was changed."
        if len(done) + len(titles) > _MOST_SUBTASKS:
            return f"A plan has at most {_MOST_SUBTASKS} subtasks: nothing was changed."
        self._run.emit(Steered("replan"))
        if titles != planned:
            subtasks = (*done, *self._matched(rest, titles))
            if self._loop.reviewing:
                subtasks = self._agenda.renumber(subtasks)
            self._change(Plan(subtasks, plan.revision + 1))
        self._loop.end_review()
        return ""

    def _change(self, plan: Plan) -> None:
        solving = self._loop.current == len(self._agenda.plan.subtasks)
        self._agenda.plan, self._agenda.fixed = plan, True
        self._run.emit(PlanMade(plan, CHANGED_BY_USER))
        if solving:
            self._loop.restart_phase()

    def _matched(self, rest: tuple[Subtask, ...], titles: list[str]) -> list[Subtask]:
        """The subtasks of these titles: those that stay in their order keep their ids."""
        found: list[Subtask] = []
        left = list(rest)
        for title in titles:
            place = next((place for place, subtask in enumerate(left) if subtask.title == title), None)
            if place is None:
                found += self._agenda.new_subtasks([title])
            else:
                found.append(left[place])
                del left[: place + 1]
        return found

    def _position(self, subtask: str) -> int | None:
        ids = [item.id for item in self._agenda.plan.subtasks]
        return ids.index(subtask) if subtask in ids else None

    def _begun(self, subtask: str) -> int | None:
        """The position of a subtask that has begun, ended ones included."""
        position = self._position(subtask)
        return position if position is not None and position <= self._loop.current else None


def _drop_begun(done: tuple[Subtask, ...], titles: list[str]) -> list[str]:
    """The titles without those that began while the user was writing: they lead the list and are the last begun."""
    begun = [subtask.title for subtask in done]
    most = min(len(begun), len(titles))
    known = max(count for count in range(most + 1) if begun[len(begun) - count :] == titles[:count])
    return titles[known:]
