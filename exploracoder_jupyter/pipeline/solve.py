"""The solution: assembled from the explored calls, run in a clean branch, checked, repaired (section 3.4, last step).

`solved` is said only when a check passed; a solution that merely ran is `unchecked`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import anyio

from exploracoder_jupyter.errors import BranchingChanged
from exploracoder_jupyter.events import CandidateObserved, CandidateProposed, CandidateSelected
from exploracoder_jupyter.pipeline.ask import Draft, ask_code
from exploracoder_jupyter.pipeline.attempt import fingerprint
from exploracoder_jupyter.pipeline.branches import MOST_CHANGES, keep_files, tell_change
from exploracoder_jupyter.pipeline.calls import apis_used, known_types
from exploracoder_jupyter.pipeline.context import Run, State, merged, still_wanted
from exploracoder_jupyter.pipeline.recommend import recommend_globally
from exploracoder_jupyter.pipeline.requests import RepairInputs, SolveInputs
from exploracoder_jupyter.pipeline.verify import Probe, probe
from exploracoder_jupyter.types import (
    ApiDoc,
    Candidate,
    Experience,
    Observation,
    Selection,
    Solution,
    Subtask,
    Usage,
    Verdict,
)

_SUBTASK = Subtask("solution", "The whole task")
_MOST_REPEATED = 2
_UNCHECKED = "The solution ran, but nothing checked that its result is right; give a check with --check."
_STALE = (
    "The solution ran, but its check passes without it as well, on variables that you have already; delete those that "
    "it is to make, or start fresh with --state fresh."
)


@dataclass(frozen=True, slots=True)
class Ending:
    """A solution, if there is one, and the verdict on it."""

    solution: Solution | None
    verdict: Verdict


async def solve(run: Run, state: State) -> Ending:
    """Try solutions, each repaired from the ones before, until one passes or the rounds are used up.

    A repair that changes nothing is a round, but is not run; the second one in a row is the end.
    """
    after, checked = probe(run.task), bool(run.task.check and run.task.check.strip())
    stale = after is not None and checked and await _passes_anyway(run, after)
    apis = merged(_explored(run, state), await recommend_globally(run, state))
    attempts: list[Experience] = []
    repeated = 0
    for round_ in range(run.settings.solution_rounds):
        draft = await _draft(run, state, apis, tuple(attempts))
        if draft is None:
            break
        candidate = _candidate(run, round_, draft, attempts)
        run.emit(CandidateProposed(candidate))
        repeated = repeated + 1 if candidate.duplicate_of else 0
        if repeated == _MOST_REPEATED:
            break
        if repeated:
            continue
        attempt = await _attempt(run, state, candidate, after)
        attempts.append(attempt)
        await still_wanted()
        if attempt.observation.ran:
            return _accept(run, attempt, checked=checked, stale=stale)
    return Ending(_best(attempts), Verdict("unsolved", _why(attempts, checked=checked)))


async def _passes_anyway(run: Run, after: Probe) -> bool:
    """Whether the check passes before any solution was run, on variables that the user has already."""
    if not run.task.uses:
        return False
    run.meter.check(executions=1)
    try:
        [branch] = await run.root.fork(1)
    except BranchingChanged:  # the first solution will be told the same
        return False
    try:
        run.meter.reserve()
        return (await branch.run(after.code, timeout=run.settings.timeout)).ran
    except BranchingChanged:
        return False
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()


def _explored(run: Run, state: State) -> tuple[ApiDoc, ...]:
    """A_CoAE: the APIs that the selected candidates really call."""
    paths = [path for item in state.experience for path in item.apis]
    return tuple(api for api in map(run.knowledge.lookup, dict.fromkeys(paths)) if api)


async def _draft(run: Run, state: State, apis: tuple[ApiDoc, ...], attempts: tuple[Experience, ...]) -> Draft | None:
    """The next draft; asked for once more when it holds no code; `None` when the model has nothing left to try."""
    run.root.expect(1)
    for _ in range(2):
        if attempts:
            inputs = RepairInputs(run.task, apis, state.experience, attempts)
            drafts = [d async for d in ask_code(run, "repair", inputs, subject=attempts[-1].candidate.id)]
        else:
            first = SolveInputs(run.task, apis, state.experience)
            drafts = [d async for d in ask_code(run, "solve", first, subject="solution")]
        if drafts and not drafts[0].problem:
            return drafts[0]
    return None


def _candidate(run: Run, round_: int, draft: Draft, attempts: list[Experience]) -> Candidate:
    repairs = attempts[-1].candidate.id if attempts else None
    known = fingerprint(draft.code)
    twin = next((item.candidate.id for item in attempts if fingerprint(item.candidate.code) == known), None)
    id_ = f"s{run.agenda.number(_SUBTASK.id)}"
    return Candidate(id_, _SUBTASK.id, draft.code, round_, repairs, duplicate_of=twin)


async def _attempt(run: Run, state: State, candidate: Candidate, after: Probe | None) -> Experience:
    """Run a solution, and what checks it after it, in a clean branch; again if branches are then made otherwise."""
    for changes in range(MOST_CHANGES + 1):
        try:
            observation = await _in_branch(run, candidate, after)
            break
        except BranchingChanged as change:
            if changes == MOST_CHANGES:
                raise
            tell_change(run, change)
    run.meter.charge("execute", Usage(seconds=observation.seconds))
    types = known_types(state.experience) | dict(observation.names)
    apis = apis_used(candidate.code, run.knowledge, types=types)
    run.emit(CandidateObserved(candidate.id, observation, apis))
    return Experience(_SUBTASK, candidate, observation, apis)


async def _in_branch(run: Run, candidate: Candidate, after: Probe | None) -> Observation:
    run.meter.check(executions=2 if after else 1)
    [branch] = await run.root.fork(1)
    try:
        run.meter.reserve()
        observation = await branch.run(candidate.code, timeout=run.settings.timeout)
        if observation.ran and after:
            run.meter.reserve()
            checked = await branch.run(after.code, timeout=run.settings.timeout)
            observation = _with_check(observation, checked, after)
        if observation.ran:
            await keep_files(run, branch)
        return observation
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()


def _with_check(observation: Observation, checked: Observation, after: Probe) -> Observation:
    """The solution's observation, failed if its check failed."""
    if checked.ran:
        return replace(observation, seconds=observation.seconds + checked.seconds, note=after.passed)
    return replace(
        observation,
        status=checked.status,
        error=checked.error,
        outputs=(*observation.outputs, *checked.outputs),
        seconds=observation.seconds + checked.seconds,
        note=after.failed,
    )


