"""The solution: assembled from the explored calls, run in a clean branch, checked, repaired (section 3.4, last step).

If enabled, a solution that ran and passed the user's check then undergoes correctness testing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from exploracoder_jupyter.core.types import Candidate, Experience
from exploracoder_jupyter.pipeline.exploring.dependency_slice import join_cells, names_in, unbound_names
from exploracoder_jupyter.pipeline.prompting.model_requests import Draft
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import RepairInputs, SolveInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import recommend_globally
from exploracoder_jupyter.pipeline.retrieval.passage_gathering import gather_for_task
from exploracoder_jupyter.pipeline.solution_verdict import RunResult, accept_tested_solution
from exploracoder_jupyter.pipeline.solving.correctness_testing import can_test, refine_solution
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis

_SHARE_AFTER_SUCCESS: Final = 0.6
"""Part of the token budget for documentation that the solution gets if every subtask ran: the cells show the calls."""


async def solve(run: Run, state: State) -> RunResult:
    """Try solutions, each repaired from the previous ones, until one passes or the rounds are used up."""
    attempts = await SolutionAttempts.begin(run, state)
    if joined := await _try_joined_cells(attempts):
        return await accept_or_test(attempts, joined)
    paths = dict.fromkeys(path for item in state.experience for path in item.apis)
    explored = tuple(api for api in map(run.knowledge.lookup, paths) if api)  # A_CoAE
    apis = merge_apis(explored, await recommend_globally(run, state))
    passages = deduplicate((*await gather_for_task(run, SOLUTION.id), *state.passages))
    search = Search(run, SOLUTION, apis, passages, apis)
    return await repair_until_accepted(attempts, search)


async def _try_joined_cells(attempts: SolutionAttempts) -> Experience | None:
    """Return the explored cells as one program if it passes a check that can fail; no model is asked for that.

    Where it fails, the model writes the first program as usual: it has seen the cells.
    """
    run, check, code = attempts.run, attempts.check, join_cells(attempts.state.experience)
    if run.asks_always or not (code and check and attempts.checked.proves):
        return None
    given = {*run.task.uses, *names_in(run.task.setup).bound}
    missing = unbound_names(f"{code}\n{check.before}\n{check.code}")
    if missing is None or missing - given:  # the check reads what no cell defines
        return None
    tried, proposed, refuted = [*attempts.tried], attempts.proposed, run.progress.refuted
    candidate = attempts.add(Draft(code))
    if candidate.duplicate_of:
        attempts.repeated, attempts.repetition = 0, None  # it is not the model's
        return None
    attempt = await attempts.execute(candidate)
    if attempt.observation.ran:
        return attempt
    attempts.tried, attempts.proposed, run.progress.refuted = tried, proposed, refuted  # no cell is wrong by itself
    return None


async def repair_until_accepted(attempts: SolutionAttempts, search: Search) -> RunResult:
    """Propose, execute and repair programs with what was found, and return the result."""

    async def propose() -> Candidate | None:
        if attempts.tried:
            await search.search_again(attempts.tried[-1])
        return await propose_solution(attempts, search)

    return await propose_until_accepted(attempts, propose)


async def propose_until_accepted(
    attempts: SolutionAttempts, propose: Callable[[], Awaitable[Candidate | None]]
) -> RunResult:
    """Execute programs until one runs and passes the user's check, none is proposed, or the rounds are used up.

    A program that was tried before counts as a round but is not run; the second one in a row ends the attempts.
    """
    for _ in range(attempts.run.settings.solution_rounds):
        candidate = await propose()
        if candidate is not None and (known := attempts.ran_before(candidate)):
            return await accept_or_test(attempts, known)
        if candidate is None or attempts.exhausted:
            break
        if candidate.duplicate_of:
            continue
        attempt = await attempts.execute(candidate)
        if attempt.observation.ran:
            return await accept_or_test(attempts, attempt)
    return attempts.give_up()


async def propose_solution(attempts: SolutionAttempts, search: Search) -> Candidate | None:
    """Return the next program: a first one from what was found, then repairs; `None` if the model gives none."""
    run, state = attempts.run, attempts.state
    room = run.retrieval.context_tokens
    if not attempts.tried:
        if all(item.observation.ran for item in state.experience):
            room = int(room * _SHARE_AFTER_SUCCESS) if state.experience else room
        first = SolveInputs(run.task, search.apis, state.experience, search.passages, context_tokens=room)
        return await attempts.propose("solve", first)
    tried = tuple(attempts.tried)
    for item in tried:
        search.add_used(item.apis)
    inputs = RepairInputs(run.task, search.apis, state.experience, tried, search.passages, context_tokens=room)
    return await attempts.propose("repair", inputs)


async def accept_or_test(attempts: SolutionAttempts, attempt: Experience) -> RunResult:
    """Return the result with a solution that ran and passed the user's check, or with the outcome of its testing."""
    run = attempts.run
    if not can_test(run):
        return attempts.accept(attempt)
    tested = await refine_solution(run, attempts.state, attempt, attempts.check)
    result, reasons = accept_tested_solution(tested, attempts.check_result(tested.program), run.sharing)
    return attempts.adopt(tested.program.candidate, result, reasons)
