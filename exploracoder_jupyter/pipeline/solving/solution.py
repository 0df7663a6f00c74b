"""The solution: assembled from the explored calls, run in a clean branch, checked, repaired (section 3.4, last step).

One that ran and passed the user's check goes on to correctness testing, where that is asked for.
"""

from __future__ import annotations

from exploracoder_jupyter.core.events import CandidateProposed, CandidateSelected, KnowledgeSearched
from exploracoder_jupyter.core.settings import OFFLINE
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
from exploracoder_jupyter.pipeline.solving.user_check import Probe, probe
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis, raise_if_cancelled

_MOST_REPEATED = 2
_NOTHING = {
    True: "The offline model found no documented call that answers the words of the task.",
    False: "The model gave no program that could be run.",
}
_NEXT = {
    True: "Name a language model with --model, or write in the task which calls to make.",
    False: "Put the task in other words, or give an example of the result.",
}
"""What to do next, for the offline model and for a language model."""


async def solve(run: Run, state: State) -> RunResult:
    """Try solutions, each repaired from the ones before, until one passes or the rounds are used up.

    A repair that changes nothing is a round, but is not run; the second one in a row is the end.
    """
    after, checked = probe(run.task), bool(run.task.check and run.task.check.strip())
    stale = after is not None and checked and await passes_without_solution(run, after)
    apis = merge_apis(_explored_apis(run, state), await recommend_globally(run, state))
    found = Search(run, SOLUTION, apis, await _gather_for_solution(run, state), apis)
    attempts: list[Experience] = []
    repeated = 0
    for round_ in range(run.settings.solution_rounds):
        if attempts:
            await found.search_again(attempts[-1])
        draft = await _request_draft(run, state, found, tuple(attempts))
        if draft is None:
            break
        candidate = _candidate(run, round_, draft, attempts)
        run.emit(CandidateProposed(candidate))
        repeated = repeated + 1 if candidate.duplicate_of else 0
        if repeated == _MOST_REPEATED:
            break
        if repeated:
            continue
        attempt = await try_solution(run, state, candidate, after)
        attempts.append(attempt)
        await raise_if_cancelled()
        if attempt.observation.ran:
            return await _accept(run, state, attempt, after, CheckResult(checked, stale))
    return _unsolved_result(run, attempts, checked=checked)


async def _accept(run: Run, state: State, attempt: Experience, after: Probe | None, checked: CheckResult) -> RunResult:
    """The ending with a solution that ran and passed the user's check, or with what testing makes of it."""
    if can_test(run):
        tested = await refine_solution(run, state, attempt, after)
        attempt, checked = tested.program, _with_remark(checked, tested.program, after)
        ending, reasons = accept_tested_solution(tested, checked, run.sharing)
    else:
        ending, reasons = accept_solution(attempt, _with_remark(checked, attempt, after))
    run.emit(CandidateSelected(Selection(SOLUTION.id, attempt.candidate.id, reasons)))
    return ending


def _with_remark(checked: CheckResult, attempt: Experience, after: Probe | None) -> CheckResult:
    """With what the note of the run says beyond that the check passed."""
    remark = attempt.observation.note.removeprefix(after.passed).strip() if after and checked.has_check else ""
    return CheckResult(checked.has_check, checked.stale, remark)


def _explored_apis(run: Run, state: State) -> tuple[ApiDoc, ...]:
    """A_CoAE: the APIs that the selected candidates really call."""
    paths = [path for item in state.experience for path in item.apis]
    return tuple(api for api in map(run.knowledge.lookup, dict.fromkeys(paths)) if api)


async def _gather_for_solution(run: Run, state: State) -> tuple[Passage, ...]:
    """What the soup has for the task as a whole, then what it had for the subtasks."""
    passages = await gather_passages(run, run.task.text)
    await raise_if_cancelled()
    if passages:
        run.emit(KnowledgeSearched(SOLUTION.id, 0, "task", run.task.text, (), passages))
    return deduplicate((*passages, *state.passages))


async def _request_draft(run: Run, state: State, found: Search, attempts: tuple[Experience, ...]) -> Draft | None:
    """The next draft; asked for once more when it holds no code; `None` when the model has nothing left to try."""
    run.root.expect(1)
    room = run.retrieval.context_tokens
    for _ in range(2):
        if attempts:
            inputs = RepairInputs(run.task, found.apis, state.experience, attempts, found.passages, context_tokens=room)
            drafts = [d async for d in ask_code(run, "repair", inputs, subject=attempts[-1].candidate.id)]
        else:
            first = SolveInputs(run.task, found.apis, state.experience, found.passages, context_tokens=room)
            drafts = [d async for d in ask_code(run, "solve", first, subject="solution")]
        if drafts and not drafts[0].problem:
            return drafts[0]
    return None


def _candidate(run: Run, round_: int, draft: Draft, attempts: list[Experience]) -> Candidate:
    repairs = attempts[-1].candidate.id if attempts else None
    known = fingerprint(draft.code)
    twin = next((item.candidate.id for item in attempts if fingerprint(item.candidate.code) == known), None)
    id_ = f"s{run.agenda.next_number(SOLUTION.id)}"
    return Candidate(id_, SOLUTION.id, draft.code, round_, repairs, duplicate_of=twin)


def _ran_to_end(attempts: list[Experience]) -> list[Experience]:
    """Those that ran to their end and failed only what was asked of them afterwards."""
    return [item for item in attempts if item.observation.note.startswith("The program ran")]


def _best(run: Run, attempts: list[Experience]) -> Experience | None:
    """The attempt to go on from: rather one that ran to its end and bound what the check reads.

    Among equals a language model's last one, which answers the failures before, and the offline model's first one: it
    gives its best first.
    """
    ordered = attempts if run.model.name == OFFLINE else attempts[::-1]
    return max(ordered, key=_progress, default=None)


def _progress(attempt: Experience) -> int:
    """How far a program got that failed: a crash, to its end, with the names that were looked for after it."""
    if not _ran_to_end([attempt]):
        return 0
    error = attempt.observation.error
    return 1 if error and error.name == "NameError" else 2


def _unsolved_result(run: Run, attempts: list[Experience], *, checked: bool) -> RunResult:
    """The ending without a solution; a program that ran to its end is kept, a crash is none."""
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
        return f"No solution ran to its end ({tried}); the best one gave {what}."
    missed = "passed the check" if checked else "defines the function"
    return f"No solution {missed} ({tried}, {finished} ran to their end); the best one gave {what}."
