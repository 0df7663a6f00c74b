"""Queries for the calls in a sample, from words that stand in it or in the documentation; never the API's own name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.finetuning.library_calls import LibraryCall
from exploracoder_jupyter.finetuning.sample_splitting import Sample
from exploracoder_jupyter.pipeline.prompting.inline_lookups import ARROW, BEGIN, END

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
