"""Earlier explorations: the traces of a folder and the user's history in one list, newest first, without duplicates."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from IPython.display import display

from exploracoder_jupyter.core.configuration.settings_sources import history_path
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.run_history import CUT_OFF, HistoryStore, PastRun
from exploracoder_jupyter.core.trace_peek import TraceSummary, list_traces, path_exists
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach
from exploracoder_jupyter.protocol.browser_messages import TraceView
from exploracoder_jupyter.text.markup_escaping import escape_html
from exploracoder_jupyter.text.terminal_text import without_controls

_LINE = "var(--jp-border-color2, rgba(128,128,128,.4))"
_BOX = (
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);"
    "color:var(--jp-ui-font-color1, inherit);overflow-x:auto"
)
_CELL = f"text-align:left;vertical-align:top;padding:4px 12px 4px 0;border-top:1px solid {_LINE}"
_HEADS = ("Began", "Ended as", "Task", "Libraries", "Cost", "Trace")
_COLUMNS = (
    "white-space:nowrap",
    "white-space:nowrap",
    "min-width:12em;overflow-wrap:anywhere",
    "min-width:6em",
    "min-width:8em",
    "min-width:12em;overflow-wrap:anywhere",
)
"""Paths may break anywhere, so that the words in other columns need not."""
_DEFAULT_LIMIT = 20
"""How many `%explora history` shows if no number is given."""
_PAGE_LIMIT = 200
"""How many, the newest ones, are sent to a page."""
_CAPTION = "Explored before, newest first"


ListedRun = PastRun | TraceSummary
"""A run in the history, or a trace that the history does not contain."""


def list_runs(
    folder: Path | None, *, excluded_traces: Collection[str] = (), excluded_runs: Collection[str] = ()
) -> list[ListedRun]:
    """List earlier explorations, also of traces in this folder, newest first, without what is shown elsewhere."""
    traces = list_traces(folder) if folder else []
    history = HistoryStore(history_path()).all(traces)
    ids = {run.id for run in history}
    names = {trace.path.name for trace in traces}
    recorded = {os.path.realpath(run.trace) for run in history if Path(run.trace).name in names}
    runs: list[ListedRun] = [run for run in history if run.id not in excluded_runs and run.trace not in excluded_traces]
    unknown = [trace for trace in traces if trace.run not in ids and os.path.realpath(trace.path) not in recorded]
    runs += [trace for trace in unknown if str(trace.path) not in excluded_traces]
    return sorted(
        runs, key=lambda one: one.started or (one.updated if isinstance(one, PastRun) else one.changed), reverse=True
    )


def trace_views(runs: Sequence[ListedRun], reach: Reach, limit: int = _PAGE_LIMIT) -> list[TraceView]:
    """Convert the newest runs to what is sent to a page, with their links looked up."""
    return [_run_view(run, reach) if isinstance(run, PastRun) else _trace_view(run, reach) for run in runs[:limit]]


def parse_history_limit(argument: str) -> int:
    """Parse the argument of `%explora history`: how many runs are shown."""
    if match := re.fullmatch(r"(?:-n\s*([1-9][0-9]{0,8}))?", argument):
        return int(match[1] or _DEFAULT_LIMIT)
    raise UsageError("%explora history takes no arguments other than `-n N`: how many runs are shown.")


def show_runs(before: Sequence[ListedRun], limit: int, reach: Reach) -> None:
    """Display the newest runs: as a table in a front end that renders HTML, otherwise as lines."""
    rest = len(before) - limit
    more = f"{rest:,} more: %explora history -n {len(before)}" if rest > 0 else ""
    views = trace_views(before, reach, limit)
    display(  # type: ignore[no-untyped-call]
        {"text/plain": as_text(views, more=more), "text/html": as_html(views, more=more)}, raw=True
    )


def as_text(views: Sequence[TraceView], *, more: str = "") -> str:
    """Format each run as a line; `more` reports what is left out."""
    rows = [(_when(one), one.outcome, one.task, one.libraries, one.cost, *_location(one)) for one in views]
    return without_controls("\n".join([*("  ".join(filter(None, row)) for row in rows), *([more] if more else [])]))


def as_html(views: Sequence[TraceView], *, more: str = "") -> str:
    """Format the runs as a table with links, in the colours of JupyterLab's theme."""
    heads = "".join(f'<th scope="col" style="{_CELL};border-top:none">{head}</th>' for head in _HEADS)
    rows = "".join(f"<tr>{''.join(_cells(one))}</tr>" for one in views)
    table = (
        f'<table style="border-collapse:collapse"><caption style="text-align:left">{_CAPTION}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    return f'<div class="jp-Explora-past" style="{_BOX}">{table}{f"<p>{escape_html(more)}</p>" if more else ""}</div>'


def _run_view(run: PastRun, reach: Reach) -> TraceView:
    return TraceView(
        path=run.trace,
        link=reach.link(run.trace) if run.trace and path_exists(run.trace) else "",
        changed=run.updated,
        started=run.started,
        task=run.task,
        outcome=run.status,
        libraries=run.named,
        cost=run.totals,
        gone=run.gone,
        resume=run.resumable,
    )


def _trace_view(trace: TraceSummary, reach: Reach) -> TraceView:
    path = str(trace.path)
    return TraceView(
        path=path,
        link=reach.link(path),
        changed=trace.changed,
        started=trace.started,
        task=trace.task,
        outcome=trace.outcome,
    )


def _when(view: TraceView) -> str:
    return datetime.fromtimestamp(view.started or view.changed).strftime("%Y-%m-%d %H:%M")


def _location(view: TraceView) -> Iterator[str]:
    yield view.path
    if view.gone:
        yield "(its trace is gone)"
    if view.outcome == CUT_OFF and not view.path:
        yield "(no trace to resume)"
    if view.resume:
        yield f"(to resume: %%explora {view.resume})"


def _cells(view: TraceView) -> Iterator[str]:
    path = f"<code>{escape_html(view.path)}</code>" if view.path and not view.resume else ""
    if view.link:
        path = f'<a href="{quote(view.link)}">{escape_html(view.link)}</a>'
    _, *notes = _location(view)
    place = "<br>".join(filter(None, [path, *map(escape_html, notes)]))
    texts = (_when(view), *map(escape_html, (view.outcome, view.task, view.libraries, view.cost)), place)
    yield from (f'<td style="{_CELL};{style}">{text}</td>' for style, text in zip(_COLUMNS, texts, strict=True))
