"""Asking the model: budget, prompt, record, and one more try for a reply that cannot be used.

Every request ends in exactly one `ModelCalled` event, also when it fails or is cancelled halfway, so that cost and
replies are never lost. While it writes code a model may look APIs up (`lookups`): then the choice that asks goes on by
itself with a request of its own for each answer, and the others are not held up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from exploracoder_jupyter.core.errors import BudgetSpent, EndpointError, ReplyError
from exploracoder_jupyter.core.events import ModelCalled
from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.types import Call, Exchange, Message, Sampling, Step, Usage
from exploracoder_jupyter.pipeline.merged_streams import Put, merged
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.passage_packing import CHARACTERS_PER_TOKEN
from exploracoder_jupyter.pipeline.prompting.privacy_filter import redact_inputs
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import (
    DebugInputs,
    Inputs,
    ProposeInputs,
    RepairInputs,
    SolveInputs,
)
from exploracoder_jupyter.pipeline.prompting.prompt_templates import render
from exploracoder_jupyter.pipeline.prompting.reply_forms import encodable, parse_code, parse_json
from exploracoder_jupyter.pipeline.prompting.tool_call_text import asked, parse_code_without_calls
from exploracoder_jupyter.pipeline.retrieval.model_lookups import TOOLS, Desk
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.pipeline.task_groups import task_group

_R = TypeVar("_R", bound=BaseModel)
_T = TypeVar("_T")
PRECISE = Sampling(temperature=0.0)
_FEW_TOKENS = 8000
"""With more left in the budget, the length of replies is left to the server."""


_LONGEST_QUOTED = 8000
"""Characters of an unusable reply that are sent back with what was wrong."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Code as the model gave it, or the reason why there is none."""

    code: str
    problem: str | None = None


async def ask_json(run: Run, step: Step, inputs: Inputs, form: type[_R], *, subject: str = "") -> _R:
    """A structured reply; a malformed one is asked for once more, with what was wrong.

    Raises:
        ReplyError: the second reply was no better.
    """
    return await ask_parsed(run, step, inputs, lambda text: parse_json(text, form), form=form, subject=subject)


async def ask_parsed(
    run: Run,
    step: Step,
    inputs: Inputs,
    parse: Callable[[str], _T],
    *,
    form: type[BaseModel] | None = None,
    subject: str = "",
) -> _T:
    """A reply as `parse` reads it; one that it refuses with a ReplyError is asked for once more.

    Raises:
        ReplyError: the second reply was no better.
    """
    request = _build_request(run, step, inputs, subject, PRECISE, form)
    text = await _request_text(run, request)
    try:
        return parse(text)
    except ReplyError as error:
        again = replace(
            request, messages=(*request.messages, *_retry_messages(text, error, "JSON" if form else "form"))
        )
        return parse(await _request_text(run, again))


async def ask_text(run: Run, step: Step, inputs: Inputs) -> str:
    """A reply in prose.

    Raises:
        ReplyError: it is empty.
    """
    text = (await _request_text(run, _build_request(run, step, inputs, "", PRECISE, None))).strip()
    if not text:
        raise ReplyError("the reply is empty.")
    return text


async def ask_code(run: Run, step: Step, inputs: Inputs, *, subject: str, n: int = 1) -> AsyncGenerator[Draft, None]:
    """Up to `n` drafts, each as soon as its reply is complete and all that it looked up is answered."""
    sampling = Sampling(run.settings.temperature, run.settings.top_p, n=n)
    request = _build_request(run, step, inputs, subject, sampling, None)
    if lookups := _affordable_lookups(run, request):
        told = render(step, _with_lookups(request.inputs, lookups))
        request = replace(request, messages=told, tools=TOOLS)
    async with aclosing(merged([partial(_produce_drafts, run, request, lookups)])) as drafts:
        async for draft in drafts:
            yield draft


def _affordable_lookups(run: Run, request: ModelRequest) -> int:
    """How many APIs may be looked up for one draft: none by the offline model, fewer where tokens are.

    Each look-up of each draft costs the prompt once more, and what is still to come must be paid for too.
    """
    if run.model.name == OFFLINE or run.meter.tokens_left < _FEW_TOKENS:
        return 0
    prompt = sum(len(message.content) for message in request.messages) / CHARACTERS_PER_TOKEN
    share = run.meter.tokens_left / (_steps_left(run, request.subject) + 1)
    return min(run.retrieval.lookups, max(int((share - prompt) / (prompt * request.sampling.n)), 0))


def _steps_left(run: Run, subject: str) -> int:
    """The subtasks from that of the subject on, the solution as the last one."""
    ids = [subtask.id for subtask in run.agenda.plan.subtasks]
    here = subject.partition(".")[0]
    return len(ids) - ids.index(here) if here in ids else 0


