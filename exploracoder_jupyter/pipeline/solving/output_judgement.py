"""The model's part in correctness testing: it writes inputs, and judges what a program gives (CoCoST, section 3.2).

Inputs only, never what is expected. A judgement comes with a corrected program where the output is wrong, in the same
reply; the errors among the results are looked up beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.events import InputsInvented, Notice, SolutionJudged
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    ErrorInfo,
    Experience,
    InputRun,
    InventedInput,
    Judgement,
    Subtask,
)
from exploracoder_jupyter.pipeline.heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_parsed
from exploracoder_jupyter.pipeline.prompting.privacy_filter import redact_inputs
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import InventInputs, JudgeInputs
from exploracoder_jupyter.pipeline.solving.judge_replies import ParsedJudgement, parse_judgement
from exploracoder_jupyter.pipeline.solving.test_inputs import (
    InputReply,
    InventReply,
    display_last_value,
    parse_inputs,
    strip_assertions,
)
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis

_FOUND = 5
"""APIs that an error is looked up to."""
_MOST_ERRORS = 3
_MOST_QUERY = 400
_FAILING = re.compile(r"^-+>\s*\d+\s+(\S.*)$", re.MULTILINE)
"""The line that a traceback of IPython points at."""
PROGRAM_HERE = "# the program runs here"


async def invent(run: Run, program: Experience) -> tuple[InventedInput, ...]:
    """Inputs on which to try the program; none, and a notice, where the model gives none that can be used."""
    inputs = InventInputs(run.task, program, run.settings.test_inputs)
    try:
        reply = await ask_parsed(run, "invent", inputs, parse_inputs, form=InventReply, subject=program.candidate.id)
    except ReplyError as error:
        run.emit(Notice(f"No test inputs could be read from the model's replies: {error.message}", "warning"))
        return ()
    found = [item for number, one in enumerate(reply.tests, 1) if (item := _clean_input(run, one, number))]
    found = [replace(item, id=f"t{number}") for number, item in enumerate(found[: run.settings.test_inputs], 1)]
    if found:
        run.emit(InputsInvented(tuple(found)))
    return tuple(found)


def _clean_input(run: Run, reply: InputReply, number: int) -> InventedInput | None:
    """The input without assertions; `None`, and a notice, if there is nothing in it to run."""
    title = reply.title or f"input {number}"
    before, after = strip_assertions(reply.before), strip_assertions(reply.after)
    if before is None or after is None or not (before.code.strip() or after.code.strip()):
        run.emit(Notice(f"The generated input “{title}” was left out: it is no Python that could be run.", "warning"))
        return None
    if before.stripped or after.stripped:
        told = "what the model expects is not to be trusted, so it is shown what comes out instead"
        run.emit(Notice(f"Assertions were taken out of the generated input “{title}”: {told}."))
    return InventedInput("", title, before.code, display_last_value(after.code))


async def judge(
    run: Run, state: State, program: Experience, inputs: Sequence[InventedInput], results: Sequence[InputRun]
) -> ParsedJudgement:
    """What the model says of the results; unsure, with a notice, where its replies cannot be read."""
    told = tuple(_as_experience(program, given, result) for given, result in zip(inputs, results, strict=True))
    question = JudgeInputs(run.task, (), state.experience, program, told)
    question = replace(question, apis=await _look_up_errors(run, question))
    ids = [given.id for given in inputs]
    try:
        ruled = await ask_parsed(
            run, "judge", question, lambda text: parse_judgement(text, ids), subject=program.candidate.id
        )
    except ReplyError as error:
        run.emit(Notice(f"What the model said of the outputs could not be read: {error.message}", "warning"))
        ruled = ParsedJudgement(Judgement("unsure", "the model's replies could not be read"))
    run.emit(SolutionJudged(program.candidate.id, ruled.judgement))
    return ruled


def around_program(given: InventedInput) -> str:
    """The input as one piece of code, with a line where the program runs."""
    return "\n\n".join(part.strip("\n") for part in (given.before, PROGRAM_HERE, given.after) if part.strip())


def _as_experience(program: Experience, given: InventedInput, result: InputRun) -> Experience:
    candidate = Candidate(given.id, program.candidate.subtask, around_program(given))
    return Experience(Subtask(given.id, f"{given.id}: {given.title}"), candidate, result.observation)


@heuristic("searching the documentation", lambda run, question: ())
async def _look_up_errors(run: Run, question: JudgeInputs) -> tuple[ApiDoc, ...]:
    """The APIs nearest to each error among the results, as far as the errors may be shared."""
    limited = redact_inputs(question, run.sharing)
    assert isinstance(limited, JudgeInputs)
    errors = [item.observation.error for item in (limited.program, *limited.results) if item.observation.error]
    queries = dict.fromkeys(_query(error) for error in errors)
    found = [await run.knowledge.search(query, _FOUND) for query in list(queries)[:_MOST_ERRORS]]
    return merge_apis(*(tuple(item.api for item in items) for items in found))[:_FOUND]


def _query(error: ErrorInfo) -> str:
    """The error with the expression that failed."""
    failing = _FAILING.search(error.report) or _FAILING.search(error.traceback)
    return f"{error.headline} {failing.group(1) if failing else ''}".strip()[:_MOST_QUERY]
