"""Correctness testing: runs a solution on generated inputs, has its outputs judged, corrects it, and tests it again.

CoCoST, sections 3.2.1 and 3.2.2, with the user's check first: a correction has to pass it too. The rounds end when the
outputs are judged right or cannot be judged, when the model has no other program to offer, or when rounds or budget are
used up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.errors import BudgetExceeded
from exploracoder_jupyter.core.events import CandidateProposed, Notice, SolutionTested
from exploracoder_jupyter.core.types import Candidate, Experience, InputRun, InventedInput, Judgement
from exploracoder_jupyter.pipeline.exploring.subtask_attempt import fingerprint
from exploracoder_jupyter.pipeline.solving.correctness_requests import invent, judge
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION, try_inputs, try_solution
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.pipeline.step_context import Run, State, raise_if_cancelled

_OFFLINE = "The offline model can neither write test inputs nor judge outputs: --tests is ignored."
_UNSHARED = "Outputs are not shown to the model (--share none), so it cannot judge them: --tests is ignored."
_SPARE = 1.0
"""Seconds reserved for the end of the run."""


@dataclass(slots=True)
class TestingResult:
    """The outcome of testing a solution."""

    program: Experience
    """The last program that ran and passed the user's check."""
    inputs: tuple[InventedInput, ...] = ()
    results: tuple[InputRun, ...] = ()
    """What the program gave for the inputs, if it was tested."""
    judgement: Judgement | None = None
    """The judgement of the program, if it was judged."""
    unusable: int = 0
    """How many inputs failed without the program."""
    stop_reason: str = ""
    """Why there was no further round, if something was lacking; part of a sentence."""
    programs: list[Experience] = field(default_factory=list)
    """All programs that ran, the first one first."""


def can_test(run: Run) -> bool:
    """Whether solutions should be tested on inputs; emits a notice if that was requested but is impossible."""
    if not run.settings.tests:
        return False
    problem = _OFFLINE if run.model.name == OFFLINE else _UNSHARED if run.sharing == "none" else ""
    if problem:
        run.emit(Notice(problem, "warning"))
    return not problem


async def refine_solution(run: Run, state: State, program: Experience, check: CheckCode | None) -> TestingResult:
    """Run the rounds, starting from a program that ran and passed the user's check; a spent budget ends them."""
    tested = TestingResult(program, programs=[program])
    with anyio.move_on_after(max(run.meter.seconds_left - _SPARE, 0.0)) as scope:
        try:
            await _run_rounds(run, state, tested, check)
        except BudgetExceeded as spent:
            tested.stop_reason = spent.message
    if scope.cancelled_caught:
        tested.stop_reason = run.meter.out_of_time().message
    tested.stop_reason = tested.stop_reason[:1].lower() + tested.stop_reason[1:].rstrip(".")
    return tested


async def _run_rounds(run: Run, state: State, tested: TestingResult, check: CheckCode | None) -> None:
    program = tested.program
    run.root.expect(run.settings.test_inputs)
    tested.inputs = await invent(run, program)
    for round_ in range(run.settings.test_rounds + 1):
        results = await _run_on_inputs(run, tested, program)
        if not results:
            return
        parsed = await judge(run, state, program, tested.inputs, results)
        if program is tested.program:
            tested.results, tested.judgement = results, parsed.judgement
        if parsed.code is None or round_ == run.settings.test_rounds:
            return
        known, tried = fingerprint(parsed.code), [item.candidate for item in tested.programs]
        candidate = Candidate(
            f"s{run.agenda.next_number(SOLUTION.id)}",
            SOLUTION.id,
            parsed.code,
            tried[0].round + round_ + 1,
            tried[-1].id,
            duplicate_of=next((item.id for item in tried if fingerprint(item.code) == known), None),
        )
        await raise_if_cancelled()
        run.emit(CandidateProposed(candidate))
        if candidate.duplicate_of:
            tested.stop_reason = "the model had no other program to offer"
            return
        program = await try_solution(run, state, candidate, check)
        await raise_if_cancelled()
        tested.programs.append(program)
        if program.observation.ran:
            tested.program, tested.results, tested.judgement = program, (), None


async def _run_on_inputs(run: Run, tested: TestingResult, program: Experience) -> tuple[InputRun, ...]:
    """Return what the program gives for the inputs; inputs that fail without the program are reported and dropped."""
    if not tested.inputs:
        return ()
    results = await try_inputs(run, program.candidate.code, tested.inputs)
    await raise_if_cancelled()
    run.emit(SolutionTested(program.candidate.id, results))
    usable = []
    for one, result in zip(tested.inputs, results, strict=True):
        if result.usable:
            usable.append(one)
            continue
        seen = result.observation
        why = seen.error.headline if seen.error else seen.note or seen.status
        run.emit(Notice(f"The generated input “{one.title}” was skipped because its setup code fails: {why}"))
    tested.unusable += len(tested.inputs) - len(usable)
    tested.inputs = tuple(usable)
    return tuple(result for result in results if result.usable)
