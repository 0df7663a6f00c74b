"""Converts the records of a run to the form stored in a trace notebook, and back.

Measurements that differ from run to run (time stamps, durations, memory) are moved from the records to a separate list,
the clock. So two runs that did the same differ only there and in their ids, in one place of a diff. Records that still
contain their times, as in journals and in traces of version 1, can be read too. Fields with their default value are
left out; long values are stored once (`shared_content`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from pydantic import JsonValue

from exploracoder_jupyter.core.events import ModelCalled, Notice, Record, RunStarted, dump_changed, load
from exploracoder_jupyter.trace.storage.deduplication import restore_values
from exploracoder_jupyter.trace.storage.migration import Raw, migrate, newer_version_message, version_of
from exploracoder_jupyter.trace.storage.shared_content import inline_content


def store_records(records: Sequence[Record]) -> dict[str, JsonValue]:
    """Return `records` without measurements, and `clock`: the time of each record, followed by its measurements."""
    raw: list[Any] = [dump_changed(record) for record in records]
    clock: list[JsonValue] = [
        [record.pop("at"), *(holder.pop(name, 0) for holder, name in _measured_fields(record["event"]))]
        for record in raw
    ]
    return {"clock": clock, "records": raw}


def without_prompts(record: Record) -> Record:
    """Remove prompts from a record. The model's own earlier messages stay: they distinguish exchanges."""
    event = record.event
    if not isinstance(event, ModelCalled):
        return record
    messages = tuple(message for message in event.exchange.messages if message.role == "assistant")
    return replace(record, event=replace(event, exchange=replace(event.exchange, messages=messages)))


def read_records(notebook: object) -> list[Record]:
    """Read the records of a trace of any version; unreadable ones are skipped."""
    metadata = run_metadata(notebook)
    inline_content(metadata)
    raw, clock = metadata.get("records"), metadata.get("clock")
    raw = [record for record in raw if isinstance(record, dict)] if isinstance(raw, list) else []
    for record, times in zip_longest(raw, clock[: len(raw)] if isinstance(clock, list) else []):
        _restore_measurements(record, times)
    if "trimmed" in metadata:
        restore_values(raw, notebook.get("cells") if isinstance(notebook, dict) else None)
    return parse_records(raw, version_of(metadata))


def run_metadata(notebook: object) -> dict[str, Any]:
    """Return a notebook's metadata about its run; empty if it is not a trace."""
    match notebook:
        case {"metadata": {"exploracoder_jupyter": dict(metadata)}}:
            return metadata
    return {}


def parse_records(raw: list[Raw], version: int) -> list[Record]:
    """Parse raw records of this version.

    Unreadable records are skipped. For a version newer than this package, a notice is added, after the start of the run
    or before all records if the start is missing.
    """
    records: list[Record] = []
    for one in migrate(raw, version):
        with suppress(ValueError, RecursionError):  # truncated, or of an unknown kind
            records.append(load(json.dumps(one, allow_nan=False)))
    if records and (sentence := newer_version_message(version)):
        index = next((place for place, record in enumerate(records, 1) if isinstance(record.event, RunStarted)), 0)
        first = records[max(index - 1, 0)]
        records.insert(index, Record(first.seq, first.at, Notice(sentence, "warning")))
    return records


def _restore_measurements(record: Any, times: object) -> None:
    """Insert the measurements into a record, as far as they fit if the record was edited."""
    values = list(times) if isinstance(times, list) else []
    record.setdefault("at", values.pop(0) if values else 0.0)
    for holder, name in _measured_fields(record.get("event")):
        if values:
            holder.setdefault(name, values.pop(0))


def _measured_fields(event: Any) -> Iterator[tuple[dict[str, Any], str]]:
    for holder in _measured_objects(event):
        if isinstance(holder, dict):
            yield holder, "seconds"
            if "status" in holder:
                yield holder, "memory"


def _measured_objects(event: Any) -> Iterator[Any]:
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
