"""What was explored before: the traces of a folder and the user's history in one list, newest first, each once."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from pathlib import Path
from urllib.parse import quote

from IPython.display import display

from exploracoder_jupyter.config import history_path
from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.frontend.server import Reach
from exploracoder_jupyter.frontend.traces import OlderTrace, traces_beside
from exploracoder_jupyter.history import HistoryStore, PastRun
from exploracoder_jupyter.trace_ends import is_there

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
_EXPORTED = "-selected.ipynb"
"""How the names of notebooks end that were made from traces."""
_CAPTION = "Explored before, newest first"


@dataclass(frozen=True, slots=True)
class Past:
    """A run of before, or a trace that the history knows nothing of."""

    path: str
    """Absolute path of its trace; empty where it has none."""
    link: str
    """The same for a page, from the notebook's folder; empty where it cannot be opened."""
    changed: float
    """When it last went on, in seconds since the epoch."""
    started: float | None = None
    task: str = ""
    outcome: str = ""
    """As in a verdict, or `running`, or `cut off`; empty where it is not known."""
    libraries: str = ""
    cost: str = ""
    gone: bool = False
    """Whether there was a trace that is not there any more."""
    resumable: str = ""
    """The option that goes on from it, where it was cut off."""

    @property
    def when(self) -> str:
        """When it began, or else when its trace was last written, to the minute."""
        return datetime.fromtimestamp(self.started or self.changed).strftime("%Y-%m-%d %H:%M")


Found = PastRun | OlderTrace
"""A run in the history, or a trace of which it knows nothing."""


def found(folder: Path | None, *, but: Collection[str] = (), runs: Collection[str] = ()) -> list[Found]:
    """What was explored before, newest first.

    Args:
        folder: the notebook's, whose traces are looked for.
        but: paths of traces that are shown elsewhere.
        runs: ids of runs that are.
    """
    beside = traces_beside(folder) if folder else []
    moved = {one.run: str(one.path) for one in beside if one.run and not one.path.name.endswith(_EXPORTED)}
    known = [_where_it_is(run, moved) for run in HistoryStore(history_path()).all()]
    names = {one.path.name for one in beside}
    named = {os.path.realpath(run.trace) for run in known if Path(run.trace).name in names}
    listed: list[Found] = [run for run in known if run.id not in runs and run.trace not in but]
    listed += [one for one in beside if str(one.path) not in but and os.path.realpath(one.path) not in named]
    return sorted(listed, key=_began, reverse=True)


def _where_it_is(run: PastRun, moved: Mapping[str, str]) -> PastRun:
    """The run with its trace where that has been moved to, if it is not where it was."""
    return replace(run, trace=moved[run.id]) if run.gone and run.id in moved else run


def told(listed: Iterable[Found], reach: Reach) -> list[Past]:
    """The same with what is to be looked up for each."""
    return [_of_run(one, reach) if isinstance(one, PastRun) else _of_trace(one, reach) for one in listed]


def asked_number(argument: str) -> int:
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
    listed = told(before[:most], reach)
    display(  # type: ignore[no-untyped-call]
        {"text/plain": as_text(listed, more=more), "text/html": as_html(listed, more=more)}, raw=True
    )


def as_text(listed: Sequence[Past], *, more: str = "") -> str:
    """A line for each; `more` says what is left out."""
    return "\n".join([*map(_line, listed), *([more] if more else [])])


def as_html(listed: Sequence[Past], *, more: str = "") -> str:
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


def _of_run(run: PastRun, reach: Reach) -> Past:
    return Past(
        path=run.trace,
        link=reach.link(run.trace) if run.trace and is_there(run.trace) else "",
        changed=run.updated,
        started=run.started,
        task=run.task,
        outcome=run.status,
        libraries=run.named,
        cost=run.cost,
        gone=run.gone,
        resumable=run.resumable,
    )


def _of_trace(one: OlderTrace, reach: Reach) -> Past:
    return Past(str(one.path), reach.link(str(one.path)), one.changed, one.started, one.task, one.outcome)


def _line(one: Past) -> str:
    return "  ".join(filter(None, (one.when, one.outcome, one.task, one.libraries, one.cost, *_place(one))))


def _place(one: Past) -> Iterator[str]:
    """Where its trace is, and what can be done with it."""
    yield one.path
    if one.gone:
        yield "(its trace is gone)"
    if one.resumable:
        yield f"(to go on: %%explora {one.resumable})"


def _cells(one: Past) -> Iterator[str]:
    path = f"<code>{escape(one.path)}</code>" if one.path else ""
    if one.link:
        path = f'<a href="{quote(one.link)}">{escape(one.link)}</a>'
    _, *notes = _place(one)
    place = "<br>".join(filter(None, [path, *map(escape, notes)]))
    texts = (one.when, *map(escape, (one.outcome, one.task, one.libraries, one.cost)), place)
    yield from (f'<td style="{_CELL};{style}">{text}</td>' for style, text in zip(_COLUMNS, texts, strict=True))
