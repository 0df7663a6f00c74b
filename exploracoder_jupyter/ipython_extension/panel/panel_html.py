"""Renders a run's state as HTML and as plain text for the panel: pure functions over the same state.

The HTML takes its colours from JupyterLab's theme variables, has no script, expresses everything in words as well as
symbols, and escapes every string, because tasks, titles and errors come from people, models and libraries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from exploracoder_jupyter.core.configuration.settings import OFFLINE
from exploracoder_jupyter.core.events import FilesKept
from exploracoder_jupyter.core.message_wording import describe_tokens, plural
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.core.truncate import one_line
from exploracoder_jupyter.core.types import Outcome, SubtaskStatus
from exploracoder_jupyter.ipython_extension.searching.highlighted_code import highlight_diff

_SYMBOLS: dict[SubtaskStatus, str] = {"planned": "○", "exploring": "◐", "done": "●", "failed": "✗", "skipped": "–"}
_OUTCOMES: dict[Outcome, str] = {
    "solved": "Solved",
    "unchecked": "Unchecked",
    "unsolved": "Unsolved",
    "stopped": "Stopped",
}
_COLOURS: dict[str, str] = {
    "solved": "var(--jp-success-color1, #388e3c)",
    "unchecked": "var(--jp-warn-color1, #b26a00)",
    "unsolved": "var(--jp-error-color1, #c62828)",
    "stopped": "var(--jp-ui-font-color2, #666)",
}
_BOX = (
    "border:1px solid var(--jp-border-color2, #bbb);border-radius:3px;padding:6px 10px;"
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);"
    "color:var(--jp-ui-font-color1, inherit);background:var(--jp-layout-color1, transparent)"
)
_QUIET = "color:var(--jp-ui-font-color2, #666)"
_CODE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);"
    "background:var(--jp-layout-color2, transparent);padding:6px;overflow-x:auto"
)
_ERROR_BOX = _BOX.replace(
    "border:1px solid var(--jp-border-color2, #bbb)",
    f"border:1px solid {_COLOURS['unsolved']};border-left-width:4px",
).replace("var(--jp-layout-color1, transparent)", "var(--jp-rendermime-error-background, transparent)")
_ERROR = f'<span aria-hidden="true" style="color:{_COLOURS["unsolved"]};font-weight:bold">✗</span> '
_FAILED = "Failed."
_SIDEBAR = "See the Exploration sidebar."
_MAX_NOTE = 160
"""How many characters of an error or reason are shown."""
_MAX_CANDIDATES = 8
"""How many candidates of one subtask are shown individually."""


def headline(state: RunState) -> str:
    """Return one line: the current activity, or how the run ended."""
    if state.failure:
        return state.failure
    if state.verdict:
        reason = state.verdict.reason
        return f"{_OUTCOMES[state.verdict.outcome]}. {reason}".strip()
    return state.activity


def cost(state: RunState, now: float) -> str:
    """Return what was spent so far: time, calls, tokens, executions."""
    return f"{_clock(state.seconds(now))}, {describe_cost(state)}"


def as_text(state: RunState, now: float, *, hint: str = "") -> str:
    """Render the panel as plain text; `hint` explains how to stop while the run is active."""
    libraries = state.task.libraries
    lines = [f"Exploring {', '.join(libraries)}: {headline(state)}" if libraries else headline(state)]
    lines += [f"  {notice.text}" for notice in state.notices]
    lines += [_text_row(row, over=state.over) for row in state.shown_sections]
    lines.append(f"  {_footer(state, now)}")
    if state.trace:
        lines.append(f"  Trace: {state.trace}")
    if state.files and state.files.files:
        lines.append(f"  {_files(state.files)}")
    if hint and not state.over:
        lines.append(f"  {hint}")
    return "\n".join(lines)


def as_html(state: RunState, now: float, *, hint: str = "") -> str:
    """Render the panel as HTML; `hint` explains how to stop an active run, or what to do with its solution."""
    parts = [_html_head(state)]
    parts += [f'<div style="{_QUIET}">{escape(notice.text)}</div>' for notice in state.notices]
    rows = "".join(_html_row(row, over=state.over) for row in state.shown_sections)
    if rows:
        parts.append(f'<ul style="list-style:none;margin:4px 0;padding:0">{rows}</ul>')
    parts.append(f'<div style="{_QUIET}">{escape(_footer(state, now))}</div>')
    if state.offered_solution:
        code = highlight_diff(state.patch) if state.patch else escape(state.offered_solution)
        parts.append(f'<pre style="{_CODE}">{code}</pre>')
    if state.trace:
        parts.append(f"<div>Trace: <code>{escape(state.trace)}</code></div>")
    if state.files and state.files.files:
        parts.append(f'<div style="{_QUIET}">{escape(_files(state.files))}</div>')
    if hint:
        parts.append(f'<div style="{_QUIET}">{escape(hint)}</div>')
    return f'<div class="jp-Explora-panel" style="{_ERROR_BOX if state.broken else _BOX}">{"".join(parts)}</div>'


def line(state: RunState) -> str:
    """Render one line, for a run whose details are in the sidebar."""
    about = f"Exploring {state.task.subject}: " if state.task.subject else ""
    return f"{about}{headline(state).rstrip('.')}. {_pointer(state)}".strip()


def line_as_html(state: RunState) -> str:
    """Render the line as HTML.

    It is not a live region, because the sidebar has one; an error is announced in case the sidebar is closed.
    """
    quiet = f' <span style="{_QUIET}">{_SIDEBAR}</span>' if _pointer(state) else ""
    libraries = f"Exploring {escape(', '.join(state.task.libraries))}: " if state.task.libraries else ""
    if state.broken:
        text = f"{_html_failed()} {libraries}{escape(headline(state).rstrip('.'))}."
        return f'<div class="jp-Explora-panel" role="alert" style="{_ERROR_BOX}">{text}{quiet}</div>'
    text = f'<span style="color:{_headline_colour(state)}">{escape(headline(state).rstrip("."))}.</span>'
    return f'<div class="jp-Explora-panel" style="{_BOX}">{libraries}{text}{quiet}</div>'


def _pointer(state: RunState) -> str:
    """Return where to see more; a run that failed before there was a plan or a program has nothing more to show."""
    return "" if state.failure and not state.shown_sections else _SIDEBAR


def candidate_line(candidate: Attempt) -> str:
    """Describe one candidate in words: `2.1 failed: KeyError: 'x'`."""
    note = f": {_cut(candidate.note)}" if candidate.note else ""
    return f"{candidate.id} {_outcome_word(candidate)}{note}"


def describe(row: Section) -> str:
    """Describe a subtask's candidates in words: `5 tried: 3 ran, 1 failed, 1 duplicate; 2.1 carried forward`."""
    if not row.candidates:
        return ""
    text = f"{len(row.candidates)} tried: {_tally(row.candidates)}"
    return f"{text}; {row.selected.id} {_selection_word(row.selected)}" if row.selected else text


