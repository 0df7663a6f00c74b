"""The records of a run as a trace notebook keeps them, and back again.

What differs each time that the same thing is done (when it happened, how long it took, how much memory it needed) is
taken out of the records into a list beside them, the clock: two runs that did the same differ there and in their ids,
in one place of a diff. A record that has its times within, as in a journal and in traces of version 1, is read as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from pydantic import JsonValue

from exploracoder_jupyter.core.events import ModelCalled, Notice, Record, RunStarted, dump, load
from exploracoder_jupyter.trace.deduplication import put_back
from exploracoder_jupyter.trace.migration import Raw, migrated, too_new, version_of


def stored(records: Sequence[Record]) -> dict[str, JsonValue]:
    """`records` without what was measured, and `clock`: for each record when it was, then what was measured in it."""
    raw: list[Any] = [json.loads(dump(record)) for record in records]
    clock: list[JsonValue] = [[record.pop("at"), *_taken(record["event"])] for record in raw]
    return {"clock": clock, "records": raw}


def without_prompts(record: Record) -> Record:
    """The record without what the model was asked. What it said before stays: replies are told apart by it."""
    event = record.event
    if not isinstance(event, ModelCalled):
        return record
    said = tuple(message for message in event.exchange.messages if message.role == "assistant")
    return replace(record, event=replace(event, exchange=replace(event.exchange, messages=said)))


def restored(notebook: object) -> list[Record]:
    """The records that a trace holds, of any version; those that cannot be read are left out."""
    facts = facts_of(notebook)
    raw, clock = _objects(facts.get("records")), facts.get("clock")
    for record, times in zip_longest(raw, clock[: len(raw)] if isinstance(clock, list) else []):
        _put_back(record, times)
    if "trimmed" in facts:
        put_back(raw, notebook.get("cells") if isinstance(notebook, dict) else None)
    return read_raw(raw, version_of(facts))


def facts_of(notebook: object) -> dict[str, Any]:
    """What a notebook's metadata says of a run; nothing where it is no trace."""
    match notebook:
        case {"metadata": {"exploracoder_jupyter": dict(facts)}}:
            return facts
    return {}


def read_raw(raw: list[Raw], version: int) -> list[Record]:
    """Whole records of a version as values. Those that cannot be read are left out; a later version is told."""
    known = [record for one in migrated(raw, version) if (record := _readable(one))]
    sentence = too_new(version)
    return _with_notice(known, Notice(sentence, "warning")) if sentence and known else known


def _readable(raw: Raw) -> Record | None:
    try:
        return load(json.dumps(raw, allow_nan=False))
    except (ValueError, RecursionError):  # torn, or of a kind that is not known here
        return None


def _with_notice(records: list[Record], notice: Notice) -> list[Record]:
    """The records with a notice where the run begins; before all of them, where it is not known how it began."""
    begun = next((place for place, record in enumerate(records, 1) if isinstance(record.event, RunStarted)), 0)
    first = records[max(begun - 1, 0)]
    return [*records[:begun], Record(first.seq, first.at, notice), *records[begun:]]


def _taken(event: dict[str, Any]) -> list[JsonValue]:
    return [holder.pop(name) for holder, name in _measured(event) if name in holder]


def _put_back(record: Any, times: object) -> None:
    """Put the times of a record back into it; a record that somebody has changed is taken as far as it fits."""
    values = list(times) if isinstance(times, list) else []
    record.setdefault("at", values.pop(0) if values else 0.0)
    for holder, name in _measured(record.get("event")):
        if values:
            holder.setdefault(name, values.pop(0))


def _measured(event: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Where an event holds something measured, in the order of the clock."""
    for holder in _measuring(event):
        if isinstance(holder, dict):
            yield holder, "seconds"
            if "status" in holder:
                yield holder, "memory"


def _measuring(event: Any) -> Iterator[Any]:
    match event:
        case {"kind": "candidate_observed", "observation": observation}:
            yield observation
        case {"kind": "solution_tested", "results": [*results]}:
            yield from (result.get("observation") for result in results if isinstance(result, dict))
        case {"kind": "model_called", "exchange": {"usage": usage}}:
            yield usage
        case {"kind": "run_finished", "usage": usage, "usage_by_step": dict(by_step)}:
            yield usage
            yield from (by_step[step] for step in sorted(by_step))  # Jupyter sorts keys when it saves a notebook


def _objects(value: object) -> list[Any]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
