"""Runs a whole program in a clean branch, and what it showed of the task."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from textwrap import dedent
from typing import Final, TypeVar

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged
from exploracoder_jupyter.core.events import CandidateObserved, CandidateProposed, Notice
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import (
    Candidate,
    Experience,
    InputRun,
    Introduction,
    InventedInput,
    Observation,
    Subtask,
    Task,
    Usage,
)
from exploracoder_jupyter.pipeline.code_analysis import find_called_apis, known_types, unbound_names
from exploracoder_jupyter.pipeline.concurrency import task_group
from exploracoder_jupyter.pipeline.context import (
    MOST_CHANGES,
    OWN_END,
    Run,
    State,
    accept_own_end,
    close_branches,
    heuristic,
    keep_files,
    notify_branching_change,
)
from exploracoder_jupyter.pipeline.exploring.selection import find_facts, refuse_invented, stated_facts
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.retrieval.lookups import add_suggestions
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.text.replies import split_fenced, without_fenced_blocks

# Finds code that a task quotes because it fails: "why does this raise", with a block of Python.
#
# Such code is run before anything is written, so that the first request has its error. Code in a task is more often
# an example of use; therefore the prose around it has to speak of a failure, and it has to be a program of its own.

_FAILS: Final = re.compile(
    r"\bwhy\b[^.?!]*\b(?:raise|fail|crash|break|error|not work)|\b(?:raises|fails|crashes|breaks)\b(?! if\b| when\b)"
    r"|\b(?:does(?:n't| not)|won't|will not) (?:work|run)\b|\b(?:fix|debug|repair)\b|\bbroken\b"
    r"|\b(?:get|got|gives?|gave|with|following|this|an?) (?:\w+ ){0,2}(?:error|exception|traceback)\b"
    r"|\bTraceback \(most recent|^\w*(?:Error|Exception): ",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE: Final = re.compile(
    r"\bwhy (?:does|do|did|is|are)\s+`([^`\n]+)`|`([^`\n]+\))`\s+(?:raises|fails|crashes)\b", re.IGNORECASE
)
_INDENTED: Final = re.compile(r"(?:^(?: {4}|\t)\S.*\n?(?:^(?: {4}|\t).*\n?|^[ \t]*\n(?= {4}|\t))*)", re.MULTILINE)


@heuristic("looking for failing code in the task", lambda task: "")
def quoted_failing_code(task: Task) -> str:
    """Return the code that the task quotes as failing; empty if there is none."""
    text = dedent(task.text)
    inline = _INLINE.search(text)
    prose = without_fenced_blocks(text)
    candidates = [block.body for _, block in split_fenced(text) if block.language in ("", "python")]
    candidates += [dedent(found[0]) for found in _INDENTED.finditer(prose)]
    if not _FAILS.search(prose):
        candidates = []
    if inline:
        candidates.append(next(filter(None, inline.groups())))
    programs = [code.strip("\n") for code in candidates if parse_python(dedent(code)).body]
    return next((code for code in programs if not _needs_the_solution(code, task)), "")


def _needs_the_solution(code: str, task: Task) -> bool:
    return bool(task.solution_name) and task.solution_name in (unbound_names(code) or ())


# What a program showed, as far as it tells whether the task is done, and what in it speaks against that.
#
# A model that is asked whether anything is left to do sees the last program, the example that ran after it, and the
# values of the variables that the task names: neither documentation nor earlier tries. Where it finds nothing
# although something speaks against that, it is told so once. Only what can be found in the text counts: a value
# that the task states and that occurs neither in the program nor in what came out, and values that are all missing.

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_QUOTED_RESULT: Final = re.compile(r"`([^\W\d]\w*)`|(?<![\w`])(?:\"([^\"\n]{1,60})\"|'([^'\n]{1,60})')(?![\w`])")
"""A name between backticks, or a text between quotation marks."""
_CALL: Final = re.compile(r"`[^`\n]*\w\([^`\n]*`|^\s*>>>.*$", re.MULTILINE)
"""Code in the prose, whose arguments are not results."""
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ALL_MISSING: Final = re.compile(r"^ *(?P<what>\S[^:\n]*): (?:[^\n]*, )?all (?:missing|null|NaN|NaT)\b", re.MULTILINE)
_DISPLAY: Final = "__import__('IPython.display', fromlist=['_']).display"
_EXPECTED: Final = re.compile(r"\b(?:missing|null|nan|nat|empty)\b", re.IGNORECASE)
_MOST: Final = 5


def gather_evidence(task: Task, seen: Sequence[Experience]) -> tuple[Experience, ...]:
    """Return the last program with the example after it, if any.

    Of the values that they changed, those that the task names come first and in full, the others with their first line,
    and modules not at all. `seen` are programs and the examples after them, in the order in which they ran.
    """
    start = max((at for at, item in enumerate(seen) if not item.candidate.parent), default=0)
    named = {name: place for place, name in reversed([*enumerate(_IDENTIFIER.findall(task.text))])}

    def arrange(observation: Observation) -> Observation:
        values = [one for one in observation.changes if one.type != "module"]
        first = sorted((one for one in values if one.name in named), key=lambda one: named[one.name])
        others = [one for one in values if one.name not in named]
        if first or observation.text.strip():
            others = [replace(one, summary=one.summary.partition("\n")[0]) for one in others]
        return replace(observation, changes=(*first, *others))

    return tuple(replace(item, observation=arrange(item.observation)) for item in seen[start:])


def shows_something(task: Task, *observations: Observation) -> bool:
    """Whether there is an output, a file, or the value of a variable that the task names."""
    named = {*_IDENTIFIER.findall(task.text)}
    return any(
        seen.text.strip() or seen.files or any(one.name in named and one.summary for one in seen.changes)
        for seen in observations
    )


def show_named_variables(task: Task) -> str:
    """Return code that displays the user's variables that the task names; empty if it names none."""
    words = {*_IDENTIFIER.findall(task.text)}
    return "\n".join(f"print({f'{name}:'!r}); {_DISPLAY}({name})" for name in task.uses if name in words)