def describe_cost(state: RunState) -> str:
    """Describe the cost: `3 model calls, 1,234 tokens, 5 executions`; only executions for the offline model."""
    usage, executions = state.usage, plural(state.usage.executions, "execution")
    if state.model == OFFLINE:
        return executions
    return f"{plural(usage.calls, 'model call')}, {describe_tokens(usage)}, {executions}"


def _footer(state: RunState, now: float) -> str:
    expected = f"{state.estimate} expected" if state.estimate and not state.over else ""
    parts = [cost(state, now), expected, state.model, state.isolation]
    return " · ".join(part for part in parts if part)


def _files(kept: FilesKept) -> str:
    return f"The solution wrote {plural(len(kept.files), 'file')}, kept in {kept.folder}; see %explora files."


def _status(row: Section, *, over: bool) -> str:
    """Return the status in words: `ran` for a subtask that is done, because its result was not verified."""
    if over and row.status == "exploring":
        return "not finished"
    return "ran" if row.status == "done" and row.id != SOLUTION else row.status


def _text_row(row: Section, *, over: bool) -> str:
    number = f"{row.id}. " if row.id.isdigit() else ""
    detail = "; ".join(part for part in (describe(row), _cut(row.reason)) if part)
    return f"  {_SYMBOLS[row.status]} {number}{row.title} [{_status(row, over=over)}]" + (
        f" {detail}" if detail else ""
    )


def _html_failed() -> str:
    return f"{_ERROR}<strong>{_FAILED}</strong>"


def _html_head(state: RunState) -> str:
    if state.broken:
        return f'<div role="alert">{_html_failed()} {escape(headline(state))}</div>'
    libraries = f"<strong>Exploring {escape(', '.join(state.task.libraries))}</strong> " if state.task.libraries else ""
    words = f'<span style="color:{_headline_colour(state)}">{escape(headline(state))}</span>'
    return f'<div role="status" aria-live="polite">{libraries}{words}</div>'


def _headline_colour(state: RunState) -> str:
    if state.failure:
        return _COLOURS["unsolved"]
    return _COLOURS[state.verdict.outcome] if state.verdict else "inherit"


def _html_row(row: Section, *, over: bool) -> str:
    number = f"{escape(row.id)}. " if row.id.isdigit() else ""
    head = f'<span aria-hidden="true">{_SYMBOLS[row.status]}</span> {number}{escape(row.title)}'
    status = f'<span style="{_QUIET}">{_status(row, over=over)}</span>'
    marks = _html_candidates(row)
    reason = f'<div style="{_QUIET};padding-left:1.4em">{escape(_cut(row.reason))}</div>' if row.reason else ""
    tried = f'<div style="padding-left:1.4em">{marks}</div>' if marks else ""
    return f'<li style="margin:2px 0">{head} {status}{tried}{reason}</li>'


def _html_candidates(row: Section) -> str:
    """Render the last candidates and the selected one; the others are counted."""
    hidden = [candidate for candidate in row.candidates[:-_MAX_CANDIDATES] if candidate is not row.selected]
    counted = escape(f"{_tally(hidden)}, then ") if hidden else ""
    shown = [candidate for candidate in row.candidates if candidate not in hidden]
    return counted + " ".join(_html_candidate(candidate, chosen=candidate is row.selected) for candidate in shown)


def _html_candidate(candidate: Attempt, *, chosen: bool) -> str:
    word = f"{_outcome_word(candidate)}, {_selection_word(candidate)}" if chosen else _outcome_word(candidate)
    weight = "font-weight:bold;" if chosen else ""
    title = f' title="{escape(_cut(candidate.note))}"' if candidate.note else ""
    return f'<span style="{weight}white-space:nowrap;margin-right:.8em"{title}>{escape(candidate.id)} {word}</span>'


def _tally(candidates: Sequence[Attempt]) -> str:
    counts = Counter(_outcome_word(candidate) for candidate in candidates)
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def _selection_word(candidate: Attempt) -> str:
    """Describe how the selected candidate is used: a failed one is only experience, not the base of the next step."""
    if candidate.state == "not run":
        return "selected"
    return "carried forward" if candidate.state == "ok" else "kept as experience"


def _outcome_word(candidate: Attempt) -> str:
    match candidate.state:
        case "ok":
            return "ran"
        case "error":
            return "failed"
        case "timeout":
            return "timed out"
        case "check failed":
            return "ran, but its check failed"
        case _:
            return candidate.state


def _cut(text: str) -> str:
    return one_line(text, _MAX_NOTE)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