def _with_lookups(inputs: Inputs, lookups: int) -> Inputs:
    if isinstance(inputs, ProposeInputs | DebugInputs | SolveInputs | RepairInputs):
        return replace(inputs, lookups=lookups)
    return inputs


async def _produce_drafts(run: Run, request: ModelRequest, lookups: int, put: Put[Draft]) -> None:
    """Put the drafts of a request; those that look something up go on beside the others."""
    known: dict[tuple[str, str], str] = {}
    async with task_group() as group, aclosing(_request_replies(run, request)) as replies:
        async for reply in replies:
            if lookups and _pending_calls(reply):
                desk = Desk(run, request.subject, lookups, known)
                group.start_soon(_look_up, run, request, reply, desk, put)
            else:
                put(_draft(reply, parse_code_without_calls if lookups else parse_code))


async def _look_up(run: Run, request: ModelRequest, reply: Reply, desk: Desk, put: Put[Draft]) -> None:
    """Answer until the reply is code, or more is asked for than there is; what stops this draft stops no other."""
    try:
        while (calls := _pending_calls(reply)) and not desk.exhausted:
            messages = (*request.messages, *await desk.answered(reply, calls))
            left = run.meter.tokens_left
            sampling = _limit_tokens(replace(request.sampling, n=1), left)
            request = replace(request, messages=messages, sampling=sampling, may_call=desk.left > 0, tokens_left=left)
            reply = await _request_reply(run, request)
    except (BudgetSpent, EndpointError) as error:
        put(Draft("", f"it looked up an API and could not go on: {error.message}"))
        return
    draft = _draft(reply, parse_code_without_calls)
    put(replace(draft, problem="it asks for more look-ups than there are") if calls and draft.problem else draft)


def _pending_calls(reply: Reply) -> tuple[Call, ...]:
    """What the reply wants answered before it goes on."""
    return reply.calls or asked(reply.text)


def _draft(reply: Reply, read: Callable[[str], str]) -> Draft:
    try:
        return Draft(read(reply.text))
    except ReplyError as error:
        return Draft(reply.text, f"{reply.problem}: {error.message}" if reply.problem else error.message)


def _build_request(
    run: Run, step: Step, inputs: Inputs, subject: str, sampling: Sampling, form: type[BaseModel] | None
) -> ModelRequest:
    left = run.meter.tokens_left
    sampling = _limit_tokens(sampling, left)
    limited = redact_inputs(inputs, run.sharing)
    schema = form.model_json_schema() if form else None
    return ModelRequest(step, limited, render(step, limited), sampling, subject, schema, tokens_left=left)


def _limit_tokens(sampling: Sampling, left: int) -> Sampling:
    """The sampling, its replies cut where the run has few tokens left to pay for them."""
    return sampling if left >= _FEW_TOKENS else replace(sampling, max_tokens=max(left // sampling.n, 1))


def _retry_messages(text: str, error: ReplyError, what: str) -> tuple[Message, Message]:
    wanted = f"{'with' if what == 'JSON' else 'in'} the {what} asked for"
    request = f"That reply could not be used: {error.message} Reply again, {wanted} and nothing else."
    quoted = text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}\n... (cut off)"
    return Message("assistant", quoted or "(empty)"), Message("user", request)


async def _request_text(run: Run, request: ModelRequest) -> str:
    return (await _request_reply(run, request)).text


async def _request_reply(run: Run, request: ModelRequest) -> Reply:
    async with aclosing(_request_replies(run, request)) as replies:
        found = [reply async for reply in replies if reply.index == 0]
    return found[0] if found else Reply(0, "", Usage(), "empty")


async def _request_replies(run: Run, request: ModelRequest) -> AsyncGenerator[Reply, None]:
    """The model's replies; charges and records them whatever happens."""
    run.meter.check()
    seen: list[Reply] = []
    problem = "interrupted"
    try:
        async for given in run.model.complete(request):
            calls = tuple(replace(call, argument=encodable(call.argument)) for call in given.calls)
            reply = replace(given, text=encodable(given.text), calls=calls)
            seen.append(reply)
            yield reply
        problem = "; ".join(sorted({reply.problem for reply in seen if reply.problem}))
    except Exception as error:
        problem = str(error)
        raise
    finally:
        _record(run, request, seen, problem)


def _record(run: Run, request: ModelRequest, seen: list[Reply], problem: str) -> None:
    usage = sum((reply.usage for reply in seen), Usage())
    run.meter.charge(request.step, usage)
    ordered = sorted(seen, key=lambda reply: reply.index)
    exchange = Exchange(
        run.meter.next_number(),
        request.step,
        request.subject,
        run.model.name,
        request.messages,
        request.sampling,
        tuple(reply.text for reply in ordered),
        usage,
        problem,
        tuple(reply.calls for reply in ordered) if any(reply.calls for reply in ordered) else (),
    )
    run.emit(ModelCalled(exchange))
