"""Runs a whole program in a clean branch: as a solution, with its check and an example, or on a generated input.

If the branching method changes during a trial, the trial is repeated from the beginning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged
from exploracoder_jupyter.core.events import CandidateObserved, CandidateProposed, Notice
from exploracoder_jupyter.core.types import (
    Candidate,
    Experience,
    InputRun,
    Introduction,
    InventedInput,
    Observation,
    Subtask,
    Usage,
)
from exploracoder_jupyter.pipeline.async_task_groups import task_group
from exploracoder_jupyter.pipeline.branch_operations import (
    MOST_CHANGES,
    OWN_END,
    accept_own_end,
    close_branches,
    keep_files,
    notify_branching_change,
)
from exploracoder_jupyter.pipeline.exploring.called_apis import find_called_apis, known_types
from exploracoder_jupyter.pipeline.exploring.result_objection import refuse_invented
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.similar_apis import add_suggestions
from exploracoder_jupyter.pipeline.solving.quoted_code import quoted_failing_code
from exploracoder_jupyter.pipeline.solving.shown_evidence import show_named_variables, shows_something
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.pipeline.step_context import Run, State

SOLUTION = Subtask("solution", "The whole task")
_QUOTED = replace(SOLUTION, title="The code that the task quotes")
EXAMPLE = replace(SOLUTION, title="An example, after that program")
RunCode = Callable[[str], Awaitable[Observation]]
_T = TypeVar("_T")


async def try_solution(run: Run, state: State, candidate: Candidate, check: CheckCode | None) -> Experience:
    """Run a solution, followed by its check."""
    return (await try_with_example(run, state, candidate, check))[0]


async def try_with_example(
    run: Run,
    state: State,
    candidate: Candidate,
    check: CheckCode | None,
    example: Candidate | None = None,
    inspection: str = "",
) -> tuple[Experience, ...]:
    """Run a solution with its check and, if it ran, an example in the state that it left; return both, as far as run.

    `inspection` is code that runs where the solution or the example failed; its output is added to that failure.
    """
    work = partial(_run_solution, run, candidate, check, example, inspection)
    observations = await _retry_on_branching_change(run, work)
    cells = [(SOLUTION, candidate), *([(EXAMPLE, example)] if example else [])]
    return tuple(_record(run, state, *cell, seen) for cell, seen in zip(cells, observations, strict=False))


def _record(run: Run, state: State, subtask: Subtask, candidate: Candidate, observation: Observation) -> Experience:
    """Charge and emit what was executed."""
    if subtask is not EXAMPLE:
        observation = refuse_invented(run.task, candidate.code, observation)
    observation = add_suggestions(run, observation)
    run.meter.charge("execute", Usage(seconds=observation.seconds))
    types = known_types(state.experience) | dict(observation.names)
    looked_up = run.progress.looked_up.values()
    apis = find_called_apis(candidate.code, run.knowledge, recommended=looked_up, types=types)
    if subtask is EXAMPLE:
        run.emit(CandidateProposed(candidate))
    run.emit(CandidateObserved(candidate.id, observation, apis))
    return Experience(subtask, candidate, observation, apis)


async def passes_without_solution(run: Run, check: CheckCode) -> bool:
    """Whether the check passes before any solution has run, using variables that the user already has."""
    run.meter.check(executions=2 if check.before else 1)
    try:
        [branch] = await run.root.fork(1)
    except BranchingChanged:  # the first solution will raise the same
        return False
    try:
        if check.before:
            await _step(run, branch, check.before)
        return (await _step(run, branch, check.code)).ran
    except BranchingChanged:
        return False
    finally:
        await close_branches([branch])


async def run_quoted_code(run: Run) -> tuple[Experience, ...]:
    """Run the code that the task quotes as failing; return it with its error, or nothing where it does not fail."""
    code = quoted_failing_code(run.task)
    if not code:
        return ()
    run.meter.check(executions=1)
    try:
        [branch] = await run.root.fork(1)
    except BranchingChanged:  # the first program will raise the same
        return ()
    try:
        observation = accept_own_end(await _step(run, branch, code))
    except BranchingChanged:
        return ()
    finally:
        await close_branches([branch])
    if observation.status != "error" or observation.error is None:
        return ()
    candidate = Candidate(f"s{run.agenda.next_number(SOLUTION.id)}", SOLUTION.id, code)
    run.emit(Notice(f"The code that the task quotes was run first: {observation.error.headline}"))
    run.emit(CandidateProposed(candidate))
    return (_record(run, State(Introduction(""), run.root), _QUOTED, candidate, observation),)


async def try_inputs(run: Run, program: str, inputs: Sequence[InventedInput]) -> tuple[InputRun, ...]:
    """Run the program on each input, each in its own branch."""
    results = await _retry_on_branching_change(run, partial(_run_on_inputs, run, program, inputs))
    run.meter.charge("execute", Usage(seconds=sum(item.observation.seconds for item in results)))
    return results


async def _retry_on_branching_change(run: Run, work: Callable[[], Awaitable[_T]]) -> _T:
    """Return the result of the work, repeating it if the branching method changes."""
    for _ in range(MOST_CHANGES):
        try:
            return await work()
        except BranchingChanged as change:
            notify_branching_change(run, change)
    return await work()


async def _run_solution(
    run: Run, candidate: Candidate, check: CheckCode | None, example: Candidate | None, inspection: str
) -> tuple[Observation, ...]:
    steps = (check.before, candidate.code, check.code) if check else ("", candidate.code, "")
    run.meter.check(executions=sum(map(bool, steps)))
    [branch] = await run.root.fork(1)
    try:
        step = partial(_step, run, branch)
        observation = await run_with_check(step, candidate.code, check)
        if not observation.ran:
            return (await _inspect(step, observation, inspection),)
        await keep_files(run, branch)
        if example is None:
            checked = check is not None and check.demands == "check"
            return (observation if checked or run.as_published else await _show_named(run, step, observation),)
        return observation, await _inspect(step, accept_own_end(await step(example.code)), inspection)
    finally:
        await close_branches([branch])


async def _show_named(run: Run, step: RunCode, observation: Observation) -> Observation:
    """Add what the variables that the task names hold, where the program itself showed nothing of its result."""
    code = "" if shows_something(run.task, observation) else show_named_variables(run.task)
    if not code:
        return observation
    seen = await step(code)
    return replace(observation, text=seen.text, schema=seen.schema) if seen.ran else observation


async def _inspect(step: RunCode, observation: Observation, inspection: str) -> Observation:
    """Add the output of the inspection, which contains names and types but no values, to an observed error."""
    if observation.status != "error" or not inspection:
        return observation
    seen = await step(inspection)
    texts = ("\n".join(filter(None, (text.strip("\n"), seen.text))) for text in (observation.text, observation.schema))
    text, schema = texts
    return replace(observation, text=text, schema=schema) if seen.ran and seen.text.strip() else observation


async def run_with_check(step: RunCode, code: str, check: CheckCode | None) -> Observation:
    """Run a program and its check; the observation is a failure if the check failed."""
    lacking = ""
    if check and check.before and not (before := await step(check.before)).ran:
        why = before.error.message if before.error and before.error.message else before.status
        lacking = f"What it compares with could have been changed by the program: {why}."
    observation = accept_own_end(await step(code))
    if not (observation.ran and check):
        return observation
    checked = await step(check.code)
    seconds, ended = observation.seconds + checked.seconds, OWN_END if observation.note == OWN_END else ""
    if checked.ran:
        return replace(observation, seconds=seconds, note=" ".join(filter(None, (check.passed, lacking, ended))))
    return replace(
        observation,
        status=checked.status,
        error=checked.error,
        outputs=(*observation.outputs, *checked.outputs),
        seconds=seconds,
        note=f"{check.failed} {ended}".strip(),
        unmet=check.demands,
    )


async def run_on_input(step: RunCode, program: str, test_input: InventedInput) -> InputRun:
    """Run a program on a generated input."""
    observation = Observation("ok")
    for place, code in (("before", test_input.before), ("program", program), ("after", test_input.after)):
        if code.strip():
            observation = _concatenate(observation, accept_own_end(await step(code)))
        if not observation.ran:
            return InputRun(test_input.id, observation, usable=place != "before")
    return InputRun(test_input.id, observation)


async def _run_on_inputs(run: Run, program: str, inputs: Sequence[InventedInput]) -> tuple[InputRun, ...]:
    branches = await run.root.fork(len(inputs))
    found: dict[str, InputRun] = {}
    limiter = anyio.CapacityLimiter(run.parallel)

    async def one(branch: Branch, test_input: InventedInput) -> None:
        async with limiter:
            found[test_input.id] = await run_on_input(partial(_step, run, branch), program, test_input)

    try:
        async with task_group() as group:
            for branch, test_input in zip(branches, inputs, strict=True):
                group.start_soon(one, branch, test_input)
    finally:
        await close_branches(branches)
    return tuple(found[test_input.id] for test_input in inputs)


def _concatenate(first: Observation, second: Observation) -> Observation:
    """Join two observations: the output of both, otherwise the second."""
    return replace(
        second,
        outputs=(*first.outputs, *second.outputs),
        text="\n".join(text.strip("\n") for text in (first.text, second.text) if text.strip()),
        schema="\n".join(text.strip("\n") for text in (first.schema, second.schema) if text.strip()),
        warnings=(*first.warnings, *second.warnings),
        logs=(*first.logs, *second.logs),
        files=tuple(dict.fromkeys([*first.files, *second.files])),
        seconds=first.seconds + second.seconds,
    )


async def _step(run: Run, branch: Branch, code: str) -> Observation:
    run.meter.reserve()
    return await branch.run(code, timeout=run.settings.timeout)
