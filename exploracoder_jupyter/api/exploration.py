"""An exploration as a value: what `explore` returns and what `load_trace` reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section, fold_all
from exploracoder_jupyter.core.types import Output, Status, Usage
from exploracoder_jupyter.runs.order import load_records
from exploracoder_jupyter.trace.cells import final_solution, sanitized_outputs
from exploracoder_jupyter.trace.reading import summarize_run


@dataclass(frozen=True, slots=True)
class TriedCode:
    """One candidate: a snippet or a solution that was written, and run unless it repeats another."""

    id: str
    """`"2.3"` is the third of subtask 2, `"2.3r1"` its first repair, `"s1"` the first solution."""
    subtask: str
    """Title of its subtask; `"solution"` for a solution."""
    code: str
    status: Status | None
    """`"ok"`, `"error"`, `"timeout"`, `"died"` or `"interrupted"`; `None` if it was not run."""
    text: str
    """What it printed and displayed, as plain text; long outputs are shortened."""
    error: str
    """`NameError: name 'x' is not defined`; empty if it ran."""
    outputs: tuple[Output, ...] = field(repr=False)
    """The same as nbformat outputs, sanitized."""
    selected: bool
    """Whether it was carried forward, or is the solution."""


@dataclass(frozen=True)
class Exploration:
    """A finished or interrupted exploration. Displays itself as HTML in a notebook and as text elsewhere."""

    records: tuple[Record, ...] = field(repr=False)
    """Every event of the run, in order."""
    trace: Path | None
    """The trace notebook; `None` if none was written."""
    summary: dict[str, JsonValue] = field(repr=False, compare=False)
    """The object that `jupyter explora run --json` prints."""

    @property
    def status(self) -> str:
        """`"solved"`, `"unchecked"`, `"unsolved"` or `"stopped"`."""
        return str(self.summary["status"])

    @property
    def reason(self) -> str:
        """Why it has this status, in a sentence."""
        return str(self.summary["reason"] or "")

    @property
    def solution(self) -> str | None:
        """The program that solves the task; `None` if there is none that ran and passed its check."""
        found = final_solution(self.state)
        return found.code if found else None

    @property
    def patch(self) -> str:
        """The change of a repository as a patch, which `jupyter explora repo apply` applies; empty without one."""
        return str(self.summary.get("patch") or "")

    @cached_property
    def candidates(self) -> tuple[TriedCode, ...]:
        """Everything that was tried, by subtask; solutions come last."""
        sections = [*self.state.subtasks, *filter(None, [self.state.sections.get(SOLUTION)])]
        return tuple(self._tried(section, attempt) for section in sections for attempt in section.ordered)

    @property
    def usage(self) -> Usage:
        """Model calls, tokens, seconds and executions; the cost in money if the model has a price."""
        return self.state.usage

    @property
    def files(self) -> tuple[Path, ...]:
        """Copies of the files that the solution wrote."""
        kept = self.state.files
        return tuple(Path(kept.folder, name) for name in kept.files) if kept else ()

    @cached_property
    def state(self) -> RunState:
        """The whole run, computed from its events."""
        return fold_all(self.records)

    def _tried(self, section: Section, attempt: Attempt) -> TriedCode:
        candidate, seen = attempt.candidate, attempt.observation
        error = seen.error if seen else None
        solution = final_solution(self.state)
        return TriedCode(
            candidate.id,
            "solution" if section.subtask.id == SOLUTION else section.subtask.title,
            candidate.code,
            seen.status if seen else None,
            seen.text if seen else "",
            f"{error.name}: {error.message}" if error else (seen.note if seen and not seen.ran else ""),
            sanitized_outputs(seen) if seen else (),
            attempt is section.selected or (solution is not None and solution.candidate == candidate.id),
        )

    def __repr__(self) -> str:
        from exploracoder_jupyter.api.exploration_html import text

        return text(self)

    def _repr_html_(self) -> str:
        from exploracoder_jupyter.api.exploration_html import html

        return html(self)


def load_trace(path: str | Path) -> Exploration:
    """Read an exploration from its trace: the notebook, or the journal that an interrupted run leaves.

    Raises:
        UsageError: there is no trace at this path, or it is damaged.
    """
    records, trace = tuple(load_records(Path(path))), Path(path)
    return Exploration(records, trace, summarize_run(fold_all(records), trace=trace))
