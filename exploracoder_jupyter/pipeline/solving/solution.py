"""The solution: assembled from the explored calls, run in a clean branch, checked, repaired (section 3.4, last step).

If enabled, a solution that ran and passed the user's check then undergoes correctness testing.
"""

from __future__ import annotations

from exploracoder_jupyter.core.configuration.settings import OFFLINE
from exploracoder_jupyter.core.events import CandidateProposed, CandidateSelected, KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc, Candidate, Experience, Passage, Selection, Verdict
from exploracoder_jupyter.pipeline.exploring.subtask_attempt import fingerprint
from exploracoder_jupyter.pipeline.prompting.model_requests import Draft, ask_code
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import RepairInputs, SolveInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import recommend_globally
from exploracoder_jupyter.pipeline.retrieval.passage_gathering import gather_passages
from exploracoder_jupyter.pipeline.run_outcome import (
    CheckResult,
    RunResult,
    accept_solution,
    accept_tested_solution,
    to_solution,
)
from exploracoder_jupyter.pipeline.solving.correctness_testing import can_test, refine_solution
from exploracoder_jupyter.pipeline.solving.program_trial import SOLUTION, passes_without_solution, try_solution
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode, build_check
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis, raise_if_cancelled

_MOST_REPEATED = 2
_NOTHING = {
    True: "The offline model found no documented call that matches the words of the task.",
    False: "The model gave no program that could be run.",
}
_NEXT = {
    True: "Choose a language model with --model, or state in the task which calls to make.",
    False: "Rephrase the task, or give an example of the result.",
}
"""The suggested next step, for the offline model and for a language model."""


async def solve(run: Run, state: State) -> RunResult:
    """Try solutions, each repaired from the previous ones, until one passes or the rounds are used up.

    A repair that changes nothing counts as a round but is not run; the second one in a row ends the attempts.
    """
    check, checked = build_check(run.task), bool(run.task.check and run.task.check.strip())
    stale = check is not None and checked and await passes_without_solution(run, check)
    apis = merge_apis(_explored_apis(run, state), await recommend_globally(run, state))
    search = Search(run, SOLUTION, apis, await _gather_for_solution(run, state), apis)
    attempts: list[Experience] = []
    repeated = 0
    for round_ in range(run.settings.solution_rounds):
        if attempts:
            await search.search_again(attempts[-1])
        draft = await _request_draft(run, state, search, tuple(attempts))
        if draft is None:
            break
        candidate = _candidate(run, round_, draft, attempts)
        run.emit(CandidateProposed(candidate))
        repeated = repeated + 1 if candidate.duplicate_of else 0
        if repeated == _MOST_REPEATED:
            break
        if repeated:
            continue
        attempt = await try_solution(run, state, candidate, check)
        attempts.append(attempt)
        await raise_if_cancelled()
        if attempt.observation.ran:
            return await _accept(run, state, attempt, check, CheckResult(checked, stale))
    return _unsolved_result(run, attempts, checked=checked)


async def _accept(
    run: Run, state: State, attempt: Experience, check: CheckCode | None, checked: CheckResult
) -> RunResult:
    """Return the result with a solution that ran and passed the user's check, or with the outcome of its testing."""
    if can_test(run):
        tested = await refine_solution(run, state, attempt, check)
        attempt, checked = tested.program, _with_remark(checked, tested.program, check)
        result, reasons = accept_tested_solution(tested, checked, run.sharing)
    else:
        result, reasons = accept_solution(attempt, _with_remark(checked, attempt, check))
    run.emit(CandidateSelected(Selection(SOLUTION.id, attempt.candidate.id, reasons)))
    return result


def _with_remark(checked: CheckResult, attempt: Experience, check: CheckCode | None) -> CheckResult:
    """Add the part of the run's note that goes beyond "the check passed"."""
    remark = attempt.observation.note.removeprefix(check.passed).strip() if check and checked.has_check else ""
    return CheckResult(checked.has_check, checked.stale, remark)


