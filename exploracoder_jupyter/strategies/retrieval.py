"""Direct generation, and strategies that retrieve: what the exploration is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.events import SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.core.types import Candidate, Experience
from exploracoder_jupyter.pipeline.context import Run, State, merge_apis
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries, introduce, make_plan
from exploracoder_jupyter.pipeline.prompting.documentation import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import SolveInputs, StrategyInputs
from exploracoder_jupyter.pipeline.prompting.replies import join_lines
from exploracoder_jupyter.pipeline.prompting.requests import ask_code, ask_text
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import recommend, recommend_globally, retrieve
from exploracoder_jupyter.pipeline.retrieval.queries import LONGEST_QUERY, Query, Search
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import drop_stale_snippets, store_snippets
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution import (
    RunResult,
    SolutionAttempts,
    propose_solution,
    propose_until_accepted,
    repair_until_accepted,
)
from exploracoder_jupyter.strategies.documentation import begin_unexecuted, limit_retrieval, search_for, search_for_task

# Direct generation: the task alone, one call, nothing executed (the baseline of ExploraCoder, section 5.4).


async def direct(run: Run) -> RunResult:
    """Write a program from memory. The strategy `direct`."""
    attempts = begin_unexecuted(run)
    inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
    return attempts.accept_unexecuted(await attempts.propose("strategy", inputs))


# Naive retrieval, without and with self-repair.
#
# The top k documentation of the task and one prompt are DocPrompting (Zhou et al. 2023; ExploraCoder, section 5.4).
# Self-repair shows a failed program with its error to the model and asks for a correction (Olausson et al. 2024;
# ExploraCoder, section 5.4, which combines it with CAPIR); here feedback and correction are one call.

REPAIRS: Final = 3
"""Maximum number of repairs in strategies with self-repair."""


async def rag(run: Run) -> RunResult:
    """Write a program from the documentation found for the task. The strategy `rag`."""
    attempts = begin_unexecuted(run)
    return attempts.accept_unexecuted(await propose_solution(attempts, await search_for_task(attempts.run)))


async def rag_repair(run: Run) -> RunResult:
    """Write a program as `rag` does, run it, and repair it by its errors. The strategy `rag-repair`."""
    run = with_repairs(limit_retrieval(run))
    announce_libraries(run)
    attempts = await SolutionAttempts.begin(run)
    return await repair_until_accepted(attempts, await search_for_task(run))


def with_repairs(run: Run) -> Run:
    """Return the run with one program and its repairs, whose outputs are not tested on generated inputs."""
    return replace(run, settings=replace(run.settings, solution_rounds=1 + REPAIRS, tests=False))


# APISearch: the model looks APIs up while it writes, and nothing is retrieved beforehand (ToolCoder, section IV.C).
#
# Where it calls `APISearch(query)`, or a tool of its endpoint, it is answered from the index and continues to
# write. After three look-ups it has to write the program; a reply that asks for more ends the run. A fine-tuned
# model searches in the middle of its code (`retrieval.inline_lookups`), and may do so again once it has written
# more. Nothing is executed.

_SEARCHES: Final = 3
"""The most look-ups before the program, as the setting `retrieval.lookups` has by default."""


async def apisearch(run: Run) -> RunResult:
    """Write one program with look-ups. The strategy `apisearch`."""
    attempts = begin_unexecuted(run, lookups=_SEARCHES)
    inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
    drafts = [draft async for draft in ask_code(attempts.run, "strategy", inputs, subject=SOLUTION.id)]
    usable = [draft for draft in drafts if not draft.problem]
    return attempts.accept_unexecuted(attempts.add(usable[0]) if usable else None)


# RepoCoder: each program but the first is written with what was retrieved by the one before (RRR, section 5.1).
#
# After Zhang et al. 2023. The first retrieval is by the task. Nothing is executed. For r rounds r calls; r is the
# setting `retrieval.rounds`, 2 by default.


async def repocoder(run: Run) -> RunResult:
    """Retrieve and write in turns; the last program is the solution. The strategy `repocoder`."""
    rounds, attempts, latest = max(run.retrieval.rounds, 1), begin_unexecuted(run), None
    run = attempts.run
    for round_ in range(rounds):
        query = Query("code", latest.code[:LONGEST_QUERY]) if latest else Query("task", run.task.text)
        found = await search_for(run, query, round_)
        inputs = SolveInputs(run.task, found.apis, (), found.passages, context_tokens=run.retrieval.context_tokens)
        drafts = [draft async for draft in ask_code(run, "solve", inputs, subject=SOLUTION.id)]
        latest = next((draft for draft in drafts if not draft.problem), latest)
    return attempts.accept_unexecuted(attempts.add(latest) if latest else None)


# CAPIR: decompose the task, retrieve and re-rank for each subtask, generate once; without and with self-repair.
#
# After Ma et al. 2024, as compared in ExploraCoder, section 5.4: the global set of APIs has the same size as its
# own, and 3 + n calls are made. The paper's self-repair makes two calls a round, ours one (`rag`).


async def capir(run: Run) -> RunResult:
    """Write a program from the documentation found for each subtask. The strategy `capir`."""
    run = limit_retrieval(run)
    attempts = SolutionAttempts.without_check(run)
    return attempts.accept_unexecuted(await propose_solution(attempts, await retrieve_by_plan(run)))


async def capir_repair(run: Run) -> RunResult:
    """Write a program as `capir` does, run it, and repair it by its errors. The strategy `capir-repair`."""
    run = with_repairs(limit_retrieval(run))
    attempts = await SolutionAttempts.begin(run)
    return await repair_until_accepted(attempts, await retrieve_by_plan(run))


async def retrieve_by_plan(run: Run) -> Search:
    """Plan, retrieve and re-rank for each subtask, then re-rank for the task: 2 + n calls, and the introduction."""
    introduction = await introduce(run)
    await make_plan(run, introduction)
    state = State(introduction, run.root)
    for subtask in run.agenda.plan.subtasks:
        found = await recommend(run, state, subtask)
        run.emit(SubtaskStarted(subtask.id, tuple(item.listed for item in found.apis)))
        run.emit(SubtaskFinished(subtask.id, "skipped", "only its documentation was retrieved"))
        retrieved = merge_apis(state.retrieved, tuple(item.api for item in found.apis))
        state = replace(state, retrieved=retrieved, passages=deduplicate((*found.passages, *state.passages)))
    apis = await recommend_globally(run, state)
    return Search(run, SOLUTION, apis, state.passages, apis)


# EpiGen: plan the task, then write the program with the plan and the documentation in the prompt.
#
# After Li et al. 2024, as compared in ExploraCoder, section 5.4: the subtasks are those of its planning module, the
# APIs those of its global set. 3 + n calls.


async def epigen(run: Run) -> RunResult:
    """Write a program along the subtasks. The strategy `epigen`."""
    run = limit_retrieval(run)
    found = await retrieve_by_plan(run)
    attempts = SolutionAttempts.without_check(run)
    return attempts.accept_unexecuted(await attempts.propose("strategy", planned_inputs(run, found)))


def planned_inputs(run: Run, found: Search) -> StrategyInputs:
    """Return the prompt for a program: the steps of the plan and what was found for them."""
    return StrategyInputs(
        "exploracoder_jupyter.strategies:epigen",
        run.task,
        subtasks=run.agenda.plan.subtasks,
        apis=found.apis,
        passages=found.passages,
        context_tokens=run.retrieval.context_tokens,
    )


# ARKS: active retrieval in a soup of knowledge (ARKS, sections 2.1 to 2.3).
#
# The first program is written from the task alone and executed. While programs fail, the latest one is made a
# query, by its error, or by another form (`retrieval.formulation`), which searches documentation, snippets and, if
# enabled, the web; the next program is written with what was found and with the error. The rounds end when two
# searches agree, or after `retrieval.rounds`. The program that ran becomes a snippet for later tasks; a snippet
# that fails is dropped.


async def arks(run: Run) -> RunResult:
    """Write a program; while it fails, search by it and write another. The strategy `arks`."""
    searches = run.retrieval.rounds
    run = limit_retrieval(run, searches=searches, formulation=run.retrieval.formulation)
    run = replace(run, settings=replace(run.settings, solution_rounds=1 + searches, tests=False))
    announce_libraries(run)
    attempts, search = await SolutionAttempts.begin(run), Search(run, SOLUTION, ())

    async def propose() -> Candidate | None:
        if not attempts.tried:
            inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
            return await attempts.propose("strategy", inputs)
        await search.search_again(attempts.tried[-1])
        return None if search.converged else await propose_solution(attempts, search)

    result = await propose_until_accepted(attempts, propose)
    await drop_stale_snippets(run, search.passages, attempts.tried)
    await store_snippets(run, (), result)
    return result


# CoCoST: plan, search, write, run on generated inputs, and refine by errors and outputs (CoCoST, section 3).
#
# The steps of the plan are the queries: each searches the documentation, as a source that can be queried (appendix
# A), and those that the plan marks search the web if it is enabled. A program that fails is repaired with what a
# search for its error finds; one that runs is tested on inputs that the model writes, and refined by what it gave
# for them.


async def cocost(run: Run) -> RunResult:
    """Plan, search, write, and refine what was written. The strategy `cocost`."""
    run = limit_retrieval(run, searches=run.retrieval.rounds, formulation="error")
    run = replace(run, settings=replace(run.settings, tests=True))
    await make_plan(run, await introduce(run))
    attempts = await SolutionAttempts.begin(run)
    found = [await retrieve(run, subtask, subtask.title, reranked=True) for subtask in run.agenda.plan.subtasks]
    ranks = zip_longest(*(apis for apis, _ in found))  # the first hits of all steps come before the later ones of any
    apis = tuple(item.api for rank in ranks for item in rank if item)
    passages = tuple(passage for _, passages in found for passage in passages)
    search = Search(run, SOLUTION, merge_apis(apis), deduplicate(passages))

    async def propose() -> Candidate | None:
        if not attempts.tried:
            return await attempts.propose("strategy", planned_inputs(run, search))
        await search.search_again(attempts.tried[-1])
        return await propose_solution(attempts, search)

    return await propose_until_accepted(attempts, propose)


# Reflexion: a failed program is reflected on in words, and the next one follows the reflections (RRR, section 5.1).
#
# After Shinn et al. 2023, whose memory has at most three reflections. The feedback is that of the run: the error,
# or the user's check if there is one, never hidden tests. Nothing is retrieved (RRR, appendix B). At most
# `solution_rounds` programs; for r retries 2r + 1 calls.

_REMEMBERED: Final = 3
"""Maximum number of reflections in a prompt (Shinn et al. 2023, section 4)."""


async def reflexion(run: Run) -> RunResult:
    """Write a program; while it fails, reflect and write another. The strategy `reflexion`."""
    run = limit_retrieval(run)
    run = replace(run, settings=replace(run.settings, tests=False))
    announce_libraries(run)
    attempts = await SolutionAttempts.begin(run)
    reflections: list[str] = []

    async def propose() -> Candidate | None:
        if not attempts.tried:
            return await attempts.propose("strategy", _inputs(run, "direct", (), ()))
        reflections[:] = [*reflections, *await _reflect(run, attempts.tried, reflections)][-_REMEMBERED:]
        return await attempts.propose("strategy", _inputs(run, "reflexion", attempts.tried, reflections))

    return await propose_until_accepted(attempts, propose)


async def _reflect(run: Run, tried: Sequence[Experience], reflections: Sequence[str]) -> list[str]:
    """Return the reflection on the latest program; none if the reply is empty."""
    inputs = _inputs(run, "reflect", tried, reflections)
    try:
        return [join_lines(await ask_text(run, "strategy", inputs, subject=tried[-1].candidate.id))]
    except ReplyError:
        return []


def _inputs(run: Run, template: str, tried: Sequence[Experience], reflections: Sequence[str]) -> StrategyInputs:
    name = f"exploracoder_jupyter.strategies:{template}"
    return StrategyInputs(name, run.task, experience=tuple(tried), notes=tuple(reflections))
