"""Asks the model: checks the budget, renders the prompt, records the exchange, and names the limit that cut a
reply off.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import Final, TypeVar

from jinja2 import ChoiceLoader, PackageLoader, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.errors import BudgetExceeded, EndpointError, ReplyError
from exploracoder_jupyter.core.events import ModelCalled
from exploracoder_jupyter.core.types import ApiDoc, Call, Exchange, Experience, Message, Sampling, Step, Usage
from exploracoder_jupyter.pipeline.concurrency import Put, merge_streams, task_group
from exploracoder_jupyter.pipeline.context import Run
from exploracoder_jupyter.pipeline.exploring.selection import find_objection
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting import documentation, observations
from exploracoder_jupyter.pipeline.prompting.documentation import (
    CHARACTERS_PER_TOKEN,
    RULE,
    pack,
    quote,
    shorten,
    shorten_code,
)
from exploracoder_jupyter.pipeline.prompting.lookup_notation import (
    END,
    begins_anew,
    find_request,
    has_code,
    parse_code_without_calls,
    pending_calls,
    strip_lookups,
)
from exploracoder_jupyter.pipeline.prompting.observations import redact_inputs
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import CodeInputs, Inputs, StrategyInputs
from exploracoder_jupyter.pipeline.prompting.replies import encodable, parse_code, parse_json
from exploracoder_jupyter.pipeline.retrieval.lookups import INLINE, TOOLS, ApiLookups
from exploracoder_jupyter.pipeline.solving.user_check import unmentioned_names

# Which limit has cut a reply off, and what to change so that the next one is complete.

TRUNCATED: Final = "truncated"
"""Problem of a reply that the server cut off, at a limit of its own or at the end of the model's context."""
MAX_TOKENS: Final = "endpoint.max_tokens"
TIMEOUT: Final = "endpoint.timeout"
BUDGET: Final = "budget.tokens"
LENGTH: Final = "its length"
"""The limits of ours: settings, and a fixed limit."""

_REMEDIES: Final = {
    MAX_TOKENS: ("endpoint.max_tokens", "Raise endpoint.max_tokens in the config file."),
    TIMEOUT: (
        "the time that endpoint.timeout allows",
        "Raise endpoint.timeout in the config file, or use a faster model.",
    ),
    BUDGET: ("the tokens that were left of the budget", "Raise budget.tokens (--budget-tokens)."),
    LENGTH: ("the largest size that is read", "Choose another model with --model."),
}
_SERVER: Final = (
    "the limit of the endpoint for one reply",
    "Raise that limit at the server (the length of a reply, or the context), ask for longer replies with"
    " endpoint.max_tokens in the config file, or choose another model with --model.",
)


def truncated_by(limit: str) -> str:
    """Return the problem of a reply that this limit of ours has cut off."""
    return f"{TRUNCATED} by {limit}"


def describe_cut(problem: str) -> tuple[str, str]:
    """Return a sentence on the limit behind this problem of a reply, and the remedy; both empty for other problems."""
    if not problem.startswith(TRUNCATED):
        return "", ""
    limit, remedy = _REMEDIES.get(problem.removeprefix(f"{TRUNCATED} by "), _SERVER)
    return f"The model's reply was cut off at {limit}.", remedy


# Renders prompts: one template per step, rendered from the step's `Inputs`.
#
# A template has two blocks, `system` and `user`. Its variables are the fields of the step's inputs, and a missing
# one raises. A strategy's template is in its own package, and can include the parts in `templates/parts/`. Long
# values are shortened by filters, which always note what they cut: `pack` fits retrieved text into a budget
# (`documentation`), `table` is the retrieval table of ExploraCoder section 3.3, `tell` renders experience
# (`observations`). Text from a library, a page, a file or a run is quoted (`quoting`), and the system message
# explains the quotation marks.
#
# The steps of an exploration begin alike: the same system message, the task, the cells that ran. What one prompt
# adds comes after that, so that a provider that caches the beginnings of prompts reads them once.

_PACKAGE: Final = "exploracoder_jupyter.pipeline.prompting"


