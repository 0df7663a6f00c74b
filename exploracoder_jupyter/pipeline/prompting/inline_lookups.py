"""The notation in which a fine-tuned model looks an API up in the middle of its code (ToolCoder, sections III and IV).

`<API>APISearch(query)->answer</API>` stands before a call. The model writes up to the arrow; the answer is inserted,
and the model continues behind it. `jupyter explora finetune` teaches exactly this form. It needs no token of its own,
so it works with any tokenizer. An answer begins with a letter: then no usual tokenizer joins it with the arrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.pipeline.prompting.api_description import truncate

BEGIN: Final = "<API>APISearch("
ARROW: Final = ")->"
END: Final = "</API>"
MOST_FOUND: Final = 4
NOTHING_FOUND: Final = "Nothing is found."

_LONGEST_SIGNATURE: Final = 90
_LONGEST_SUMMARY: Final = 110
_NAMED_FENCE = re.compile(r"\s*```\w")
_FENCE = re.compile(r"^\s*```\w*")
_REQUEST = re.compile(rf"{re.escape(BEGIN)}(?P<query>[^\n]*?){re.escape(ARROW)}")
_LOOKUP = re.compile(rf"{_REQUEST.pattern}(?P<answer>.*?){re.escape(END)}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InlineRequest:
    """A look-up that waits for its answer."""

    written: str
    """The text up to the arrow; whatever follows it was made up by the model."""
    query: str
    code: str


@dataclass(frozen=True, slots=True)
class InlineLookup:
    """A look-up with its answer, as found in annotated code."""

    query: str
    answer: str
    answer_span: tuple[int, int]
    """Where the answer stands, with the closing mark: what the model does not write itself."""


def find_request(text: str) -> InlineRequest | None:
    """Return the first look-up that a model has written, if any."""
    found = _REQUEST.search(text)
    return InlineRequest(text[: found.end()], found["query"].strip(), text[: found.start()]) if found else None


def find_lookups(text: str) -> list[InlineLookup]:
    """Return the look-ups of annotated code, in order."""
    return [
        InlineLookup(found["query"], found["answer"], (found.start("answer"), found.end()))
        for found in _LOOKUP.finditer(text)
    ]


def write_lookup(query: str, answer: str) -> str:
    """Return a look-up with its answer, to be inserted before a call."""
    return f"{BEGIN}{query}{ARROW}{answer}{END}"


def strip_lookups(text: str) -> str:
    """Return code without its look-ups."""
    return _LOOKUP.sub("", text)


def has_code(text: str) -> bool:
    """Whether there is more than the mark of a code block in the text."""
    return bool(_FENCE.sub("", text).strip())


def begins_anew(text: str) -> bool:
    """Whether a reply repeats the program from its start: the server did not let the model continue its message."""
    return bool(_NAMED_FENCE.match(text))


def format_answer(apis: Sequence[ApiDoc]) -> str:
    """Return path, signature and first sentence of the APIs found, one line each."""
    lines = (
        f"{api.path}{truncate(api.signature, _LONGEST_SIGNATURE)}: {truncate(api.summary, _LONGEST_SUMMARY)}"
        for api in apis
    )
    return "\n".join(lines).replace(END, "") or NOTHING_FOUND
