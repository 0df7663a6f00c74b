"""Renders a run's state as the result card, in HTML and as plain text."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from exploracoder_jupyter.core.messages import describe_tries
from exploracoder_jupyter.core.run_state import Attempt, RunState, Section, run_wording
from exploracoder_jupyter.core.types import Output, SubtaskStatus
from exploracoder_jupyter.core.validation import JsonValue
from exploracoder_jupyter.ipython_extension.searching.search_results import highlight_diff, highlight_python
from exploracoder_jupyter.text.characters import apply_carriage_returns, escape_html, strip_ansi, without_controls

# The outputs of the solution as the result card shows them: shortened, as HTML and as plain text.
#
# They were sanitized by the engine. HTML is used as it is then; everything else is escaped here.

_MAX_LINES = 20
_MAX_CHARACTERS = 4_000
_MAX_RICH = 400_000
"""How many characters of HTML and images a card has; outputs beyond are shown as text."""
_IMAGES = ("image/png", "image/jpeg", "image/gif")
_PRE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);"
    "margin:4px 0;background:transparent;white-space:pre;overflow:auto;max-height:24em"
)
_SCROLLED = "overflow:auto;max-height:24em;margin:4px 0"


def preview(text: str) -> str:
    """Return the first lines of a text."""
    return _shorten(text.strip("\n"), 6)


def outputs_as_text(outputs: Sequence[Output]) -> str:
    """Render the outputs as plain text, shortened."""
    return _shorten("\n".join(filter(None, (text.strip("\n") for text, _ in _merged(outputs)))), _MAX_LINES)


def outputs_as_html(outputs: Sequence[Output]) -> str:
    """Render the outputs as HTML, shortened."""
    parts: list[str] = []
    left = _MAX_RICH
    for text, output in _merged(outputs):
        rich = _rich(output, text)
        if rich and len(rich) <= left:
            left -= len(rich)
            parts.append(rich)
        elif text.strip():
            parts.append(_pre(escape(_shorten(text.strip(chr(10)), _MAX_LINES)), _PRE, "Output"))
    return "".join(parts)


def _merged(outputs: Sequence[Output]) -> Iterator[tuple[str, Output]]:
    printed = ""
    for output in outputs:
        if output.get("output_type") == "stream":
            printed += _text(output.get("text"))
            continue
        if printed:
            yield _plain(printed), {}
            printed = ""
        data = output.get("data")
        text = _text(data.get("text/plain")) if isinstance(data, dict) else ""
        if output.get("output_type") == "error":
            text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        yield _plain(text), output
    if printed:
        yield _plain(printed), {}


def _rich(output: Output, text: str) -> str:
    data = output.get("data")
    bundle = data if isinstance(data, dict) else {}
    if page := _text(bundle.get("text/html")):
        return f'<div role="region" aria-label="Output" tabindex="0" style="{_SCROLLED}">{page}</div>'
    for mime in _IMAGES:
        if content := _text(bundle.get(mime)):
            return _image(mime, content, text)
    if svg := _text(bundle.get("image/svg+xml")):
        return _image("image/svg+xml", base64.b64encode(svg.encode()).decode(), text)
    return ""


def _image(mime: str, content: str, text: str) -> str:
    style = "display:block;max-width:min(100%, 480px);margin:4px 0"
    return f'<img src="data:{mime};base64,{escape(content)}" alt="{escape(text or "Figure")}" style="{style}">'


def _pre(content: str, style: str, label: str) -> str:
    """Return lines that scroll instead of wrapping, also by the keyboard."""
    return f'<pre role="region" aria-label="{label}" tabindex="0" style="{style}">{content}</pre>'


def _plain(text: str) -> str:
    return apply_carriage_returns(strip_ansi(text))


def _shorten(text: str, most: int) -> str:
    lines = text.splitlines()
    shown = "\n".join(lines[:most])
    if len(shown) > _MAX_CHARACTERS:
        return f"{shown[:_MAX_CHARACTERS]}…"
    return f"{shown}\n… {len(lines) - most:,} more lines" if len(lines) > most else shown


def _text(value: JsonValue) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


# Renders a run's state as plain text: its sections for `%explora status`, and the result card.

SYMBOLS: dict[SubtaskStatus, str] = {"planned": "○", "exploring": "◐", "done": "●", "failed": "✗", "skipped": "–"}


def as_text(state: RunState, now: float) -> str:
    """Render all sections."""
    lines = [_text_head(state), *(f"  {notice.text}" for notice in state.notices)]
    lines += [_text_row(row, over=state.over) for row in state.shown_sections]
    return "\n".join([*lines, *(f"  {line}" for line in _facts(state, now))])


def card_text(state: RunState, now: float, hint: str, *, cells: bool, in_page: bool, folder: Path | None) -> str:
    """Render the card; see `card_bundle`."""
    blocks = [_text_head(state)]
    if not cells:
        rows = [_text_row(row, over=state.over) for row in state.shown_sections]
        blocks.append("\n".join([*(f"  {notice.text}" for notice in state.notices), *rows]))
    if state.over:
        blocks += ["" if cells and not state.patch else state.patch or state.offered_solution or ""]
        blocks += [run_wording.describe_results(state), outputs_as_text(state.solution_outputs)]
    elif attempt := run_wording.latest(state):
        seen = attempt.observation
        blocks.append(f"{run_wording.candidate_line(attempt)}\n{preview(seen.text) if seen and seen.ran else ''}")
    blocks += ["\n".join(_facts(state, now, in_page=in_page, folder=folder, cells=cells)), hint]
    return without_controls("\n\n".join(block.strip("\n") for block in blocks if block.strip()))


def _text_head(state: RunState) -> str:
    libraries = ", ".join(state.task.libraries)
    return (
        f"Exploring {libraries}: {run_wording.headline(state)}"
        if libraries and not state.over
        else run_wording.headline(state)
    )


def _facts(
    state: RunState, now: float, *, in_page: bool = False, folder: Path | None = None, cells: bool = False
) -> Iterator[str]:
    yield run_wording.footer(state, now, in_page=in_page, tries=not (cells and state.over))
    if state.trace:
        yield f"Trace: {run_wording.trace_path(state, folder)}"
    if files := run_wording.describe_files(state.files):
        yield files


def _text_row(row: Section, *, over: bool) -> str:
    number = f"{row.id}. " if row.id.isdigit() else ""
    detail = "; ".join(part for part in (run_wording.describe(row), run_wording.cut(row.reason)) if part)
    status = run_wording.section_status(row, over=over)
    return f"  {SYMBOLS[row.status]} {number}{row.title} [{status}]" + (f" {detail}" if detail else "")


# Renders a run's state as the result card, in HTML; `card_bundle` has its plain text beside it.
#
# Pure functions of the state. The HTML takes its colours from JupyterLab's theme variables, has no script and no
# buttons, so that it means the same in any viewer, expresses everything in words as well as symbols, and escapes
# every string, so that it is neither markup nor a formula, because tasks, titles and errors come from people,
# models and libraries.

_COLOURS: dict[str, str] = {
    "solved": "var(--jp-success-color1, #388e3c)",
    "unchecked": "var(--jp-warn-color1, #b26a00)",
    "unsolved": "var(--jp-error-color1, #c62828)",
    "stopped": "var(--jp-ui-font-color2, #666)",
}
_OUTCOME_SYMBOLS: dict[str, str] = {"solved": "✓", "unchecked": "◐", "unsolved": "✗", "stopped": "■"}
_BOX = (
    "border:1px solid {edge};border-left-width:{left}px;border-radius:3px;padding:6px 10px;"
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);"
    "color:var(--jp-ui-font-color1, inherit);background:{ground};overflow-wrap:anywhere"
)
_EDGE, _GROUND = "var(--jp-border-color2, #bbb)", "var(--jp-layout-color1, transparent)"
_ALARM = "var(--jp-rendermime-error-background, transparent)"
_QUIET = "color:var(--jp-ui-font-color2, #666)"
_CODE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);"
    "border:1px solid var(--jp-border-color2, #bbb);background:var(--jp-layout-color0, transparent);"
    "padding:6px;margin:6px 0;white-space:pre;overflow:auto;max-height:24em"
)
_CELL = "white-space:pre"
_LIST = "list-style:none;margin:4px 0;padding:0"
_MAX_CANDIDATES = 8
"""How many candidates of one subtask are shown individually."""


def card_bundle(
    state: RunState, now: float, hint: str, *, warning: str = "", cells: bool, in_page: bool, folder: Path | None
) -> dict[str, str]:
    """Render the card in all its forms, by MIME type; see `card_html`."""
    html = card_html(state, now, hint=hint, warning=warning, cells=cells, in_page=in_page, folder=folder)
    below = "\n\n".join(filter(None, [warning, hint]))
    return {"text/html": html, "text/plain": card_text(state, now, below, cells=cells, in_page=in_page, folder=folder)}


def card_html(
    state: RunState,
    now: float,
    *,
    hint: str = "",
    warning: str = "",
    cells: bool = False,
    in_page: bool = False,
    folder: Path | None = None,
) -> str:
    """Render the card as HTML.

    Args:
        state: the run.
        now: the time, in seconds since the epoch.
        hint: how to stop an active run, or what to do with its solution.
        warning: what the user could lose by running the solution.
        cells: whether the cells of the run stand below, so that the card need not list what was tried.
        in_page: whether a page has the run in its sidebar, with a clock and a live region.
        folder: the folder of the notebook, to which the path of the trace is relative.
    """
    parts = [_head(state, announced=not in_page)]
    parts += [] if cells else [f'<div style="{_QUIET}">{escape_html(notice.text)}</div>' for notice in state.notices]
    if state.over:
        # a patch has no cell below
        parts += ["" if cells and not state.patch else _solution(state), _results(state)]
        parts.append(outputs_as_html(state.solution_outputs))
    else:
        parts.append(_latest(state))
    listed = "" if cells else _sections(state)
    tries = not state.over or not (listed or cells)  # the list, or the cells, are below a title with their number
    spent = run_wording.footer(state, now, in_page=in_page, tries=tries)
    trace = run_wording.trace_path(state, folder) if state.over else ""
    parts += [listed, _quiet(" · ".join(filter(None, [spent, trace and f"Trace: {trace}"])))]
    parts.append(_quiet(run_wording.describe_files(state.files)))
    parts += [f"<div><strong>{escape(warning)}</strong></div>" if warning else "", _quiet(hint)]
    inner = "".join(parts)
    if state.broken:  # on the ground of an error, text in a lighter colour has too little contrast
        inner = inner.replace(f' style="{_QUIET}"', "")
    # by this class a page of this extension knows whether the card is final
    phase = "jp-mod-running" if not state.over else "jp-mod-ended" if state.verdict else "jp-mod-failed"
    return f'<div class="jp-Explora-panel {phase}" style="{_box(state)}">{inner}</div>'


def _box(state: RunState) -> str:
    colour = _COLOURS["unsolved"] if state.broken else _COLOURS[state.verdict.outcome] if state.verdict else ""
    if state.broken:
        return _BOX.format(edge=colour, left=4, ground=_ALARM)
    left = f";border-left-color:{colour}" if colour else ""
    return _BOX.format(edge=_EDGE, left=4 if colour else 1, ground=_GROUND) + left


def _head(state: RunState, *, announced: bool) -> str:
    if state.broken:
        sign = f'<span aria-hidden="true" style="color:{_COLOURS["unsolved"]};font-weight:bold">✗</span>'
        return f'<div role="alert">{sign} <strong>Failed.</strong> {escape_html(run_wording.headline(state))}</div>'
    live = ' role="status" aria-live="polite"' if announced else ""
    if state.verdict and not state.failure:
        outcome, reason = state.verdict.outcome, escape_html(state.verdict.reason.strip())
        sign = f'<span aria-hidden="true">{_OUTCOME_SYMBOLS[outcome]}</span>'
        return f"<div{live}>{sign} <strong>{run_wording.OUTCOMES[outcome]}.</strong> {reason}</div>"
    about = ", ".join(state.task.libraries)
    libraries = f"<strong>Exploring {escape_html(about)}</strong> " if about and not state.over else ""
    return f"<div{live}>{libraries}{escape_html(run_wording.headline(state))}</div>"


def _solution(state: RunState) -> str:
    if not state.offered_solution:
        return ""
    code = highlight_diff(state.patch) if state.patch else highlight_python(state.offered_solution)
    return _pre(code, _CODE, "Solution")


def _results(state: RunState) -> str:
    return "".join(_result(result) for result in run_wording.stored_results(state))


def _result(result: run_wording.StoredResult) -> str:
    name = f"<code><strong>{escape_html(result.name)}</strong>{escape_html(result.value)}</code>"
    if result.rows:
        header, *rows = result.rows
        head = "".join(f'<th scope="col" style="{_CELL}">{escape_html(cell)}</th>' for cell in header)
        cells = ("".join(f'<td style="{_CELL}">{escape_html(cell)}</td>' for cell in row) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        label = f'role="region" aria-label="First rows of {escape(result.name)}" tabindex="0"'
        return f'<div style="margin:4px 0">{name}<div {label} style="{_SCROLLED}">{table}</div></div>'
    more = " ".join(result.lines[:1])
    tail = f' <code style="{_QUIET}">{escape_html(run_wording.cut(more))}</code>' if more else ""
    return f'<div style="margin:4px 0">{name}{tail}</div>'


def _latest(state: RunState) -> str:
    attempt = run_wording.latest(state)
    if attempt is None or attempt.observation is None:
        return ""
    text = preview(attempt.observation.text) if attempt.observation.ran else ""
    printed = _pre(escape(text), _CODE, "Latest output") if text else ""
    return f"<div>{escape_html(run_wording.candidate_line(attempt))}</div>{printed}"


def _sections(state: RunState) -> str:
    rows = "".join(_row(row, over=state.over) for row in state.shown_sections)
    listed = f'<ul style="{_LIST}">{rows}</ul>' if rows else ""
    if not listed or not state.over:
        return listed
    return f"<details><summary>{escape_html(describe_tries(*state.tries))}</summary>{listed}</details>"


def _row(row: Section, *, over: bool) -> str:
    number = f"{escape_html(row.id)}. " if row.id.isdigit() else ""
    head = f'<span aria-hidden="true">{SYMBOLS[row.status]}</span> {number}{escape_html(row.title)}'
    status = f'<span style="{_QUIET}">{run_wording.section_status(row, over=over)}</span>'
    # the last candidates and the selected one; the others are counted
    hidden = [candidate for candidate in row.candidates[:-_MAX_CANDIDATES] if candidate is not row.selected]
    shown = [candidate for candidate in row.candidates if candidate not in hidden]
    marks = escape_html(f"{run_wording.tally(hidden)}, then ") if hidden else ""
    marks += " ".join(_candidate(candidate, chosen=candidate is row.selected) for candidate in shown)
    reason = (
        f'<div style="{_QUIET};padding-left:1.4em">{escape_html(run_wording.cut(row.reason))}</div>'
        if row.reason
        else ""
    )
    tried = f'<div style="padding-left:1.4em">{marks}</div>' if marks else ""
    return f'<li style="margin:2px 0">{head} {status}{tried}{reason}</li>'


def _candidate(candidate: Attempt, *, chosen: bool) -> str:
    word = (
        f"{run_wording.outcome_word(candidate)}, {run_wording.selection_word(candidate)}"
        if chosen
        else run_wording.outcome_word(candidate)
    )
    weight = "font-weight:bold;" if chosen else ""
    title = f' title="{escape(run_wording.cut(candidate.note))}"' if candidate.note else ""
    return (
        f'<span style="{weight}white-space:nowrap;margin-right:.8em"{title}>{escape_html(candidate.id)} {word}</span>'
    )


def _quiet(text: str) -> str:
    return f'<div style="{_QUIET}">{escape_html(text)}</div>' if text else ""