def render(step: Step, inputs: Inputs) -> tuple[Message, ...]:
    """Render the messages of a step's prompt."""
    package, name = _PACKAGE, str(step)
    if isinstance(inputs, StrategyInputs):
        package, _, name = inputs.template.partition(":")
    template = _environment(package).get_template(f"{name}.j2")
    values = {field.name: getattr(inputs, field.name) for field in fields(inputs)}
    context = template.new_context(values)
    system, user = ("".join(template.blocks[role](context)).strip() for role in ("system", "user"))
    return Message("system", f"{system}\n\n{RULE}"), Message("user", user)


def strip_lookup_offer(text: str) -> str:
    """Remove the offer of look-ups from a prompt, because it depends on the tokens that a run has left."""
    before, after = _environment(_PACKAGE).get_template("parts/lookups.j2").render(lookups="\0").strip().split("\0")
    return " ".join(re.sub(rf"{re.escape(before)}\d+{re.escape(after)}", " ", text).split())


@cache
def _environment(package: str) -> SandboxedEnvironment:
    """Return the environment for the templates of a package; those of this package can be included in them."""
    environment = SandboxedEnvironment(
        loader=ChoiceLoader([PackageLoader(name, "templates") for name in dict.fromkeys([package, _PACKAGE])]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters.update(
        packed=pack, table=api_table, tell=format_experience, errors=format_errors, shorten=shorten, quoted=quote
    )
    environment.filters.update(shorten_code=shorten_code)
    environment.filters.update(names_of_check=unmentioned_names, objection=find_objection)
    return environment


def api_table(apis: Sequence[ApiDoc]) -> str:
    """Return path, signature and first sentence of each API, quoted."""
    return quote(documentation.api_table(apis) or "(none were found)")


def format_experience(experience: Iterable[Experience], most: int) -> str:
    """Render cells in about `most` characters, each quoted by itself: its marks stay when another one follows later."""
    return "\n\n".join(map(quote, observations.format_cells(experience, most)))


def format_errors(experience: Iterable[Experience]) -> str:
    """Render the error of each cell on one or two lines, quoted: what it was, and the line that raised it."""
    return quote("\n".join(map(observations.format_error, experience)))


# Asks the model: checks the budget, renders the prompt, records the exchange, retries once if a reply is unusable.
#
# Every request ends in exactly one `ModelCalled` event, even if it fails or is cancelled halfway, so that cost and
# replies are never lost. While it writes code a model may look APIs up (`lookups`): then that choice
# continues in separate requests, one per answer, without blocking the others.

_R = TypeVar("_R", bound=BaseModel)
_T = TypeVar("_T")
PRECISE = Sampling(temperature=0.0)
_FEW_TOKENS = 8000
"""If more tokens are left in the budget, the length of replies is left to the server."""


_MOST_INLINE = 12
"""Maximum number of look-ups in the middle of one program, whatever stands between them."""
_LONGEST_QUOTED = 8000
"""Maximum number of characters of an unusable reply that are sent back with the complaint."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Code from the model, or the reason why there is none."""

    code: str
    problem: str | None = None

    def is_word(self, word: str) -> bool:
        """Whether the reply is this word instead of code."""
        return self.code.strip().strip("`'\".").lower() == word


async def ask_json(run: Run, step: Step, inputs: Inputs, form: type[_R], *, subject: str = "") -> _R:
    """Return a structured reply; a malformed one is requested once more, with the error (then ReplyError)."""
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
    """Return the reply as parsed by `parse`; if that raises ReplyError, it is requested once more."""
    request = _build_request(run, step, inputs, subject, PRECISE, form)
    text = (await _request_reply(run, request)).text
    try:
        return parse(text)
    except ReplyError as error:
        added = _complaint(text, error.message, "with the JSON" if form else "in the form")
    return parse((await _request_reply(run, replace(request, messages=(*request.messages, *added)))).text)


def _complaint(text: str, problem: str, wanted: str) -> tuple[Message, Message]:
    """Return the messages that send an unusable reply back, so that the next request is not the same one again."""
    quoted = text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}\n... (cut off)"
    complaint = f"That reply could not be used: {problem} Reply again, {wanted} asked for and nothing else."
    return Message("assistant", quoted or "(empty)"), Message("user", complaint)


async def ask_text(run: Run, step: Step, inputs: Inputs, *, subject: str = "") -> str:
    """Return a reply in prose; ReplyError if it is empty."""
    text = (await _request_reply(run, _build_request(run, step, inputs, subject, PRECISE, None))).text.strip()
    if not text:
        raise ReplyError("the reply is empty.")
    return text


async def ask_code(
    run: Run, step: Step, inputs: CodeInputs, *, subject: str, n: int = 1, unusable: Draft | None = None
) -> AsyncGenerator[Draft, None]:
    """Yield up to `n` drafts, each as soon as its reply is complete and all of its look-ups are answered.

    `unusable` is an earlier reply to the same inputs, which is sent along with what was wrong with it.
    """
    sampling = Sampling(run.settings.temperature, run.settings.top_p, n=n)
    request = _build_request(run, step, inputs, subject, sampling, None)
    lookups = 0 if run.retrieval.inline_lookups else _affordable_lookups(run, request)
    if run.retrieval.inline_lookups:  # the model has learned to look up without being offered to
        request = replace(request, inline_lookups=run.retrieval.lookups > 0)
    if lookups:
        assert isinstance(request.inputs, CodeInputs)
        messages = render(step, replace(request.inputs, lookups=lookups))
        request = replace(request, messages=messages, tools=TOOLS)
    if unusable:
        problem = unusable.problem or "it is not a program."
        added = _complaint(unusable.code, f"{problem.rstrip('.')}.", "in the form")
        request = replace(request, messages=(*request.messages, *added))
    async with aclosing(merge_streams([partial(_produce_drafts, run, request, lookups)])) as drafts:
        async for draft in drafts:
            yield draft


def _affordable_lookups(run: Run, request: ModelRequest) -> int:
    """Return how many APIs may be looked up for one draft: each costs the prompt again, and later steps cost too."""
    if run.model.name == OFFLINE or run.meter.tokens_left < _FEW_TOKENS:
        return 0
    prompt = sum(len(message.content) for message in request.messages) / CHARACTERS_PER_TOKEN
    ids, here = [subtask.id for subtask in run.agenda.plan.subtasks], request.subject.partition(".")[0]
    later = len(ids) - ids.index(here) if here in ids else 0  # the solution counts as the last subtask
    share = run.meter.tokens_left / (later + 1)
    return min(run.retrieval.lookups, max(int((share - prompt) / (prompt * request.sampling.n)), 0))


async def _produce_drafts(run: Run, request: ModelRequest, lookups: int, put: Put[Draft]) -> None:
    """Put the drafts of a request; those with look-ups continue concurrently with the others."""
    known: dict[tuple[str, str], str] = {}

    async def continue_draft(look_up: Callable[[], Awaitable[Draft]]) -> None:
        try:
            put(await look_up())
        except (BudgetExceeded, EndpointError) as error:  # a failure here affects only this draft
            put(Draft("", f"its API look-up could not be completed: {error.message}"))

    async with task_group() as group, aclosing(_request_replies(run, request)) as replies:
        async for reply in replies:
            if lookups and (reply.calls or pending_calls(reply.text)):
                api_lookups = ApiLookups(run, request.subject, lookups, known)
                group.start_soon(continue_draft, partial(_look_up, run, request, reply, api_lookups))
            elif request.inline_lookups and find_request(reply.text):
                api_lookups = ApiLookups(run, request.subject, _MOST_INLINE, known)
                group.start_soon(continue_draft, partial(_look_up_inline, run, request, reply, api_lookups))
            else:
                # With look-ups switched off, a fine-tuned model answers itself.
                text = strip_lookups(reply.text) if run.retrieval.inline_lookups else reply.text
                put(_draft(replace(reply, text=text), parse_code_without_calls if lookups else parse_code))


async def _look_up(run: Run, request: ModelRequest, reply: Reply, api_lookups: ApiLookups) -> Draft:
    """Answer look-ups until the reply is code or the limit is exceeded."""
    while (calls := reply.calls or pending_calls(reply.text)) and not api_lookups.exhausted:
        request = replace(request, messages=(*request.messages, *await api_lookups.answered(reply, calls)))
        reply = await _request_next(run, replace(request, may_call=api_lookups.left > 0))
    draft = _draft(reply, parse_code_without_calls)
    return replace(draft, problem="it asks for more look-ups than allowed") if calls and draft.problem else draft


async def _look_up_inline(run: Run, request: ModelRequest, reply: Reply, api_lookups: ApiLookups) -> Draft:
    """Insert the answer where the model wants it and let it continue, until there is no look-up in what it writes.

    It stops when the model has searched as often as `retrieval.lookups` allows without writing any code in between.
    """
    written, in_a_row = "", 0
    while (asked := find_request(reply.text)) and api_lookups.left:
        in_a_row = 1 if has_code(asked.code) else in_a_row + 1
        if in_a_row > run.retrieval.lookups:
            break
        answer = await api_lookups.answer(Call(INLINE, asked.query))
        written = f"{written}{asked.written}{answer}{END}"
        messages = (*request.messages, Message("assistant", written))
        reply = await _request_next(run, replace(request, messages=messages))
        written = "" if begins_anew(reply.text) else written
    whole = replace(reply, text=strip_lookups(f"{written}{reply.text}"))
    return Draft(whole.text, "it searches without writing code") if asked else _draft(whole, parse_code)


async def _request_next(run: Run, request: ModelRequest) -> Reply:
    """Return one reply with the tokens that are left now."""
    left = run.meter.tokens_left
    sampling = _limit_tokens(replace(request.sampling, n=1), left)
    return await _request_reply(run, replace(request, sampling=sampling, tokens_left=left))


def _draft(reply: Reply, read: Callable[[str], str]) -> Draft:
    try:
        return Draft(read(reply.text))
    except ReplyError as error:
        cut, _ = describe_cut(reply.problem)
        return Draft(reply.text, cut or (f"{reply.problem}: {error.message}" if reply.problem else error.message))


def _build_request(
    run: Run, step: Step, inputs: Inputs, subject: str, sampling: Sampling, form: type[BaseModel] | None
) -> ModelRequest:
    left = run.meter.tokens_left
    sampling = _limit_tokens(sampling, left)
    redacted = redact_inputs(inputs, run.sharing)
    schema = form.model_json_schema() if form else None
    return ModelRequest(step, redacted, render(step, redacted), sampling, subject, schema, tokens_left=left)


def _limit_tokens(sampling: Sampling, left: int) -> Sampling:
    """Limit the length of replies if the run has few tokens left to pay for them."""
    return sampling if left >= _FEW_TOKENS else replace(sampling, max_tokens=max(left // sampling.n, 1))


async def _request_reply(run: Run, request: ModelRequest) -> Reply:
    async with aclosing(_request_replies(run, request)) as replies:
        first = [reply async for reply in replies if reply.index == 0]
    return first[0] if first else Reply(0, "", Usage(), "empty")


async def _request_replies(run: Run, request: ModelRequest) -> AsyncGenerator[Reply, None]:
    """Yield the model's replies; charges and records them even on failure."""
    run.meter.check()
    received: list[Reply] = []
    problem = "interrupted"
    try:
        async for raw in run.model.complete(request):
            calls = tuple(replace(call, argument=encodable(call.argument)) for call in raw.calls)
            reply = replace(raw, text=encodable(raw.text), calls=calls)
            received.append(reply)
            yield reply
        problem = "; ".join(sorted({reply.problem for reply in received if reply.problem}))
    except Exception as error:
        problem = str(error)
        raise
    finally:
        _record(run, request, received, problem)


def _record(run: Run, request: ModelRequest, received: list[Reply], problem: str) -> None:
    usage = run.meter.priced(sum((reply.usage for reply in received), Usage()))
    run.meter.charge(request.step, usage)
    ordered = sorted(received, key=lambda reply: reply.index)
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
    if request.schema is None and request.step != "introduce":
        run.progress.cut = next((reply.problem for reply in received if reply.problem.startswith(TRUNCATED)), "")
    run.emit(ModelCalled(exchange))
