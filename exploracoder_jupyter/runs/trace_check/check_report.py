"""The results of a check: for each execution and edited cell, and as one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from exploracoder_jupyter.trace.reading import Execution

Result = Literal["same", "varies", "changed", "edited", "not run"]


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one execution, or for one edited Markdown cell."""

    id: str
    result: Result
    why: str = ""
    """The difference, from old to new."""
    counts: bool = True
    """Whether the result affects the verdict: false for code that had not run in the recorded run either."""

    @property
    def same(self) -> bool:
        """Whether this result confirms the trace."""
        return self.result in ("same", "varies") or not self.counts


@dataclass(frozen=True, slots=True)
class Report:
    """A check of a trace."""

    rows: tuple[Row, ...]
    recorded: Mapping[str, JsonValue]
    """The environment of the run."""
    now: Mapping[str, JsonValue]
    """The environment of the re-execution."""
    differs: tuple[str, ...]
    """The differences between both environments, one clause each."""
    calls: tuple[str, ...]
    """APIs that behave differently."""

    @property
    def same(self) -> bool:
        """Whether the trace was reproduced."""
        return all(row.same for row in self.rows)

    @property
    def sentence(self) -> str:
        """The result in one sentence, with the calls that changed."""
        counting = [row for row in self.rows if row.counts]
        never_run = len(self.rows) - len(counting)
        counts = {kind: sum(row.result == kind for row in counting) for kind in ("varies", "changed", "edited")}
        if self.same:
            subject = "it still shows" if len(counting) == 1 else f"all {len(counting)} still show"
            varies = counts["varies"]
            parts = [f"{varies} of them var{'ies' if varies == 1 else 'y'} from run to run"] if varies else []
            parts += [f"{never_run} more had never run"] if never_run else []
            exceptions = f" ({'; '.join(parts)})" if parts else ""
            return f"Same: {subject} what is recorded{exceptions}."
        lost = sum(row.result == "not run" for row in counting)
        parts = [f"{counts['changed']} changed", f"{counts['edited']} edited", f"{lost} could not be run"]
        listed = ", ".join(part for part in parts if not part.startswith("0 "))
        calls = ""
        if self.calls:
            what = "This call" if len(self.calls) == 1 else f"These {len(self.calls)} calls"
            calls = f" {what} changed: {', '.join(self.calls)}."
        return f"Different: of {len(self.rows)}, {listed}.{calls}"

    def plain(self) -> dict[str, JsonValue]:
        """Convert the report to JSON."""
        return {
            "same": self.same,
            "cells": [{"id": row.id, "same": row.same, "result": row.result, "why": row.why} for row in self.rows],
            "environment": {"recorded": {**self.recorded}, "now": {**self.now}, "differs": [*self.differs]},
            "calls": [*self.calls],
        }


def id_sort_key(id_: str) -> list[int | str]:
    """Return a sort key for ids in the order of a trace: 1.2, 1.10, 1.10r1, 2.1, s1, s1-t1."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", id_)]


def changed_calls(rows: Sequence[Row], executions: Sequence[Execution]) -> tuple[str, ...]:
    """Return the APIs that are called by changed executions and by no unchanged one.

    Executions that start from a changed state are ignored, because that state may be the reason.
    """
    result = {row.id: row.result for row in rows}
    parents = {one.id: one.parent for one in executions}
    unchanged = {api for one in executions if result.get(one.id) in ("same", "varies") for api in one.apis}
    changed = [
        one
        for one in executions
        if result.get(one.id) == "changed" and not _starts_from_changed(one.id, parents, result)
    ]
    return tuple(dict.fromkeys(api for one in changed for api in one.apis if api not in unchanged))


def _starts_from_changed(id_: str, parents: Mapping[str, str], result: Mapping[str, Result]) -> bool:
    """Whether an execution that this one starts from has changed."""
    seen: set[str] = set()
    while (id_ := parents.get(id_, "")) and id_ not in seen:
        seen.add(id_)
        if result.get(id_) == "changed":
            return True
    return False