@heuristic("comparing what came out with the task", lambda task, evidence: "")
def find_doubt(task: Task, evidence: Sequence[Experience]) -> str:
    """Return what speaks against a program that was called right, as sentences; empty if nothing does."""
    absent = list(dict.fromkeys(_absent_values(task, evidence)))[:_MOST]
    sentences = [f"The task states {', '.join(absent)}, but neither program nor output contains it."] if absent else []
    if not _EXPECTED.search(task.text):
        missing = [
            f"{found['what']} in {change.name}"
            for item in evidence
            for change in item.observation.changes
            for found in _ALL_MISSING.finditer(change.summary)
        ]
        missing = list(dict.fromkeys(missing))[:_MOST]
        sentences += [f"All values are missing: {', '.join(missing)}."] if missing else []
    return " ".join(sentences)


def _absent_values(task: Task, evidence: Sequence[Experience]) -> Iterator[str]:
    """Yield what the task states as a result, or quotes, and what neither code nor output contains."""
    shown = "\n".join(text for item in evidence for text in _texts(item))
    known = "\n".join([shown, task.solution_name or "", *task.libraries, *task.uses]).casefold()
    facts = find_facts(_GROUPED.sub("", shown))
    numbers = [fact for fact in facts if isinstance(fact, float)]
    prose = _CALL.sub("", without_fenced_blocks(task.text))
    for fact in stated_facts(_GROUPED.sub("", prose)):
        if isinstance(fact, float) and not _is_near(fact, numbers):
            yield f"{fact:.12g}"
    for match in _QUOTED_RESULT.finditer(prose):
        text = next(filter(None, match.groups()))
        if text.casefold() not in known:
            yield match[0].strip("`")


def _texts(item: Experience) -> Iterator[str]:
    observation = item.observation
    yield item.candidate.code
    yield observation.text
    yield from observation.files
    for change in observation.changes:
        yield f"{change.name} {change.summary}"


def _is_near(stated: float, numbers: Sequence[float]) -> bool:
    """Whether one of the numbers is the stated one, rounded to as many places, or as a share of a hundred."""
    places = len(f"{stated:.12g}".partition(".")[2])
    return any(stated in (round(number, places), round(number * 100, places)) for number in numbers)


# Runs a whole program in a clean branch: as a solution, with its check and an example, or on a generated input.
#
# If the branching method changes during a trial, the trial is repeated from the beginning.

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
