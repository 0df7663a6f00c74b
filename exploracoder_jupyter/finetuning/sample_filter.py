"""Which samples are not worth annotating, and why a sample is left out (ToolCoder, section IV.A)."""

from __future__ import annotations

from typing import Final, Literal

from exploracoder_jupyter.finetuning.sample_splitting import Sample
from exploracoder_jupyter.pipeline.prompting.inline_lookups import BEGIN

_LONGEST_CODE: Final = 3000
"""Characters; the paper filters by length too, and its samples have 186 words on average."""
_LEAST_LINES: Final = 2

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


def unsuitable(sample: Sample) -> Reason | None:
    """Return why a sample is not worth annotating, if it is not."""
    if not sample.task:
        return "no description"
    if BEGIN in sample.code:
        return "mentions the notation"
    if sum(bool(line.strip()) for line in sample.code.splitlines()) < _LEAST_LINES:
        return "too short"
    return "too long" if len(sample.code) > _LONGEST_CODE else None
