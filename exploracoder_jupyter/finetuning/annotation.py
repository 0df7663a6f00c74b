"""Annotates one sample: look-ups with real answers before its library calls, under the paper's filters.

ToolCoder, section IV.A: a sample is kept if it has one to four look-ups, none within another, if the code without them
is the original, and if each look-up is followed by an API that its answer names. The last rule has one exception: from
a share of the answers the API is removed, as if the index lacked it, so that a model learns to ignore a wrong answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

from pydantic import TypeAdapter

from exploracoder_jupyter.core.types import ScoredApi
from exploracoder_jupyter.finetuning.library_calls import LibraryCall
from exploracoder_jupyter.finetuning.rule_queries import Query, QueryOrigin
from exploracoder_jupyter.finetuning.sample_splitting import Sample
from exploracoder_jupyter.pipeline.prompting.inline_lookups import (
    BEGIN,
    MOST_FOUND,
    find_lookups,
    format_answer,
    strip_lookups,
    write_lookup,
)

_MOST_LOOKUPS: Final = 4
"""Look-ups in one sample: fewer than five."""
_WRONG_SHARE: Final = 0.1
"""Share of the look-ups whose answer does not name the API."""
_LONGEST_CODE: Final = 3000
"""Characters; the paper filters by length too, and its samples have 186 words on average."""
Reason = Literal[
    "no description",
    "too short",
    "too long",
    "duplicate",
    "benchmark problem",
    "no call of the libraries",
    "mentions the notation",
    "no query",
    "not found by the search",
    "changed by the annotation",
]
"""Why a sample is left out."""
Search = Callable[[str, int], Awaitable[Sequence[ScoredApi]]]
ChooseQueries = Callable[[Sample, Sequence[LibraryCall]], Awaitable[Sequence[Sequence[Query]]]]
"""Returns the queries to try for each of the calls, best first."""


@dataclass(frozen=True, slots=True)
class AnnotatedCall:
    """One look-up in a row."""

    api: str
    query: str
    origin: QueryOrigin
    rank: int
    """Place of the API in the answer, from 1; 0 if the answer does not name it."""


@dataclass(frozen=True, slots=True)
class AnnotatedSample:
    """One row of the data: code with look-ups."""

    id: str
    task: str
    name: str | None
    """The function that the code defines, if that is all it does."""
    code: str
    libraries: tuple[str, ...]
    """Import names of the libraries that are looked up."""
    calls: tuple[AnnotatedCall, ...]
    path: str
    place: str
    licence: str

    @property
    def plain_code(self) -> str:
        """The code without look-ups."""
        return strip_lookups(self.code)


ROW: Final = TypeAdapter(AnnotatedSample)
"""A row as JSON."""


def unsuitable(sample: Sample) -> Reason | None:
    """Return why a sample is not worth annotating, if it is not."""
    if not sample.task:
        return "no description"
    if BEGIN in sample.code:
        return "mentions the notation"
    if sum(bool(line.strip()) for line in sample.code.splitlines()) < 2:
        return "too short"
    return "too long" if len(sample.code) > _LONGEST_CODE else None


def sample_id(sample: Sample) -> str:
    """Return an id that is equal for samples that differ in layout only."""
    return blake2b("".join(sample.code.split()).encode("utf-8", "replace"), digest_size=8).hexdigest()


async def annotate(
    sample: Sample,
    calls: Sequence[LibraryCall],
    *,
    path: str,
    licence: str,
    search: Search,
    choose_queries: ChooseQueries,
) -> AnnotatedSample | Reason:
    """Insert look-ups before the first calls, or return why the sample is left out."""
    calls = calls[:_MOST_LOOKUPS]
    chosen = await choose_queries(sample, calls)
    id_ = sample_id(sample)
    found = [await _look_up(call, queries, search, id_) for call, queries in zip(calls, chosen, strict=True)]
    lookups = [(call, *one) for call, one in zip(calls, found, strict=True) if one]
    if not lookups:
        return "not found by the search" if any(chosen) else "no query"
    code = sample.code
    for call, _, text in reversed(lookups):
        code = f"{code[: call.start]}{text}{code[call.start :]}"
    if strip_lookups(code) != sample.code or len(find_lookups(code)) != len(lookups):
        return "changed by the annotation"
    libraries = tuple(dict.fromkeys(call.api.library for call, _, _ in lookups))
    annotated = tuple(one for _, one, _ in lookups)
    return AnnotatedSample(id_, sample.task, sample.name, code, libraries, annotated, path, sample.place, licence)


async def _look_up(
    call: LibraryCall, queries: Sequence[Query], search: Search, id_: str
) -> tuple[AnnotatedCall, str] | None:
    """Search for a call with each query until one finds it. Returns the look-up, as a record and as text."""
    digest = blake2b(f"{id_} {call.api.path}".encode(), digest_size=4).digest()
    is_wrong = int.from_bytes(digest) < _WRONG_SHARE * 2**32
    for query in queries:
        apis = [item.api for item in await search(query.text, MOST_FOUND + 1)]
        paths = [api.path for api in apis[:MOST_FOUND]]
        if is_wrong:
            apis = [api for api in apis if api.path != call.api.path]
        elif call.api.path not in paths:
            continue
        rank = 0 if is_wrong else paths.index(call.api.path) + 1
        lookup = write_lookup(query.text, format_answer(apis[:MOST_FOUND]))
        return AnnotatedCall(call.api.path, query.text, query.origin, rank), lookup
    return None
