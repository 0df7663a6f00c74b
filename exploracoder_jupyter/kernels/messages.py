"""Reads the messages that a sibling sends: validated, its outputs as text, and its report after each cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.types import Change, Output
from exploracoder_jupyter.text.characters import apply_carriage_returns, encodable, strip_ansi

# Validates the messages that a sibling sends.
#
# Code in a sibling has the key of its connection and can send anything. Messages that pass have the shape that
# Jupyter's protocol defines for their type, and text that can be encoded; everything else is dropped.


@dataclass(frozen=True, slots=True)
class Message:
    """One message from a kernel."""

    request: str
    """Id of the request that it answers; empty if it has none."""
    kind: str
    content: dict[str, Any]


def parse_message(raw: Any) -> Message | None:
    """Return the validated message; `None` if it is invalid."""
    try:
        kind, content = str(raw["msg_type"]), _clean(raw["content"])
        return Message(str(raw["parent_header"].get("msg_id", "")), kind, _CHECKS.get(kind, dict)(content))
    except Exception:  # invalid in any way: code in the sibling controls the content
        return None


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _stream(content: dict[str, Any]) -> dict[str, Any]:
    name, text, cut = content["name"], content["text"], content.get("cut", 0)
    _require(name in ("stdout", "stderr") and isinstance(text, str) and isinstance(cut, int) and cut >= 0)
    return {"name": name, "text": text, "cut": cut}


def _display(content: dict[str, Any]) -> dict[str, Any]:
    found = {name: content.get(name) or {} for name in ("data", "metadata", "transient")}
    _require(all(isinstance(value, dict) for value in found.values()))
    return found


def _error(content: dict[str, Any]) -> dict[str, Any]:
    name, message, traceback = content["ename"], content["evalue"], content["traceback"]
    _require(isinstance(name, str) and isinstance(message, str))
    _require(isinstance(traceback, list) and all(isinstance(line, str) for line in traceback))
    return {"ename": name, "evalue": message, "traceback": traceback}


def _reply(content: dict[str, Any]) -> dict[str, Any]:
    _require(isinstance(content["status"], str))
    _require(all(isinstance(content.get(name, []), list) for name in ("payload", "traceback")))
    return content


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


_CHECKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "stream": _stream,
    "display_data": _display,
    "execute_result": _display,
    "update_display_data": _display,
    "error": _error,
    "execute_reply": _reply,
}


# Renders outputs as the text that a model receives.

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


# Parses the report that a sibling sends after each cell (`kernel_agent.reporting.cell_report`) as untrusted input.
#
# Malformed parts are dropped, and every text and list is limited in length.

_CHANGE_KINDS: Final = ("new", "rebound", "mutated")
_MAX_CHANGES: Final = 60
_MAX_LINES: Final = 20
_MAX_FILES: Final = 60
_LONGEST_NAME: Final = 200
_LONGEST_SUMMARY: Final = 1000
_LONGEST_LINE: Final = 300
_SUMMARY_BUDGET: Final = 20_000
"""Characters of all summaries together, of which only a part is shown at a time."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class Failure(NamedTuple):
    """Why a cell failed, in the form sent to the model."""

    report: str = ""
    schema: str = ""
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What a cell did besides producing outputs."""

    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    memory: int = 0
    failure: Failure = Failure()  # noqa: RUF009

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """New and rebound names with their types."""
        return tuple((change.name, change.type) for change in self.changes if change.how != "mutated")


def parse_cell_outcome(content: object) -> CellOutcome:
    """Parse the content of the message, as far as it has the expected form."""
    found = content if isinstance(content, dict) else {}
    memory = found.get("memory")
    return CellOutcome(
        tuple(_changes(found.get("changes"))),
        tuple(_lines(found.get("warnings"))),
        tuple(_lines(found.get("logs"))),
        tuple(_lines(found.get("files"), _MAX_FILES)),
        memory if type(memory) is int and 0 < memory < 2**53 else 0,
        _failure(found.get("failure")),
    )


def _changes(found: object) -> Iterator[Change]:
    remaining = _SUMMARY_BUDGET
    for item in found[:_MAX_CHANGES] if isinstance(found, list) else []:
        if not isinstance(item, dict) or item.get("how") not in _CHANGE_KINDS:
            continue
        name, type_, before = (_text(item.get(key), _LONGEST_NAME) for key in ("name", "type", "before"))
        summary, schema = (_text(item.get(key), min(remaining, _LONGEST_SUMMARY)) for key in ("summary", "schema"))
        remaining = max(0, remaining - len(summary) - len(schema))
        if name:
            yield Change(name, item["how"], type_, summary, schema, before)


def _lines(found: object, limit: int = _MAX_LINES) -> Iterator[str]:
    for item in found[:limit] if isinstance(found, list) else []:
        if line := _text(item, _LONGEST_LINE):
            yield " ".join(line.split())


def _failure(found: object) -> Failure:
    if not isinstance(found, dict):
        return Failure()
    report, schema = (_text(found.get(key), TEXT_BUDGET) for key in ("report", "schema"))
    return Failure(report, schema, tuple(_lines(found.get("nearest"))))


def _text(value: object, limit: int) -> str:
    if not isinstance(value, str) or limit <= 0:
        return ""
    return cut_middle(_CONTROLS.sub("", strip_ansi(value)).strip(), limit)
