"""What a check has found: for each execution and each cell, and in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from exploracoder_jupyter.trace.recorded_executions import Execution

Result = Literal["same", "varies", "changed", "edited", "not run"]


@dataclass(frozen=True, slots=True)
class Row:
    """One execution, or one cell of words that was edited."""

    id: str
    result: Result
    why: str = ""
    """What differs, old to new."""
    counts: bool = True
    """Whether it makes the trace a different one: not what varies, nor what had not been run in the first place."""

    @property
    def same(self) -> bool:
        """Whether the trace still holds, as far as this goes."""
        return self.result in ("same", "varies") or not self.counts


@dataclass(frozen=True, slots=True)
class Report:
    """A check of a trace."""

    rows: tuple[Row, ...]
    recorded: Mapping[str, JsonValue]
    """Where the run was made."""
    now: Mapping[str, JsonValue]
    """Where it was executed again."""
    differs: tuple[str, ...]
    """What is different about where it was executed again, a clause each."""
    calls: tuple[str, ...]
    """APIs that behave differently."""

    @property
    def same(self) -> bool:
        """Whether the trace still holds."""
        return all(row.same for row in self.rows)

    @property
    def sentence(self) -> str:
        """The result in one sentence, with the calls that changed."""
        held = [row for row in self.rows if row.counts]
        unrun = len(self.rows) - len(held)
        counted = {kind: sum(row.result == kind for row in held) for kind in ("varies", "changed", "edited")}
        if self.same:
            shown = "it still shows" if len(held) == 1 else f"all {len(held)} still show"
            return f"Same: {shown} what is recorded{_apart(counted['varies'], unrun)}."
        lost = sum(row.result == "not run" for row in held)
        parts = [f"{counted['changed']} changed", f"{counted['edited']} edited", f"{lost} could not be run"]
        said = ", ".join(part for part in parts if not part.startswith("0 "))
        return f"Different: of {len(self.rows)}, {said}.{_calls(self.calls)}"

    def plain(self) -> dict[str, JsonValue]:
        """As JSON."""
        return {
            "same": self.same,
            "cells": [{"id": row.id, "same": row.same, "result": row.result, "why": row.why} for row in self.rows],
            "environment": {"recorded": {**self.recorded}, "now": {**self.now}, "differs": [*self.differs]},
            "calls": [*self.calls],
        }


def in_order(id_: str) -> list[int | str]:
    """What sorts ids as they stand in a trace: 1.2, 1.10, 1.10r1, 2.1, s1, s1-t1."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", id_)]


def _apart(varies: int, unrun: int) -> str:
    said = [
        f"{varies} of them var{'ies' if varies == 1 else 'y'} from run to run" if varies else "",
        f"{unrun} more had never run" if unrun else "",
    ]
    return f" ({'; '.join(filter(None, said))})" if any(said) else ""


def _calls(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    what = "This call" if len(paths) == 1 else f"These {len(paths)} calls"
    return f" {what} changed: {', '.join(paths)}."


def changed_calls(rows: Sequence[Row], executions: Sequence[Execution]) -> tuple[str, ...]:
    """The APIs that changed executions call, and no other one: a call that also does what it did is not to blame.

    What starts from a changed state says nothing of the calls that it makes itself.
    """
    result = {row.id: row.result for row in rows}
    parents = {one.id: one.parent for one in executions}
    kept = {api for one in executions if result.get(one.id) in ("same", "varies") for api in one.apis}
    changed = [one for one in executions if result.get(one.id) == "changed" and not _spoilt(one.id, parents, result)]
    return tuple(dict.fromkeys(api for one in changed for api in one.apis if api not in kept))


def _spoilt(id_: str, parents: Mapping[str, str], result: Mapping[str, Result]) -> bool:
    """Whether anything that it starts from has changed."""
    seen: set[str] = set()
    while (id_ := parents.get(id_, "")) and id_ not in seen:
        seen.add(id_)
        if result.get(id_) == "changed":
            return True
    return False