def _accept(run: Run, attempt: Experience, *, checked: bool, stale: bool) -> Ending:
    proved = checked and not stale
    reasons = ("ran in a clean branch", "its check passed" if proved else "not checked")
    run.emit(CandidateSelected(Selection(_SUBTASK.id, attempt.candidate.id, reasons)))
    if proved:
        return Ending(_solution(attempt), Verdict("solved", "The solution ran and its check passed."))
    return Ending(_solution(attempt), Verdict("unchecked", _STALE if stale else _UNCHECKED))


def _solution(attempt: Experience) -> Solution:
    return Solution(attempt.candidate.code, attempt.candidate.id, attempt.apis)


def _finished(attempts: list[Experience]) -> list[Experience]:
    """Those that ran to their end and failed only what was asked of them afterwards."""
    return [item for item in attempts if item.observation.note.startswith("The program ran")]


def _best(attempts: list[Experience]) -> Solution | None:
    """The last program that ran to its end, for the user to go on from; a crash is no solution."""
    finished = _finished(attempts)
    return _solution(finished[-1]) if finished else None


def _why(attempts: list[Experience], *, checked: bool) -> str:
    if not attempts:
        return "The model gave no program that could be run."
    finished, tried = _finished(attempts), f"{len(attempts)} tried"
    last = (finished or attempts)[-1].observation
    what = last.error.headline if last.error else (last.note or last.status)
    if not finished:
        return f"No solution ran to its end ({tried}); the last one gave {what}"
    missed = "passed the check" if checked else "defines the function"
    return f"No solution {missed} ({tried}, {len(finished)} ran to their end); the last of these gave {what}"