def _explored_apis(run: Run, state: State) -> tuple[ApiDoc, ...]:
    """Return A_CoAE: the APIs that the selected candidates actually call."""
    paths = [path for item in state.experience for path in item.apis]
    return tuple(api for api in map(run.knowledge.lookup, dict.fromkeys(paths)) if api)


async def _gather_for_solution(run: Run, state: State) -> tuple[Passage, ...]:
    """Return passages for the task as a whole, then those found for the subtasks."""
    passages = await gather_passages(run, run.task.text)
    await raise_if_cancelled()
    if passages:
        run.emit(KnowledgeSearched(SOLUTION.id, 0, "task", run.task.text, (), passages))
    return deduplicate((*passages, *state.passages))


async def _request_draft(run: Run, state: State, search: Search, attempts: tuple[Experience, ...]) -> Draft | None:
    """Return the next draft; `None` if the model has nothing left to try.

    A draft without code is requested once more.
    """
    run.root.expect(1)
    room = run.retrieval.context_tokens
    for _ in range(2):
        if attempts:
            inputs = RepairInputs(
                run.task, search.apis, state.experience, attempts, search.passages, context_tokens=room
            )
            drafts = [d async for d in ask_code(run, "repair", inputs, subject=attempts[-1].candidate.id)]
        else:
            first = SolveInputs(run.task, search.apis, state.experience, search.passages, context_tokens=room)
            drafts = [d async for d in ask_code(run, "solve", first, subject="solution")]
        if drafts and not drafts[0].problem:
            return drafts[0]
    return None


def _candidate(run: Run, round_: int, draft: Draft, attempts: list[Experience]) -> Candidate:
    repairs = attempts[-1].candidate.id if attempts else None
    known = fingerprint(draft.code)
    duplicate_of = next((item.candidate.id for item in attempts if fingerprint(item.candidate.code) == known), None)
    id_ = f"s{run.agenda.next_number(SOLUTION.id)}"
    return Candidate(id_, SOLUTION.id, draft.code, round_, repairs, duplicate_of=duplicate_of)


def _ran_to_end(attempts: list[Experience]) -> list[Experience]:
    """Return the attempts that ran to completion and failed only their check."""
    return [item for item in attempts if item.observation.unmet]


def _best(run: Run, attempts: list[Experience]) -> Experience | None:
    """Return the attempt to report: preferably one that ran to completion and bound the names that the check reads.

    Among equals this is a language model's last one, which responds to earlier failures, and the offline model's first
    one, since it gives its best first.
    """
    ordered = attempts if run.model.name == OFFLINE else attempts[::-1]
    return max(ordered, key=_progress, default=None)


def _progress(attempt: Experience) -> int:
    """Rank how far a failed program got: a crash, completion, completion with the names that the check reads."""
    if not _ran_to_end([attempt]):
        return 0
    error = attempt.observation.error
    return 1 if error and error.name == "NameError" else 2


def _unsolved_result(run: Run, attempts: list[Experience], *, checked: bool) -> RunResult:
    """Return the result without a verified solution; a program that ran to completion is kept, a crashed one is not."""
    best = _best(run, attempts)
    offline = run.model.name == OFFLINE
    reason = _describe_failure(best, attempts, checked=checked) if best else _NOTHING[offline]
    kept = to_solution(best) if best and _ran_to_end([best]) else None
    return RunResult(kept, Verdict("unsolved", f"{reason} {_NEXT[offline]}"))


def _describe_failure(best: Experience, attempts: list[Experience], *, checked: bool) -> str:
    finished, tried = len(_ran_to_end(attempts)), f"{len(attempts)} tried"
    error = best.observation.error
    what = (error.headline if error else best.observation.note or best.observation.status).rstrip(".")
    if not finished:
        return f"No solution ran to completion ({tried}); the best one ended with {what}."
    missed = "passed the check" if checked else "defines the function"
    return f"No solution {missed} ({tried}, {finished} ran to completion); the best one ended with {what}."
