"""Renders a run's state as plain text: its sections for `%explora status`, and the result card."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exploracoder_jupyter.core.run_state import RunState, Section
from exploracoder_jupyter.core.run_state.run_wording import (
    candidate_line,
    cut,
    describe,
    describe_files,
    footer,
    headline,
    latest,
    section_status,
    trace_path,
)
from exploracoder_jupyter.core.types import SubtaskStatus
from exploracoder_jupyter.ipython_extension.result_card.output_preview import outputs_as_text, preview

SYMBOLS: dict[SubtaskStatus, str] = {"planned": "○", "exploring": "◐", "done": "●", "failed": "✗", "skipped": "–"}


def as_text(state: RunState, now: float, *, hint: str = "") -> str:
    """Render all sections; `hint` explains how to stop while the run is active."""
    lines = [_head(state), *(f"  {notice.text}" for notice in state.notices)]
    lines += [_row(row, over=state.over) for row in state.shown_sections]
    lines += [f"  {line}" for line in _facts(state, now)]
    if hint and not state.over:
        lines.append(f"  {hint}")
    return "\n".join(lines)


def card_text(
    state: RunState,
    now: float,
    *,
    hint: str = "",
    cells: bool = False,
    in_page: bool = False,
    folder: Path | None = None,
) -> str:
    """Render the card; see `card_html`."""
    blocks = [_head(state)]
    if not cells:
        rows = [_row(row, over=state.over) for row in state.shown_sections]
        blocks.append("\n".join([*(f"  {notice.text}" for notice in state.notices), *rows]))
    if state.over:
        blocks += [state.patch or state.offered_solution or "", outputs_as_text(state.solution_outputs)]
    else:
        blocks.append(_latest(state))
    blocks.append("\n".join(_facts(state, now, in_page=in_page, folder=folder)))
    blocks.append(hint)
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip())


def _head(state: RunState) -> str:
    libraries = ", ".join(state.task.libraries)
    return f"Exploring {libraries}: {headline(state)}" if libraries and not state.over else headline(state)


def _latest(state: RunState) -> str:
    attempt = latest(state)
    shown = preview(attempt.observation.text) if attempt and attempt.observation and attempt.observation.ran else ""
    return f"{candidate_line(attempt)}\n{shown}".strip() if attempt else ""


def _facts(state: RunState, now: float, *, in_page: bool = False, folder: Path | None = None) -> Iterator[str]:
    yield footer(state, now, in_page=in_page)
    if state.trace:
        yield f"Trace: {trace_path(state, folder)}"
    if files := describe_files(state.files):
        yield files


def _row(row: Section, *, over: bool) -> str:
    number = f"{row.id}. " if row.id.isdigit() else ""
    detail = "; ".join(part for part in (describe(row), cut(row.reason)) if part)
    status = section_status(row, over=over)
    return f"  {SYMBOLS[row.status]} {number}{row.title} [{status}]" + (f" {detail}" if detail else "")
