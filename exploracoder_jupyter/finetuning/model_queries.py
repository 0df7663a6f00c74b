"""Queries that a language model writes (ToolCoder, section IV.A: there the model also wrote the answers).

The model sees the code and the calls in it, and words a query for each. It changes no code and makes up no answer, so
that these filters of the paper hold for every reply; a query with the API's own name is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import Final

from pydantic import BaseModel

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.types import Sampling, Task
from exploracoder_jupyter.finetuning.library_calls import LibraryCall
from exploracoder_jupyter.finetuning.rule_queries import Query, clean_query
from exploracoder_jupyter.finetuning.sample_splitting import Sample
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.prompt_templates import render
from exploracoder_jupyter.pipeline.prompting.reply_parsing import parse_json

_TEMPLATE: Final = "exploracoder_jupyter.finetuning:queries"


class WrittenQuery(BaseModel):
    """The query for one call."""

    call: int
    """Its number, from 1."""
    query: str


class WrittenQueries(BaseModel):
    """The reply."""

    queries: list[WrittenQuery]


async def ask_queries(model: Model, sample: Sample, calls: Sequence[LibraryCall]) -> list[list[Query]]:
    """Ask a model for the queries of a sample: at most one for each call, none if its reply cannot be read."""
    libraries = tuple(dict.fromkeys(call.api.library for call in calls))
    notes = tuple(f"{number}. {call.api.path}, line {call.line}" for number, call in enumerate(calls, start=1))
    inputs = StrategyInputs(_TEMPLATE, Task(sample.task, libraries, setup=sample.code), notes=notes)
    prompt, schema = render("strategy", inputs), WrittenQueries.model_json_schema()
    request = ModelRequest("strategy", inputs, prompt, Sampling(temperature=0.0), "annotation", schema)
    async with aclosing(model.complete(request)) as replies:  # type: ignore[type-var]
        texts = [reply.text async for reply in replies]
    written: dict[int, str] = {}
    with suppress(ReplyError):
        written = {one.call: one.query for one in parse_json("".join(texts[:1]), WrittenQueries).queries}
    cleaned = (clean_query(written.get(number, ""), call) for number, call in enumerate(calls, start=1))
    return [[Query(query, "model")] if query else [] for query in cleaned]
