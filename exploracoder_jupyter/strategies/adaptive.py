"""The exploration as published, and the cheapest effort that convinces, which is the default."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.events import EffortChosen
from exploracoder_jupyter.pipeline.context import Run
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.phase_loop import announce_programs
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import store_snippets
from exploracoder_jupyter.pipeline.solving.solution import RunResult
from exploracoder_jupyter.pipeline.task_run import explore
from exploracoder_jupyter.strategies.documentation import limit_retrieval
from exploracoder_jupyter.strategies.example_repair import ExampleRuns
from exploracoder_jupyter.strategies.retrieval import REPAIRS

# ExploraCoder as published: the chain of API exploration, without and with self-debugging (sections 3 and 5.1).
#
# The product's own exploration with the paper's settings, whatever the user's are, and without what the product
# adds: look-ups, repeated searches, revisions of the plan, early stopping, repairs and tests of the solution. The
# number of subtasks is limited as in the product. 3 + 2n calls, about 3 + 3.6n with self-debugging.


async def exploracoder(run: Run) -> RunResult:
    """Explore each subtask, and write the solution once. The strategy `exploracoder`."""
    return await explore(_as_published(run, debug_rounds=0))


async def exploracoder_debug(run: Run) -> RunResult:
    """Explore as `exploracoder` does, and debug where all candidates fail. The strategy `exploracoder-debug`."""
    return await explore(_as_published(run, debug_rounds=1))


def _as_published(run: Run, *, debug_rounds: int) -> Run:
    """Return the run with the settings of section 5.1."""
    settings = replace(
        run.settings,
        candidates=5,
        retrieved=20,
        retrieved_global=20,
        planners=4,
        temperature=0.8,
        top_p=0.95,
        debug_rounds=debug_rounds,
        plan_revisions=0,
        solution_rounds=1,
        tests=False,
        review=False,
    )
    return replace(limit_retrieval(run), settings=settings)


# The cheapest effort that convinces: a whole program first, and the exploration where that falls short. Ours.
#
# Only what could have failed convinces: the user's check, or the example that the task states. Without these the
# model is shown what the program gave, and nothing else, and finds nothing left to do or corrects it
# (`example_repair`). The exploration begins where the repairs are used up and the last program still does not
# convince. Whatever was tried, found and learned stays known to it. 1 call where the first program passes a check,
# 2 where the model confirms it, 1 + r where it is repaired (r = 3), and the calls of the exploration after that.


async def adaptive(run: Run) -> RunResult:
    """Try whole programs, and explore where none convinces. The strategy `adaptive`."""
    if reason := _why_explore_first(run):
        run.emit(EffortChosen("explore", reason))
        return await explore(run)
    return await explore(run, first=partial(_try_at_once, run))


def _why_explore_first(run: Run) -> str:
    """Return why whole programs are not tried first, as a sentence; empty if they are."""
    given = run.given
    if given is not None and given.titles and not given.tried_programs:
        return "Exploring, because the earlier run did."
    if given is not None and given.hint and not given.tried_programs:
        return "Exploring, because your hint is for a subtask."
    if run.model.name == OFFLINE:
        return "Exploring, because the offline model cannot write a whole program at once."
    if run.settings.review and run.steerable:
        return "Exploring, because you review the plan before anything runs."
    return ""


async def _try_at_once(run: Run) -> RunResult | None:
    """Return the result of a program that convinces; `None` if there is none."""
    announce_libraries(run)
    runs = await ExampleRuns.begin(run, judged=True, frugal=True)
    start = "Trying a whole program first; the model compares what it shows with the task."
    if runs.attempts.checked.stated:
        start = "Trying a whole program first: the example that the task states can check it."
    elif runs.attempts.checked.proves:
        start = "Trying a whole program first: the check can show whether it is right."
    run.emit(EffortChosen("direct", start))
    announce_programs(run, 1 + REPAIRS + (not runs.attempts.checked.proves))
    try:
        settled = await runs.settle()
    finally:  # also where the user chooses to explore
        progress = run.progress
        progress.attempts, progress.seen = tuple(runs.attempts.tried), tuple(runs.seen)
        progress.found = runs.search.apis[: run.settings.retrieved]
    if settled in ("checked", "confirmed"):
        result = await runs.finish(run, settled)
        await store_snippets(run, (), result)
        return result
    tried = runs.attempts.tried
    error = tried[-1].observation.error if tried else None
    last = f" (last: {error.headline.rstrip('.')})" if error else ""
    why = f"No whole program was convincing{last}: exploring step by step."
    if settled == "ran":
        why = "The program ran, but nothing could show that it is right: exploring step by step."
    run.emit(EffortChosen("explore", why))
    return None
