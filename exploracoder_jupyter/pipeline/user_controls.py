"""Applies user controls to the running pipeline, or refuses them with a reason."""

from __future__ import annotations

from functools import partial

from exploracoder_jupyter.core.errors import BudgetExceeded
from exploracoder_jupyter.core.events import EffortChosen, Notice, PlanMade, Steered, SubtaskFinished
from exploracoder_jupyter.core.types import Plan, Subtask
from exploracoder_jupyter.pipeline.exploring.carried_candidate import run_edited
from exploracoder_jupyter.pipeline.exploring.planning import clean_titles
from exploracoder_jupyter.pipeline.phase_loop import PhaseLoop
from exploracoder_jupyter.pipeline.run_plan import CHANGED_BY_USER, CHOSEN_BY_USER
from exploracoder_jupyter.protocol.run_controls import Choose, Control, Explore, Replan, Retry, RunEdited, Skip

_MOST_SUBTASKS = 20
"""Limit for a plan that the user writes."""


class ControlHandler:
    """Handles the user controls of a run."""

    def __init__(self, loop: PhaseLoop) -> None:
        self._loop = loop
        self._run = loop.run
        self._agenda = loop.run.agenda

    async def listen(self) -> None:
        """Handle each control as it arrives; one that cannot be applied is answered by a notice."""
        while True:
            problem = self._apply(await self._run.steering.next())
            if problem:
                self._run.emit(Notice(problem, "warning"))

    def _apply(self, control: Control) -> str:
        """Apply a control; return the reason as a sentence if that is impossible, else an empty string."""
        if self._loop.finished:
            return "The run has finished: nothing was changed."
        if isinstance(control, Explore):
            if not self._loop.in_first_phase:
                return "The run explores already."
            self._run.emit(EffortChosen("explore", CHOSEN_BY_USER))
            self._loop.restart_phase()
            return ""
        if not self._loop.states:
            return "There is no plan yet: nothing was changed."
        if self._loop.reviewing and not isinstance(control, Replan):
            return "The plan is waiting for your review: accept or edit it first."
        match control:
            case Skip():
                return self._skip(control.subtask)
            case Retry():
                return self._retry(control.subtask, control.hint)
            case Choose():
                return self._choose(control.candidate)
            case RunEdited():
                return self._run_edited(control)
            case Replan():
                return self._replan(clean_titles(control.titles))

    def _skip(self, subtask: str) -> str:
        position = self._position(subtask)
        if position is None:
            return f"There is no subtask {subtask} to skip."
        if position < self._loop.current or subtask in self._agenda.skipped:
            return f"Subtask {subtask} has finished: it cannot be skipped."
        self._run.emit(Steered("skip", subtask))
        if position == self._loop.current:
            self._loop.skip_current()
        else:
            self._agenda.skipped.add(subtask)
        self._run.emit(SubtaskFinished(subtask, "skipped", "skipped by the user"))
        return ""

    def _retry(self, subtask: str, hint: str) -> str:
        position = self._begun_position(subtask)
        if position is None:
            return f"No subtask {subtask} has started: it cannot be explored again."
        self._run.emit(Steered("retry", subtask, hint=hint))
        self._loop.go_back_to(position)
        self._agenda.hints[subtask] = hint
        return ""

    def _choose(self, candidate: str) -> str:
        chosen = self._agenda.ran.get(candidate)
        if chosen is None:
            return f"Candidate {candidate} cannot be carried forward: no candidate of this name ran to completion."
        subtask = chosen.subtask.id
        position = self._begun_position(subtask)
        if position is None:
            return f"Candidate {candidate} cannot be carried forward: its subtask has not started again."
        if chosen.candidate in [item.candidate for item in self._loop.states[-1].experience]:
            return f"Candidate {candidate} is carried forward already."
        self._run.emit(Steered("choose", subtask, candidate))
        self._loop.go_back_to(position)
        self._agenda.chosen[subtask] = chosen
        return ""

    def _run_edited(self, control: RunEdited) -> str:
        position = self._begun_position(control.subtask)
        if position is None:
            return f"The edited candidate {control.candidate} was not run: its subtask has not started again."
        try:
            self._run.meter.check()
        except BudgetExceeded as spent:
            return f"The edited candidate {control.candidate} was not run: {spent}"
        subtask, state = self._agenda.plan.subtasks[position], self._loop.states[position]
        self._run.emit(Steered("edit", subtask.id, control.candidate))
        work = partial(run_edited, self._run, state, subtask, edited=control.candidate, code=control.code)
        self._loop.run_beside(position, work)
        return ""

    def _replan(self, titles: list[str]) -> str:
        plan, begun = self._agenda.plan, 0 if self._loop.reviewing else self._loop.current + 1
        done, rest = plan.subtasks[:begun], plan.subtasks[begun:]
        planned = [subtask.title for subtask in rest]
        titles = titles if titles == planned else _drop_begun(done, titles)
        if not (done or titles):
            return "A plan needs at least one subtask: nothing was changed."
        if len(done) + len(titles) > _MOST_SUBTASKS:
            return f"A plan can have at most {_MOST_SUBTASKS} subtasks: nothing was changed."
        self._run.emit(Steered("replan"))
        if titles != planned:
            subtasks = (*done, *self._match_titles(rest, titles))
            if self._loop.reviewing:
                subtasks = self._agenda.renumber(subtasks)
            self._agenda.plan, self._agenda.fixed = Plan(subtasks, plan.revision + 1), True
            self._run.emit(PlanMade(self._agenda.plan, CHANGED_BY_USER))
            if self._loop.current == len(plan.subtasks):  # the solution is being written
                self._loop.restart_phase()
        self._loop.end_review()
        return ""

    def _match_titles(self, rest: tuple[Subtask, ...], titles: list[str]) -> list[Subtask]:
        """Return the subtasks with these titles; those that stay in order keep their ids."""
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

    def _begun_position(self, subtask: str) -> int | None:
        """Return the position of a subtask that has started or finished."""
        position = self._position(subtask)
        return position if position is not None and position <= self._loop.current else None


def _drop_begun(done: tuple[Subtask, ...], titles: list[str]) -> list[str]:
    """Drop the titles of subtasks that started while the user was editing: those that lead the list."""
    begun = [subtask.title for subtask in done]
    most = min(len(begun), len(titles))
    known = max(count for count in range(most + 1) if begun[len(begun) - count :] == titles[:count])
    return titles[known:]
