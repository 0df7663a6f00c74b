"""Correctness testing: a solution that ran is tried on invented inputs, judged by its outputs, corrected, tried again.

CoCoST, sections 3.2.1 and 3.2.2, with the user's check first: a correction has to pass it too. The rounds end when the
outputs are judged right or cannot be judged, when the model has no other program to give, or when rounds or budget are
used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from exploracoder_jupyter.core.errors import BudgetSpent
from exploracoder_jupyter.core.events import CandidateProposed, Notice, SolutionTested
from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.types import Candidate, Experience, InputRun, InventedInput, Judgement
from exploracoder_jupyter.pipeline.exploring.subtask_attempt import fingerprint
from exploracoder_jupyter.pipeline.solving.output_judgement import invent, judge
from exploracoder_jupyter.pipeline.solving.program_trial import SOLUTION, try_inputs, try_solution
from exploracoder_jupyter.pipeline.solving.user_check import Probe
from exploracoder_jupyter.pipeline.step_context import Run, State, still_wanted

_OFFLINE = "The offline model can neither write test inputs nor judge outputs: --tests is passed over."
_UNSHARED = "Outputs are not shown to the model (--share none), so it cannot judge them: --tests is passed over."
_SPARE = 1.0
"""Seconds that are left to the run for its end."""


@dataclass(slots=True)
class Refined:
    """What has become of a solution in the rounds."""

    kept: Experience
    """The last program that ran and passed the user's check."""
    inputs: tuple[InventedInput, ...] = ()
    results: tuple[InputRun, ...] = ()
    """What the kept program gave, if it was tried."""
    judgement: Judgement | None = None
    """Of the kept program, if it was judged."""
    unusable: int = 0
    """How many inputs failed by themselves."""
    ended: str = ""
    """Why there was no further round, if that was for want of something; part of a sentence."""
    tried: list[Experience] = field(default_factory=list)
    """All programs, the first one first."""


def can_test(run: Run) -> bool:
    """Whether solutions are to be tried on inputs; a notice says so where that was asked for and cannot be done."""
    if not run.settings.tests:
        return False
    problem = _OFFLINE if run.model.name == OFFLINE else _UNSHARED if run.sharing == "none" else ""
    if problem:
        run.emit(Notice(problem, "warning"))
    return not problem


async def refine(run: Run, state: State, program: Experience, after: Probe | None) -> Refined:
    """Go through the rounds, from a program that ran and passed the user's check; the end of the budget ends them."""
    refined = Refined(program, tried=[program])
    with anyio.move_on_after(max(run.meter.seconds_left - _SPARE, 0.0)) as scope:
        try:
            await _rounds(run, state, refined, after)
        except BudgetSpent as spent:
            refined.ended = _clause(spent)
    if scope.cancelled_caught:
        refined.ended = _clause(run.meter.out_of_time())
    return refined


async def _rounds(run: Run, state: State, refined: Refined, after: Probe | None) -> None:
    program = refined.kept
    run.root.expect(run.settings.test_inputs)
    refined.inputs = await invent(run, program)
    for round_ in range(run.settings.test_rounds + 1):
        results = await _tried(run, refined, program)
        if not results:
            return
        ruled = await judge(run, state, program, refined.inputs, results)
        if program is refined.kept:
            refined.results, refined.judgement = results, ruled.judgement
        if ruled.code is None or round_ == run.settings.test_rounds:
            return
        candidate = _candidate(run, round_ + 1, ruled.code, refined)
        await still_wanted()
        run.emit(CandidateProposed(candidate))
        if candidate.duplicate_of:
            refined.ended = "the model had no other program to give"
            return
        program = await _next(run, state, candidate, after, refined)


async def _tried(run: Run, refined: Refined, program: Experience) -> tuple[InputRun, ...]:
    """What the program gives for the inputs; those that fail by themselves are told, and are tried no more."""
    if not refined.inputs:
        return ()
    results = await try_inputs(run, program.candidate.code, refined.inputs)
    await still_wanted()
    run.emit(SolutionTested(program.candidate.id, results))
    for given, result in zip(refined.inputs, results, strict=True):
        if not result.usable:
            _tell_unusable(run, given, result)
    usable = [given for given, result in zip(refined.inputs, results, strict=True) if result.usable]
    refined.unusable += len(refined.inputs) - len(usable)
    refined.inputs = tuple(usable)
    return tuple(result for result in results if result.usable)


def _tell_unusable(run: Run, given: InventedInput, result: InputRun) -> None:
    seen = result.observation
    why = seen.error.headline if seen.error else seen.note or seen.status
    run.emit(Notice(f"The generated input “{given.title}” was left out: what it runs before the program fails: {why}"))


async def _next(run: Run, state: State, candidate: Candidate, after: Probe | None, refined: Refined) -> Experience:
    """The corrected program, run as any solution is; it is kept from then on if it ran and passed the user's check."""
    program = await try_solution(run, state, candidate, after)
    await still_wanted()
    refined.tried.append(program)
    if program.observation.ran:
        refined.kept, refined.results, refined.judgement = program, (), None
    return program


def _candidate(run: Run, round_: int, code: str, refined: Refined) -> Candidate:
    known = fingerprint(code)
    twin = next((item.candidate.id for item in refined.tried if fingerprint(item.candidate.code) == known), None)
    last: Sequence[Experience] = refined.tried[-1:]
    first = refined.tried[0].candidate.round
    id_ = f"s{run.agenda.number(SOLUTION.id)}"
    return Candidate(id_, SOLUTION.id, code, first + round_, last[0].candidate.id, duplicate_of=twin)


def _clause(spent: BudgetSpent) -> str:
    return spent.message[:1].lower() + spent.message[1:].rstrip(".")
