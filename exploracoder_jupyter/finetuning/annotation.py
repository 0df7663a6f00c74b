"""Annotates one sample with look-ups and real answers before its library calls (ToolCoder, section IV.A)."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Literal

from pydantic import BaseModel, TypeAdapter

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.types import ApiDoc, Sampling, ScoredApi, Task
from exploracoder_jupyter.finetuning.corpus import Sample
from exploracoder_jupyter.pipeline.ports import Model, ModelRequest
from exploracoder_jupyter.pipeline.prompting.lookup_notation import (
    ARROW,
    BEGIN,
    END,
    MOST_FOUND,
    find_lookups,
    format_answer,
    strip_lookups,
    write_lookup,
)
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.replies import parse_json
from exploracoder_jupyter.pipeline.prompting.requests import render

# Finds the calls of a library's public APIs in code: by its imports, and by variables that hold its objects.
#
# Nothing is executed. A variable is followed where it is assigned from a class of the library (`graph =
# nx.Graph()`), so that `graph.add_edge(...)` is found too; objects that functions return are not known.

Lookup = Callable[[str], ApiDoc | None]
"""Returns the API of a path or of an alias of it."""


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of an API."""

    api: ApiDoc
    start: int
    """Where the call begins, in characters."""
    line: int
    """From 1."""


def find_calls(code: str, lookup: Lookup) -> list[LibraryCall]:
    """Return the first call of each API, in the order of the code; of calls in one chain, only the innermost."""
    tree = parse_valid_python(code)
    if tree is None:
        return []
    visitor = _Visitor(lookup, code.splitlines(keepends=True))
    visitor.visit(tree)
    first: dict[str, LibraryCall] = {}
    starts: set[int] = set()
    for call in sorted(visitor.found, key=lambda call: call.start):
        if call.start not in starts and call.api.path not in first:
            first[call.api.path] = call
        starts.add(call.start)
    return list(first.values())


@dataclass
class _Visitor(ast.NodeVisitor):
    lookup: Lookup
    lines: list[str]
    found: list[LibraryCall] = field(default_factory=list)
    """Calls that begin at the same place are in the order in which they are executed."""
    paths: dict[str, str] = field(default_factory=dict)
    """What each name stands for: an imported module or API, or the class of the object."""

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            name = one.asname or one.name.partition(".")[0]
            self.paths[name] = one.name if one.asname else name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level and node.module:
            self.paths |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        made = self._class_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.paths.pop(target.id, None)
                if made:
                    self.paths[target.id] = made
            else:
                self.visit(target)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        api = self._resolve(node.func)
        if api:
            line = self.lines[node.lineno - 1]  # columns of the parser are bytes in UTF-8
            start = sum(map(len, self.lines[: node.lineno - 1])) + len(line.encode()[: node.col_offset].decode())
            self.found.append(LibraryCall(api, start, node.lineno))

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave out the exception itself, because it is chosen without a search."""
        if isinstance(node.exc, ast.Call):
            for argument in (*node.exc.args, *(keyword.value for keyword in node.exc.keywords)):
                self.visit(argument)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Positions in f-strings are not reliable before Python 3.12, so calls in them are left out."""

    def _class_of(self, value: ast.expr) -> str:
        api = self._resolve(value.func) if isinstance(value, ast.Call) else None
        return api.path if api and api.kind == "class" else ""

    def _resolve(self, function: ast.expr) -> ApiDoc | None:
        path = self._path(function)
        return self.lookup(path) if "." in path else None

    def _path(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self.paths.get(node.id, "")
        if isinstance(node, ast.Attribute):
            owner = self._class_of(node.value) or self._path(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        return ""


# Queries for the calls in a sample, from words that stand in it or in the documentation; never the API's own name.

QueryOrigin = Literal["comment", "description", "documentation", "model"]

_LEAST_WORDS: Final = 3
_LONGEST: Final = 160
_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MARKUP = re.compile(r":\w+(?::\w+)?:|[`*]+")
_CODE = re.compile(r"[=\[\]{}]|\w\(|^\W*(?:noqa|type:|pragma|TODO|FIXME|XXX)\b")


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and where its words come from."""

    text: str
    origin: QueryOrigin


def queries(sample: Sample, call: LibraryCall, *, alone: bool) -> Iterator[Query]:
    """Yield the queries for a call, nearest to the code first.

    Args:
        sample: the code.
        call: a call in it.
        alone: whether it calls no other API of the libraries; then the description of the sample is one of the call.
    """
    candidates: list[tuple[str, QueryOrigin]] = [(_comment(sample.code, call.line), "comment")]
    if alone:
        candidates.append((sample.task, "description"))
    candidates.append((call.api.summary, "documentation"))
    for text, origin in candidates:
        if query := clean_query(text, call):
            yield Query(query, origin)


def clean_query(text: str, call: LibraryCall) -> str:
    """Return the first sentence without the API's name; empty if it is not a query."""
    sentence = _SENTENCE.split(" ".join(_MARKUP.sub("", text).split()), maxsplit=1)[0]
    names = "|".join(re.escape(name) for name in sorted({call.api.path, call.api.name}, key=len, reverse=True))
    plain = re.sub(rf"(?<![\w.])(?:\w+\.)*(?:{names})(?!\w)(?:\([^)]*\))?", "", sentence, flags=re.IGNORECASE)
    plain = " ".join(plain.split()).strip(" .:;,-")[:_LONGEST].strip()
    if _CODE.search(plain) or len(_WORD.findall(plain)) < _LEAST_WORDS:
        return ""
    return "" if any(mark in plain for mark in (BEGIN, ARROW, END)) else plain


def _comment(code: str, line: int) -> str:
    """Return the comment in the line of a call, or those directly above it; commented-out code is none."""
    lines = code.splitlines()
    behind = re.search(r"\s#\s*(\D.*)$", lines[line - 1])
    if behind and lines[line - 1].count("#") == 1:
        return behind[1]
    above: list[str] = []
    for text in reversed(lines[: line - 1]):
        if not text.lstrip().startswith("#"):
            break
        above.insert(0, text.strip().lstrip("#").strip())
    comment = " ".join(above)
    return "" if parse_valid_python(comment) and len(comment.split()) > 1 else comment


# Annotates one sample: look-ups with real answers before its library calls, under the paper's filters.
#
# ToolCoder, section IV.A: a sample is kept if it has one to four look-ups, none within another, if the code without
# them is the original, and if each look-up is followed by an API that its answer names. The last rule has one
# exception: from a share of the answers the API is removed, as if the index lacked it, so that a model learns to
# ignore a wrong answer.

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


# Queries that a language model writes (ToolCoder, section IV.A: there the model also wrote the answers).
#
# The model sees the code and the calls in it, and words a query for each. It changes no code and makes up no
# answer, so that these filters of the paper hold for every reply; a query with the API's own name is refused.

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
