"""Planning: the library introduction `s`, the few-shot planners `D`, the subtasks (ExploraCoder, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.events import LibraryRead, Notice, PlanMade
from exploracoder_jupyter.core.types import ApiDoc, Introduction, Overview, Plan, Planner, Subtask
from exploracoder_jupyter.pipeline.context import Run
from exploracoder_jupyter.pipeline.prompting.documentation import shorten
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import IntroduceInputs, PlanInputs, PlannersInputs
from exploracoder_jupyter.pipeline.prompting.replies import (
    MarkedReply,
    PlannersReply,
    PlanReply,
    SearchingPlanReply,
    join_lines,
    parse_json,
)
from exploracoder_jupyter.pipeline.prompting.requests import ask_json, ask_parsed, ask_text
from exploracoder_jupyter.pipeline.retrieval.queries import filter_queries, gather_for_task

_LONGEST_README: Final = 9000
_LONGEST_OVERVIEW: Final = 3000
SHOWN_ATTEMPTS: Final = 2


def announce_libraries(run: Run) -> None:
    """Record once which libraries the run is about, without an introduction by the model."""
    if not run.progress.announced:
        run.progress.announced = True
        run.emit(LibraryRead(tuple(run.knowledge.libraries), run.knowledge.size, Introduction("")))


async def introduce(run: Run) -> Introduction:
    """Return the introduction to the libraries.

    As published, the model writes it once for these library versions: then it comes from the run that this one resumes,
    or from the store. Otherwise it is the beginning of the libraries' own text.
    """
    knowledge = run.knowledge
    if not run.asks_always:
        announce_libraries(run)
        return Introduction(shorten_overview(run, knowledge.overview(), _LONGEST_OVERVIEW))
    introduction = (run.given and run.given.introduction) or knowledge.introduction(run.model.name)
    if introduction is None:
        overview, planners = knowledge.overview(), tuple[Planner, ...]()
        text = "(The library has no introductory documentation.)"
        if overview.text.strip():
            try:
                readme = shorten_overview(run, overview, _LONGEST_README)
                text = await ask_text(run, "introduce", IntroduceInputs(run.task.libraries, readme))
            except ReplyError:
                text = shorten_overview(run, overview, 1500)
        if overview.examples and (count := run.settings.planners):
            inputs = PlannersInputs(run.task.libraries, overview.examples[:12], count)
            with suppress(ReplyError):
                drawn = (await ask_json(run, "planners", inputs, PlannersReply)).planners[:count]
                planners = tuple(Planner(item.requirement, tuple(item.steps)) for item in drawn)
        introduction = Introduction(text, planners)
        knowledge.keep_introduction(run.model.name, introduction)
    run.emit(LibraryRead(tuple(knowledge.libraries), knowledge.size, introduction))
    return introduction


def shorten_overview(run: Run, overview: Overview, most: int) -> str:
    """Return the libraries' own text in about `most` characters, of which each library has its share."""
    starts = {overview.text.find(f"# {library.titled}\n") for library in run.knowledge.libraries}
    places = sorted({0, *(place for place in starts if place > 0)})
    ends = [*places[1:], len(overview.text)]
    texts = [overview.text[start:end].strip() for start, end in zip(places, ends, strict=True)]
    return "\n\n".join(shorten(text, most // len(texts)) for text in texts)


async def make_plan(run: Run, introduction: Introduction, apis: tuple[ApiDoc, ...] = ()) -> None:
    """Make the plan.

    Where programs were tried, the documentation that they were written from is not sent again, only a list of `apis`.
    If the reply stays unusable, the task itself becomes the only subtask and a notice reports it.
    """
    attempts = run.progress.seen[-SHOWN_ATTEMPTS:]
    inputs = PlanInputs(
        run.task,
        Introduction("") if attempts else introduction,
        run.settings.subtasks,
        () if attempts else await gather_for_task(run, "plan"),
        apis=apis,
        attempts=attempts,
        online="web" in run.sources.kinds,
        context_tokens=run.retrieval.context_tokens,
    )
    form: type[PlanReply | SearchingPlanReply] = SearchingPlanReply if inputs.online else PlanReply

    def parse(text: str) -> Sequence[str | MarkedReply]:
        subtasks = parse_json(text, form).subtasks
        if not subtasks:
            raise ReplyError("the list of subtasks is empty.")
        return subtasks

    planned: list[tuple[str, str]] = []
    try:
        for item in await ask_parsed(run, "plan", inputs, parse, form=form):
            text, query = (item, "") if isinstance(item, str) else (item.subtask, item.search)
            planned += [(title, query) for title in clean_titles([text])]
    except ReplyError as error:
        run.emit(
            Notice(f"The plan could not be used ({error.message}) Exploring the task as a single subtask.", "warning")
        )
    del planned[inputs.most :]
    titles, queries = [title for title, _ in planned], filter_queries(run, [query for _, query in planned])
    run.agenda.plan = Plan(run.agenda.new_subtasks(titles or [run.task.text.strip()], queries))
    run.emit(PlanMade(run.agenda.plan))


def revise(
    run: Run, subtask: Subtask, titles: Sequence[str] | None, reason: str, restated: str | None = None
) -> Subtask:
    """Replace the subtasks after `subtask`, and it as well, within the limits on revisions and subtasks.

    `titles` are the subtasks after it, `restated` is what is done in place of it; `None` keeps them. Returns the
    subtask to explore now.
    """
    agenda, place = run.agenda, run.agenda.plan.subtasks.index(subtask)
    done, now, later = agenda.plan.subtasks[:place], [subtask.title], agenda.plan.subtasks[place + 1 :]
    before = [*now, *(item.title for item in later)]
    wanted = [*(clean_titles([restated or ""]) or now), *(before[1:] if titles is None else clean_titles(titles))]
    if wanted == before or not may_revise(run) or len(done) + len(wanted) > run.settings.subtasks:
        return subtask
    kept = 1 if wanted[0] == subtask.title else 0
    online = {item.title: item.online for item in agenda.plan.subtasks}
    revised = agenda.new_subtasks(wanted[kept:], [online.get(title, "") for title in wanted[kept:]])
    agenda.plan = Plan((*done, *([subtask] * kept), *revised), agenda.plan.revision + 1)
    agenda.revisions += 1
    current = agenda.plan.subtasks[place]
    agenda.hints |= {current.id: agenda.hints[subtask.id]} if subtask.id in agenda.hints else {}
    run.emit(PlanMade(agenda.plan, reason))
    return current


def may_revise(run: Run) -> bool:
    """Whether the model may change the rest of the plan: a limited number of times, and never the user's own plan."""
    return run.agenda.revisions < run.settings.plan_revisions and not run.agenda.fixed


def clean_titles(texts: Sequence[str]) -> list[str]:
    """Return the texts as one-line subtask titles, without blank ones."""
    return [title for title in map(join_lines, texts) if title]
