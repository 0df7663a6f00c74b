"""Renders outputs as the text that a model receives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.core.types import Output
from exploracoder_jupyter.text.terminal_text import apply_carriage_returns, strip_ansi

TEXT_BUDGET: Final = 4000
"""Characters of one observation that are sent to a model."""

LLM_MIME: Final = "text/llm+plain"
"""Text that a value provides for models, preferred to `text/plain`."""

SHORT_VALUE: Final = 400
"""Characters of a value's `text/plain` up to which it is sent as well, if it adds something."""

SCHEMA_MIME: Final = "application/vnd.exploracoder.schema+plain"
"""Like `LLM_MIME`, without any data values."""

_UNINFORMATIVE = re.compile(
    r"<Figure size .*>|<\S+ (?:object )?at 0x[0-9a-f]+>| at 0x[0-9a-f]+|^\s*\d+(?=\s)|\b(?:Name|Length|dtype|array)\b",
    re.MULTILINE,
)
"""Parts of a `text/plain` that add no information: types and addresses, row numbers, words around the values."""
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
_WORD = re.compile(r"[^\W\d]\w*")
_FRAME = re.compile(r"(Cell In\b|Input In\b|File )")
_HEADING = re.compile(r"\A(\w[\w.]*) +Traceback \(most recent call last\)")
_OWN_FRAME = re.compile(r"(Cell In\b|Input In\b|File <ipython-input|File <string>)")


def short_traceback(frames: Sequence[str]) -> str:
    """Return IPython's traceback (a list of frames and headings) as plain text: all user code, one frame of libraries.

    Of consecutive library frames only the last is kept; those left out are counted in their place.
    """
    plain = [strip_ansi(frame).strip("\n") for frame in frames]
    kept: list[str] = []
    skipped = 0
    for index, frame in enumerate(plain):
        last = index + 1 == len(plain) or not _FRAME.match(plain[index + 1])
        if _FRAME.match(frame) and not _OWN_FRAME.match(frame) and not last:
            skipped += 1
            continue
        if skipped:
            kept.append(f"... {skipped} frames of libraries ...")
            skipped = 0
        if frame.strip("- ") and not frame.startswith("An exception has occurred, use %tb"):
            kept.append(_HEADING.sub(r"\1 (most recent call last)", frame))
    return "\n".join(kept)


def shown_text(outputs: Iterable[Output]) -> str:
    """Return the outputs as text for a model: streams and plain-text results, no errors; shortened in the middle."""
    parts = [strip_ansi(text).strip("\n") for text in map(_text_of, outputs) if text]
    return cut_middle("\n".join(parts), TEXT_BUDGET)


def schema_text(outputs: Iterable[Output]) -> str:
    """Return the outputs as text for a model where no values are shared: the amount printed, and the schema of results.

    A result without a schema is left out.
    """
    return cut_middle("\n".join(filter(None, map(_schema_of, outputs))), TEXT_BUDGET)


def without_model_texts(output: Output) -> Output:
    """Return the output without the texts intended for models."""
    data = output.get("data")
    if not isinstance(data, dict) or not {LLM_MIME, SCHEMA_MIME} & data.keys():
        return output
    return {**output, "data": {mime: value for mime, value in data.items() if mime not in (LLM_MIME, SCHEMA_MIME)}}


def cut_middle(text: str, budget: int) -> str:
    """Shorten the text to its first and last parts with a note of how much is missing, if it exceeds the budget."""
    if len(text) <= budget:
        return text
    head = budget * 3 // 5
    tail = budget - head
    return f"{text[:head]}\n[... {len(text) - head - tail:,} characters left out ...]\n{text[-tail:]}"


def _text_of(output: Output) -> str:
    if output["output_type"] == "stream":
        return apply_carriage_returns(str(output["text"]))
    summary, plain = _mime_text(output, LLM_MIME), _mime_text(output, "text/plain")
    if summary and plain and (len(plain) > SHORT_VALUE or not _adds_information(plain, summary)):
        return summary
    return "\n".join(filter(None, (summary, plain)))


def _adds_information(plain: str, summary: str) -> bool:
    """Whether the text has a word that the other lacks, or a number that it lacks or has with fewer digits."""
    kept = _UNINFORMATIVE.sub(" ", plain)
    if {*_WORD.findall(kept.lower())} - {*_WORD.findall(summary.lower())}:
        return True
    numbers = [float(one) for one in _NUMBER.findall(summary)]
    return any(not _contains_number(one, numbers) for one in _NUMBER.findall(kept))


def _contains_number(number: str, others: Sequence[float]) -> bool:
    places = len(number.partition(".")[2])
    return any(round(other, places) == float(number) for other in others)


def _schema_of(output: Output) -> str:
    if output["output_type"] != "stream":
        return strip_ansi(_mime_text(output, SCHEMA_MIME)).strip("\n")
    text = strip_ansi(apply_carriage_returns(str(output["text"]))).strip("\n")
    return f"[printed {plural(len(text), 'character')} in {plural(text.count(chr(10)) + 1, 'line')}]" if text else ""


def _mime_text(output: Output, mime: str) -> str:
    data = output.get("data")
    value = data.get(mime) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""
