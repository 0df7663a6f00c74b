"""Compares the outputs of an execution with those of its re-execution.

Observations are compared in normalized form, without what depends on the time, machine or process (`normalize`). First
comes their structure: status, type of error, bound names and kinds of outputs. Then come the outputs, part by part.
Several re-executions show which differences are inherent to the code: where they differ from one another, the output
varies, and the difference does not count as a change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.trace.cells.escaped_text import clip
from exploracoder_jupyter.trace.comparing.output_comparison import (
    MAX_SHOWN,
    TOLERANCE,
    Part,
    Text,
    describe_part_difference,
    join_lines,
    part_of,
    structure_of,
)
from exploracoder_jupyter.trace.comparing.text_normalization import normalize

Result = Literal["same", "varies", "changed"]

_THREADS = re.compile(
    r"\b(threading|_thread|concurrent|multiprocessing|asyncio|joblib|\w*ThreadPool\w*|n_jobs|anyio)\b"
)


@dataclass(frozen=True, slots=True)
class ComparableResult:
    """The result of an execution in comparable form."""

    status: str
    error: str
    """Type of the error; empty if there was none."""
    names: Mapping[str, str]
    """New and rebound names with their types."""
    kinds: tuple[tuple[str, ...], ...]
    """The MIME types of each display, in order."""
    parts: Mapping[str, Part]
    """The outputs by place: `stdout`, `message`, `text/html`, `output 2, text/plain`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an execution compares with its record, and a description of the difference."""

    result: Result
    why: str = ""


def comparable_result(observation: Observation, *, day: date, code: str = "") -> ComparableResult:
    """Convert an observation to comparable form.

    `day` is when it was made; dates of that day are masked. If `code` uses threads or processes, the order of its
    output does not matter.
    """
    error, streams, displays = observation.error, {"stdout": "", "stderr": ""}, []
    for output in observation.outputs:
        if output.get("output_type") == "stream":
            name = str(output.get("name"))
            streams[name] = streams.get(name, "") + join_lines(output.get("text"))
        elif isinstance(data := output.get("data"), dict):
            displays.append({mime: data[mime] for mime in sorted(data, key=lambda mime: (mime != "text/plain", mime))})
    unordered = bool(_THREADS.search(code))
    texts = {**streams, "message": error.message if error else ""}
    parts: dict[str, Part] = {where: Text(normalize(text, day=day), unordered) for where, text in texts.items()}
    for number, data in enumerate(displays, 1):
        for mime, value in data.items():
            parts[mime if len(displays) == 1 else f"output {number}, {mime}"] = part_of(mime, value, day)
    names = dict(observation.names)
    return ComparableResult(observation.status, error.name if error else "", names, tuple(map(tuple, displays)), parts)


def compare_with_record(
    recorded: ComparableResult, again: Sequence[ComparableResult], *, tolerance: float = TOLERANCE
) -> Comparison:
    """Compare a record with several re-executions: `same`, `varies`, or `changed`.

    It varies if the re-executions differ from one another while at least one has the recorded structure. One
    re-execution cannot show that, so any difference counts as changed. The outputs of re-executions with another
    structure are ignored.
    """
    comparable = [one for one in again if not _structural_difference(recorded, one)]
    if not comparable:
        return Comparison("changed", _structural_difference(recorded, again[0]))
    if len(comparable) > 1 or len(comparable) == len(again):
        for where, part in recorded.parts.items():
            if why := _describe_change(part, [one.parts[where] for one in comparable], tolerance):
                return Comparison("changed", f"{where}: {why}")
    why = describe_difference(recorded, again[0], tolerance=tolerance)
    return Comparison("varies", why) if why else Comparison("same")


def describe_difference(old: ComparableResult, new: ComparableResult, *, tolerance: float = TOLERANCE) -> str:
    """Describe the first difference between two results; empty if they are the same."""
    if structure := _structural_difference(old, new):
        return structure
    for where, part in old.parts.items():
        if why := describe_part_difference(part, new.parts[where], tolerance):
            return f"{where}: {why}"
    return ""


def _describe_change(recorded: Part, shown: Sequence[Part], tolerance: float) -> str:
    """Describe how a part differs from all re-executions, if these agree with one another in content or in form."""
    why = [describe_part_difference(recorded, part, tolerance) for part in shown]
    if not all(why):
        return ""
    if not any(describe_part_difference(shown[0], part, tolerance) for part in shown[1:]):
        return why[0]
    forms = [structure_of(part) for part in shown]
    return "" if structure_of(recorded) in forms or any(form != forms[0] for form in forms[1:]) else why[0]


def _structural_difference(old: ComparableResult, new: ComparableResult) -> str:
    if (old.status, old.error) != (new.status, new.error):
        return f"{_outcome(old)} -> {_outcome(new)}"
    if old.kinds != new.kinds:
        return f"outputs: {_list_kinds(old)} -> {_list_kinds(new)}"
    lost, more = ([name for name in a if name not in b] for a, b in ((old.names, new.names), (new.names, old.names)))
    parts = [f"no {clip(', '.join(lost), MAX_SHOWN)}"] if lost else []
    parts += [f"also {clip(', '.join(more), MAX_SHOWN)}"] if more else []
    other = [name for name in old.names if name in new.names and old.names[name] != new.names[name]]
    parts += [f"{name} {old.names[name]} -> {new.names[name]}" for name in other[:3]]
    return f"names: {'; '.join(parts)}" if parts else ""


def _outcome(one: ComparableResult) -> str:
    message = one.parts["message"]
    more = clip(message.text, MAX_SHOWN) if isinstance(message, Text) else ""
    return one.status if not one.error else f"{one.error}: {more}" if more else one.error


def _list_kinds(one: ComparableResult) -> str:
    return "; ".join(", ".join(mimes) for mimes in one.kinds) or "none"
