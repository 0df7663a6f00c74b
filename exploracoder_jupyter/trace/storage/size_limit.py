"""Limits the size of outputs in a trace, so that it opens in seconds and code hosts accept the file.

Code, statuses, errors and short values always stay. Large values are stored in the order in which they arrive until the
limit is reached; solutions have a separate limit. Each output records which of its values were left out, and their
sizes. A trace contains what is stored twice: in the records, and in the cells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import JsonValue

from exploracoder_jupyter.core.events import CandidateObserved, Record, SolutionTested
from exploracoder_jupyter.core.types import Observation, Output
from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE

MAX_SUBTASKS: Final = 20_000_000
"""Limit for the large values of subtasks, in characters."""
MAX_SOLUTIONS: Final = 5_000_000
"""Limit for the large values of solutions, including those on generated inputs."""
LARGE: Final = 2_000
"""Minimum length of a large value, in characters."""
LEFT_OUT: Final = "left_out"
_END: Final = LARGE // 4
"""Characters that stay at either end of a shortened text."""


class SizeBudget:
    """Tracks how much more may be stored in a trace."""

    def __init__(self, most: int = MAX_SUBTASKS, most_of_solutions: int = MAX_SOLUTIONS) -> None:
        self._left = {"subtasks": most, "solutions": most_of_solutions}

    def fit(self, record: Record) -> Record:
        """Return the record without the large values that exceed the limit."""
        match record.event:
            case CandidateObserved() as event:
                group = "solutions" if event.candidate.startswith("s") else "subtasks"
                observation = self._fit_observation(event.observation, group)
                return replace(record, event=replace(event, observation=observation))
            case SolutionTested() as event:
                results = [
                    replace(one, observation=self._fit_observation(one.observation, "solutions"))
                    for one in event.results
                ]
                return replace(record, event=replace(event, results=tuple(results)))
        return record

    def _fit_observation(self, observation: Observation, group: str) -> Observation:
        return replace(observation, outputs=tuple(self._fit_output(output, group) for output in observation.outputs))

    def _fit_output(self, output: Output, group: str) -> Output:
        match output:
            case {"data": dict(data)}:
                by_size = sorted((_size_of(value), mime) for mime, value in data.items())
                omitted: dict[str, JsonValue] = {
                    mime: size for size, mime in by_size if not self._has_room(size, group)
                }
                if not omitted:
                    return output
                rest = {mime: value for mime, value in data.items() if mime not in omitted}
                plain = {"text/plain": _shorten(str(data["text/plain"]))} if "text/plain" in omitted else {}
                return {**output, "data": {**rest, **plain}, NAMESPACE: {LEFT_OUT: omitted}}
            case {"text": str(text)} if not self._has_room(len(text), group):
                return {**output, "text": _shorten(text), NAMESPACE: {LEFT_OUT: {"text": len(text)}}}
        return output

    def _has_room(self, size: int, group: str) -> bool:
        if size < LARGE:
            return True
        fits = size <= self._left[group]
        self._left[group] -= size if fits else 0
        return fits


def omitted_values(output: Mapping[str, Any]) -> dict[str, int]:
    """Return which values of a recorded output were left out, with their sizes; `text` for that of a stream."""
    match output.get(NAMESPACE):
        case {"left_out": dict(omitted)}:
            return {str(name): size for name, size in omitted.items() if isinstance(size, int)}
    return {}


def count_omitted(records: Iterable[Record]) -> tuple[int, int]:
    """Return how many values were left out of the outputs in these records, and their total size."""
    seen: list[Observation] = []
    for event in (record.event for record in records):
        if isinstance(event, CandidateObserved):
            seen.append(event.observation)
        elif isinstance(event, SolutionTested):
            seen += [result.observation for result in event.results]
    sizes = [size for one in seen for output in one.outputs for size in omitted_values(output).values()]
    return len(sizes), sum(sizes)


def trim_like_record(recorded: Observation, again: Observation) -> Observation:
    """Remove from a re-execution's outputs what was left out of its record, so that both can be compared."""
    if not any(map(omitted_values, recorded.outputs)):
        return again
    streams = {one.get("name") for one in recorded.outputs if "text" in omitted_values(one)}
    displays = iter([one for one in recorded.outputs if "data" in one])
    outputs = [
        _trim_display(one, next(displays, one)) if "data" in one else one
        for one in again.outputs
        if "data" in one or one.get("name") not in streams
    ]
    shortened = (one for one in recorded.outputs if "text" in one and one.get("name") in streams)
    return replace(again, outputs=(*outputs, *shortened))


def _trim_display(output: Output, recorded: Output) -> Output:
    data, recorded_data, omitted = output.get("data"), recorded.get("data"), omitted_values(recorded)
    if not isinstance(data, dict) or not isinstance(recorded_data, dict):
        return output
    ends = {name: value for name, value in recorded_data.items() if name in omitted}
    return {**output, "data": {**{name: value for name, value in data.items() if name not in omitted}, **ends}}


def _size_of(value: JsonValue) -> int:
    return len(value if isinstance(value, str) else json.dumps(value))


def _shorten(text: str) -> str:
    return f"{text[:_END]}\n[... {len(text) - 2 * _END:,} characters left out ...]\n{text[-_END:]}"
