"""Renders a run's state as plain text: its sections for `%explora status`, and the result card."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exploracoder_jupyter.core.run_state import RunState, Section, run_wording
from exploracoder_jupyter.core.types import SubtaskStatus
from exploracoder_jupyter.ipython_extension.result_card.output_preview import outputs_as_text, preview
from exploracoder_jupyter.text.terminal_text import without_controls

SYMBOLS: dict[SubtaskStatus, str] = {"planned": "○", "exploring": "◐", "done": "●", "failed": "✗", "skipped": "–"}


def as_text(state: RunState, now: float) -> str:
    """Render all sections."""
    lines = [_head(state), *(f"  {notice.text}" for notice in state.notices)]
    lines += [_row(row, over=state.over) for row in state.shown_sections]
    return "\n".join([*lines, *(f"  {line}" for line in _facts(state, now))])


def card_text(state: RunState, now: float, hint: str, *, cells: bool, in_page: bool, folder: Path | None) -> str:
    """Render the card; see `card_bundle`."""
    blocks = [_head(state)]
    if not cells:
        rows = [_row(row, over=state.over) for row in state.shown_sections]
        blocks.append("\n".join([*(f"  {notice.text}" for notice in state.notices), *rows]))
    if state.over:
        blocks += [state.patch or state.offered_solution or "", outputs_as_text(state.solution_outputs)]
        blocks.append(run_wording.describe_results(state))
    elif attempt := run_wording.latest(state):
        seen = attempt.observation
        blocks.append(f"{run_wording.candidate_line(attempt)}\n{preview(seen.text) if seen and seen.ran else ''}")
    blocks += ["\n".join(_facts(state, now, in_page=in_page, folder=folder)), hint]
    return without_controls("\n\n".join(block.strip("\n") for block in blocks if block.strip()))


def _head(state: RunState) -> str:
    libraries = ", ".join(state.task.libraries)
    return (
        f"Exploring {libraries}: {run_wording.headline(state)}"
        if libraries and not state.over
        else run_wording.headline(state)
    )


def _facts(state: RunState, now: float, *, in_page: bool = False, folder: Path | None = None) -> Iterator[str]:
    yield run_wording.footer(state, now, in_page=in_page)
    if state.trace:
        yield f"Trace: {run_wording.trace_path(state, folder)}"
    if files := run_wording.describe_files(state.files):
        yield files


def _row(row: Section, *, over: bool) -> str:
    number = f"{row.id}. " if row.id.isdigit() else ""
    detail = "; ".join(part for part in (run_wording.describe(row), run_wording.cut(row.reason)) if part)
    status = run_wording.section_status(row, over=over)
    return f"  {SYMBOLS[row.status]} {number}{row.title} [{status}]" + (f" {detail}" if detail else "")
