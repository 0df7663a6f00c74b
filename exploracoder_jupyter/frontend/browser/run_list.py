"""What was explored before: the traces of a folder and the user's history in one list, newest first, each once."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from urllib.parse import quote

from IPython.display import display

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.run_history import CUT_OFF, HistoryStore, PastRun
from exploracoder_jupyter.core.settings import history_path
from exploracoder_jupyter.core.trace_peek import OlderTrace, is_there, traces_beside
from exploracoder_jupyter.frontend.jupyter_server import Reach
from exploracoder_jupyter.protocol.browser_messages import TraceView

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
"""Paths are broken anywhere, and leave the words of the others whole."""
_FEW = 20
"""So many are shown where no number is given."""
_CAPTION = "Explored before, newest first"


Found = PastRun | OlderTrace
"""A run in the history, or a trace of which it knows nothing."""


def list_runs(folder: Path | None, *, but: Collection[str] = (), runs: Collection[str] = ()) -> list[Found]:
    """What was explored before, newest first.

    Args:
        folder: the notebook's, whose traces are looked for.
        but: paths of traces that are shown elsewhere.
        runs: ids of runs that are.
    """
    beside = traces_beside(folder) if folder else []
    known = HistoryStore(history_path()).all(beside)
    ids = {run.id for run in known}
    names = {one.path.name for one in beside}
    named = {os.path.realpath(run.trace) for run in known if Path(run.trace).name in names}
    listed: list[Found] = [run for run in known if run.id not in runs and run.trace not in but]
    unknown = [one for one in beside if one.run not in ids and os.path.realpath(one.path) not in named]
    listed += [one for one in unknown if str(one.path) not in but]
    return sorted(listed, key=_began, reverse=True)


def trace_views(listed: Iterable[Found], reach: Reach) -> list[TraceView]:
    """The same as a page is told it, with what is to be looked up for each."""
    return [_of_run(one, reach) if isinstance(one, PastRun) else _of_trace(one, reach) for one in listed]


def history_damage() -> str:
    """A sentence, where the history was found damaged: what it held is not in the list."""
    return HistoryStore(history_path()).lost()


def parse_history_limit(argument: str) -> int:
    """How many lines `%explora history` is asked for.

    Raises:
        UsageError: the argument is something else than `-n N`.
    """
    if found := re.fullmatch(r"(?:-n\s*([1-9][0-9]{0,8}))?", argument):
        return int(found[1] or _FEW)
    raise UsageError("%explora history takes nothing, or `-n N`: how many are shown.")


def show(before: Sequence[Found], most: int, reach: Reach) -> None:
    """Show the newest ones: as a table where that can be seen, else as lines."""
    rest = len(before) - most
    more = f"{rest:,} more: %explora history -n {len(before)}" if rest > 0 else ""
    listed = trace_views(before[:most], reach)
    display(  # type: ignore[no-untyped-call]
        {"text/plain": as_text(listed, more=more), "text/html": as_html(listed, more=more)}, raw=True
    )


def as_text(listed: Sequence[TraceView], *, more: str = "") -> str:
    """A line for each; `more` says what is left out."""
    return "\n".join([*map(_line, listed), *([more] if more else [])])


def as_html(listed: Sequence[TraceView], *, more: str = "") -> str:
    """The same as a table with links, in the colours of JupyterLab's theme."""
    heads = "".join(f'<th scope="col" style="{_CELL};border-top:none">{head}</th>' for head in _HEADS)
    rows = "".join(f"<tr>{''.join(_cells(one))}</tr>" for one in listed)
    table = (
        f'<table style="border-collapse:collapse"><caption style="text-align:left">{_CAPTION}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    return f'<div class="jp-Explora-past" style="{_BOX}">{table}{f"<p>{escape(more)}</p>" if more else ""}</div>'


def _began(one: Found) -> float:
    return one.started or (one.updated if isinstance(one, PastRun) else one.changed)


def _of_run(run: PastRun, reach: Reach) -> TraceView:
    return TraceView(
        path=run.trace,
        link=reach.link(run.trace) if run.trace and is_there(run.trace) else "",
        changed=run.updated,
        started=run.started,
        task=run.task,
        outcome=run.status,
        libraries=run.named,
        cost=run.cost,
        gone=run.gone,
        resume=run.resumable,
    )


def _of_trace(one: OlderTrace, reach: Reach) -> TraceView:
    path = str(one.path)
    return TraceView(
        path=path,
        link=reach.link(path),
        changed=one.changed,
        started=one.started,
        task=one.task,
        outcome=one.outcome,
    )


def _when(one: TraceView) -> str:
    """When it began, or else when its trace was last written, to the minute."""
    return datetime.fromtimestamp(one.started or one.changed).strftime("%Y-%m-%d %H:%M")


def _line(one: TraceView) -> str:
    return "  ".join(filter(None, (_when(one), one.outcome, one.task, one.libraries, one.cost, *_location(one))))


def _location(one: TraceView) -> Iterator[str]:
    """Where its trace is, and what can be done with it."""
    yield one.path
    if one.gone:
        yield "(its trace is gone)"
    if one.outcome == CUT_OFF and not one.path:
        yield "(it left no trace to go on from)"
    if one.resume:
        yield f"(to go on: %%explora {one.resume})"


def _cells(one: TraceView) -> Iterator[str]:
    path = f"<code>{escape(one.path)}</code>" if one.path and not one.resume else ""
    if one.link:
        path = f'<a href="{quote(one.link)}">{escape(one.link)}</a>'
    _, *notes = _location(one)
    place = "<br>".join(filter(None, [path, *map(escape, notes)]))
    texts = (_when(one), *map(escape, (one.outcome, one.task, one.libraries, one.cost)), place)
    yield from (f'<td style="{_CELL};{style}">{text}</td>' for style, text in zip(_COLUMNS, texts, strict=True))
