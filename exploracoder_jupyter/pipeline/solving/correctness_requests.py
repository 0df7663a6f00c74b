"""The model's part in correctness testing: writing inputs and judging a program's outputs (CoCoST, section 3.2).

The model writes inputs only, never expected results. If the output is wrong, the judgement comes with a corrected
program in the same reply; APIs for the errors among the results are looked up beforehand.
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
    Experience,
    InputRun,
    InventedInput,
    Judgement,
    Subtask,
)
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
from exploracoder_jupyter.pipeline.solving.judgement_parsing import ParsedJudgement, parse_judgement
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis

_FOUND = 5
"""Number of APIs that are looked up for one error."""
_MOST_ERRORS = 3
_MOST_QUERY = 400
_FAILING = re.compile(r"^-+>\s*\d+\s+(\S.*)$", re.MULTILINE)
"""The line that an IPython traceback points at."""


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
) -> ParsedJudgement:
    """Return the model's judgement of the results; unsure, with a notice, if its replies cannot be parsed."""
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
        parsed = await ask_parsed(
            run, "judge", question, lambda text: parse_judgement(text, ids), subject=program.candidate.id
        )
    except ReplyError as error:
        run.emit(Notice(f"The model's judgement of the outputs could not be parsed: {error.message}", "warning"))
        parsed = ParsedJudgement(Judgement("unsure", "the model's replies could not be parsed"))
    run.emit(SolutionJudged(program.candidate.id, parsed.judgement))
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
