"""Planning: the library introduction `s`, the few-shot planners `D`, the subtasks (ExploraCoder, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.errors import ReplyError
from exploracoder_jupyter.events import LibraryRead, Notice, PlanMade
from exploracoder_jupyter.pipeline.ask import ask_json, ask_text
from exploracoder_jupyter.pipeline.context import Run, State
from exploracoder_jupyter.pipeline.prompts import shorten
from exploracoder_jupyter.pipeline.replies import PlannersReply, PlanReply
from exploracoder_jupyter.pipeline.requests import IntroduceInputs, PlanInputs, PlannersInputs
from exploracoder_jupyter.types import Introduction, Overview, Plan, Planner, Subtask


async def introduce(run: Run) -> Introduction:
    """The introduction kept for these library versions and this model, else a new one, which is kept."""
    knowledge = run.knowledge
    introduction = knowledge.introduction(run.model.name)
    if introduction is None:
        overview = knowledge.overview()
        introduction = Introduction(await _summary(run, overview), await _planners(run, overview))
        knowledge.keep_introduction(run.model.name, introduction)
    run.emit(LibraryRead(tuple(knowledge.libraries), knowledge.size, introduction))
    return introduction


async def _summary(run: Run, overview: Overview) -> str:
    if not overview.text.strip():
        return "(The library has no introductory documentation.)"
    try:
        return await ask_text(run, "introduce", IntroduceInputs(run.task.libraries, overview.text))
    except ReplyError:
        return shorten(overview.text, 1500)


async def _planners(run: Run, overview: Overview) -> tuple[Planner, ...]:
    count = run.settings.planners
    if not overview.examples or not count:
        return ()
    inputs = PlannersInputs(run.task.libraries, overview.examples[:12], count)
    try:
        reply = await ask_json(run, "planners", inputs, PlannersReply)
    except ReplyError:
        return ()
    return tuple(Planner(item.requirement, tuple(item.steps)) for item in reply.planners[:count])


async def make_plan(run: Run, introduction: Introduction) -> Plan:
    """The subtasks. A plan that stays unusable becomes one subtask, the task itself, and a notice says so."""
    most = run.settings.subtasks
    try:
        reply = await ask_json(run, "plan", PlanInputs(run.task, introduction, most), PlanReply)
        titles = _titles(reply.subtasks)[:most]
    except ReplyError as error:
        run.emit(
            Notice(f"The plan could not be used ({error.message}) The task is explored as one subtask.", "warning")
        )
        titles = []
    plan = Plan(_numbered(titles or [run.task.text.strip()], after=0))
    run.emit(PlanMade(plan))
    return plan


def revise(run: Run, state: State, subtask: Subtask, titles: Sequence[str], reason: str) -> State:
    """The state with the subtasks after `subtask` replaced, within the limits on revisions and subtasks."""
    wanted = _titles(titles)
    done = state.plan.subtasks[: state.plan.subtasks.index(subtask) + 1]
    remaining = state.plan.subtasks[len(done) :]
    unchanged = wanted == [item.title for item in remaining]
    room = run.settings.subtasks - len(done)
    if unchanged or state.revisions >= run.settings.plan_revisions or len(wanted) > room:
        return state
    highest = max(int(item.id) for item in state.plan.subtasks)
    plan = Plan((*done, *_numbered(wanted, after=highest)), state.plan.revision + 1)
    run.emit(PlanMade(plan, reason))
    return replace(state, plan=plan, revisions=state.revisions + 1)


def _titles(texts: Sequence[str]) -> list[str]:
    return [title for title in (" ".join(text.split()) for text in texts) if title]


def _numbered(titles: Sequence[str], *, after: int) -> tuple[Subtask, ...]:
    return tuple(Subtask(str(number), title) for number, title in enumerate(titles, after + 1))
