"""How much a trace holds of what was shown: so much that it opens in seconds, and that places for code take the file.

Code, statuses, errors and short values always stay. Large values stay in the order in which they came while there is
room; what solutions showed has room of its own. Each output says which of its values were left out, and how large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import JsonValue

from exploracoder_jupyter.core.events import CandidateObserved, Record, SolutionTested
from exploracoder_jupyter.core.types import Observation, Output
from exploracoder_jupyter.trace.cell_metadata import NAMESPACE
from exploracoder_jupyter.trace.deduplication import LARGE, size_of

MOST: Final = 40_000_000
"""Characters of large values that subtasks may show."""
MOST_OF_SOLUTIONS: Final = 10_000_000
"""The same of solutions, on the inputs that were made for them too."""
LEFT_OUT: Final = "left_out"
_END: Final = LARGE // 4
"""Characters that stay at either end of a text."""


class Room:
    """What room is left in a trace."""

    def __init__(self, most: int = MOST, most_of_solutions: int = MOST_OF_SOLUTIONS) -> None:
        self._left = {"subtasks": most, "solutions": most_of_solutions}

    def fit(self, record: Record) -> Record:
        """The record, without the large values that have no room any more."""
        match record.event:
            case CandidateObserved() as event:
                of = "solutions" if event.candidate.startswith("s") else "subtasks"
                observation = self._fitting(event.observation, of)
                return replace(record, event=replace(event, observation=observation))
            case SolutionTested() as event:
                results = [
                    replace(one, observation=self._fitting(one.observation, "solutions")) for one in event.results
                ]
                return replace(record, event=replace(event, results=tuple(results)))
        return record

    def _fitting(self, observation: Observation, of: str) -> Observation:
        return replace(observation, outputs=tuple(self._output(output, of) for output in observation.outputs))

    def _output(self, output: Output, of: str) -> Output:
        match output:
            case {"data": dict(data)}:
                gone: dict[str, JsonValue] = {
                    mime: size for mime, size in _by_size(data) if not self._has_room(size, of)
                }
                if not gone:
                    return output
                kept = {mime: value for mime, value in data.items() if mime not in gone}
                plain = {"text/plain": _ends(str(data["text/plain"]))} if "text/plain" in gone else {}
                return {**output, "data": {**kept, **plain}, NAMESPACE: {LEFT_OUT: gone}}
            case {"text": str(text)} if not self._has_room(len(text), of):
                return {**output, "text": _ends(text), NAMESPACE: {LEFT_OUT: {"text": len(text)}}}
        return output

    def _has_room(self, size: int, of: str) -> bool:
        if size < LARGE:
            return True
        fits = size <= self._left[of]
        self._left[of] -= size if fits else 0
        return fits


def left_out_of(output: Mapping[str, Any]) -> dict[str, int]:
    """Which values of a recorded output were left out, with their characters; `text` for a stream's."""
    match output.get(NAMESPACE):
        case {"left_out": dict(gone)}:
            return {str(name): size for name, size in gone.items() if isinstance(size, int)}
    return {}


def left_out(records: Iterable[Record]) -> tuple[int, int]:
    """How many values were left out of what these records show, and their characters."""
    sizes = [size for seen in _observed(records) for output in seen.outputs for size in left_out_of(output).values()]
    return len(sizes), sum(sizes)


def as_kept(kept: Observation, again: Observation) -> Observation:
    """What the same execution shows again, without what its record had no room for."""
    if not any(map(left_out_of, kept.outputs)):
        return again
    streams = {one.get("name") for one in kept.outputs if "text" in left_out_of(one)}
    displays = iter([one for one in kept.outputs if "data" in one])
    shown = [
        _less(one, next(displays, one)) if "data" in one else one
        for one in again.outputs
        if "data" in one or one.get("name") not in streams
    ]
    cut = (one for one in kept.outputs if "text" in one and one.get("name") in streams)
    return replace(again, outputs=(*shown, *cut))


def _less(output: Output, kept: Output) -> Output:
    """A display without the values that its record lacks; of a long text the same ends."""
    data, held, gone = output.get("data"), kept.get("data"), left_out_of(kept)
    if not isinstance(data, dict) or not isinstance(held, dict):
        return output
    ends = {name: value for name, value in held.items() if name in gone}
    return {**output, "data": {**{name: value for name, value in data.items() if name not in gone}, **ends}}


def _observed(records: Iterable[Record]) -> Iterator[Observation]:
    for record in records:
        if isinstance(record.event, CandidateObserved):
            yield record.event.observation
        elif isinstance(record.event, SolutionTested):
            yield from (result.observation for result in record.event.results)


def _by_size(data: Mapping[str, JsonValue]) -> list[tuple[str, int]]:
    return sorted(((mime, size_of(value)) for mime, value in data.items()), key=lambda one: one[1])


def _ends(text: str) -> str:
    return f"{text[:_END]}\n[... {len(text) - 2 * _END:,} characters left out ...]\n{text[-_END:]}"
