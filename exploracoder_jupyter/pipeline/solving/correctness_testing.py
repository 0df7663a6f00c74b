"""Correctness testing: runs a solution on generated inputs, has its outputs judged, corrects it, and tests it again.

CoCoST, sections 3.2.1 and 3.2.2, with the user's check first: a correction has to pass it too. The rounds end when the
outputs are judged right or cannot be judged, when the model has no other program to offer, or when rounds or budget are
used up. The model writes inputs only, never expected results. A judgement of wrong comes with a corrected program in
the same reply; APIs for the errors among the results are looked up beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.errors import BudgetExceeded, ReplyError
from exploracoder_jupyter.core.events import CandidateProposed, InputsInvented, Notice, SolutionJudged, SolutionTested
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Experience,
    InputRun,
    InventedInput,
    Judgement,
    Subtask,
)
from exploracoder_jupyter.pipeline.exploring.candidate_runs import fingerprint
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_json, ask_parsed
from exploracoder_jupyter.pipeline.prompting.privacy_filter import redact_inputs
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import InventInputs, JudgeInputs
from exploracoder_jupyter.pipeline.solving.generated_inputs import (
    InputReply,
    InventReply,
    display_last_value,
    strip_assertions,
)
from exploracoder_jupyter.pipeline.solving.judgement_parsing import parse_judgement
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION, try_inputs, try_solution
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis, raise_if_cancelled

_FOUND = 5
"""Number of APIs that are looked up for one error."""
_MOST_ERRORS = 3
_MOST_QUERY = 400
_FAILING = re.compile(r"^-+>\s*\d+\s+(\S.*)$", re.MULTILINE)
"""The line that an IPython traceback points at."""

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
    unusable: int = 0
    """How many inputs failed without the program."""
    stop_reason: str = ""
    """Why there was no further round, if something was lacking; part of a sentence."""
    programs: list[Experience] = field(default_factory=list)


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
        judgement, code = await judge(run, state, program, tested.inputs, results)
        if program is tested.program:
            tested.results, tested.judgement = results, judgement
        if code is None or round_ == run.settings.test_rounds:
            return
        known, tried = fingerprint(code), [item.candidate for item in tested.programs]
        candidate = Candidate(
            f"s{run.agenda.next_number(SOLUTION.id)}",
            SOLUTION.id,
            code,
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


async def invent(run: Run, program: Experience) -> tuple[InventedInput, ...]:
    """Return inputs on which to test the program; none, with a notice, if the model gives no usable ones."""
    inputs = InventInputs(run.task, program, run.settings.test_inputs)
    try:
        reply = await ask_json(run, "invent", inputs, InventReply, subject=program.candidate.id)
    except ReplyError as error:
        run.emit(Notice(f"No test inputs could be read from the model's replies: {error.message}", "warning"))
        return ()
    found = [item for number, one in enumerate(reply.tests, 1) if (item := _clean_input(run, one, number))]
    found = [replace(item, id=f"t{number}") for number, item in enumerate(found[: run.settings.test_inputs], 1)]
    if found:
        run.emit(InputsInvented(tuple(found)))
    return tuple(found)


def _clean_input(run: Run, reply: InputReply, number: int) -> InventedInput | None:
    """Return the input without assertions; `None`, with a notice, if nothing in it can be run."""
    title = reply.title or f"input {number}"
    before, after = strip_assertions(reply.before), strip_assertions(reply.after)
    if before is None or after is None or not (before.strip() or after.strip()):
        run.emit(Notice(f"The generated input “{title}” was skipped: it contains no valid Python code.", "warning"))
        return None
    if (before, after) != (reply.before, reply.after):
        why = "the model's expectations are unreliable, so it is shown the actual results instead"
        run.emit(Notice(f"Assertions were removed from the generated input “{title}”: {why}."))
    return InventedInput("", title, before, display_last_value(after))


async def judge(
    run: Run, state: State, program: Experience, inputs: Sequence[InventedInput], results: Sequence[InputRun]
) -> tuple[Judgement, str | None]:
    """Return the model's judgement of the results and its correction; unsure, with a notice, if it is unreadable."""
    experiences = []
    for one, result in zip(inputs, results, strict=True):
        parts = (one.before, "# the program runs here", one.after)
        code = "\n\n".join(part.strip("\n") for part in parts if part.strip())
        candidate = Candidate(one.id, program.candidate.subtask, code)
        experiences.append(Experience(Subtask(one.id, f"{one.id}: {one.title}"), candidate, result.observation))
    question = JudgeInputs(run.task, (), state.experience, program, tuple(experiences))
    question = replace(question, apis=await _look_up_errors(run, question))
    ids = [test_input.id for test_input in inputs]
    try:
        parsed: tuple[Judgement, str | None] = await ask_parsed(
            run, "judge", question, lambda text: parse_judgement(text, ids), subject=program.candidate.id
        )
    except ReplyError as error:
        run.emit(Notice(f"The model's judgement of the outputs could not be parsed: {error.message}", "warning"))
        parsed = Judgement("unsure", "the model's replies could not be parsed"), None
    run.emit(SolutionJudged(program.candidate.id, parsed[0]))
    return parsed


@heuristic("searching the documentation", lambda run, question: ())
async def _look_up_errors(run: Run, question: JudgeInputs) -> tuple[ApiDoc, ...]:
    """Return the APIs nearest to each error among the results and the expression that failed, as far as shared."""
    redacted = redact_inputs(question, run.sharing)
    assert isinstance(redacted, JudgeInputs)
    errors = [item.observation.error for item in (redacted.program, *redacted.results) if item.observation.error]
    queries: dict[str, None] = {}
    for error in errors:
        failing = _FAILING.search(error.report) or _FAILING.search(error.traceback)
        queries[f"{error.headline} {failing.group(1) if failing else ''}".strip()[:_MOST_QUERY]] = None
    found = [await run.knowledge.search(query, _FOUND) for query in list(queries)[:_MOST_ERRORS]]
    return merge_apis(*(tuple(item.api for item in items) for items in found))[:_FOUND]
