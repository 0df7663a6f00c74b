"""What was explored before: the traces of a folder and the user's history in one list, newest first, each once."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from urllib.parse import quote

from IPython.display import display

from exploracoder_jupyter.config import history_path
from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.frontend.server import link_between
from exploracoder_jupyter.frontend.traces import OlderTrace, traces_beside
from exploracoder_jupyter.history import HistoryStore, PastRun

_LINE = "var(--jp-border-color2, rgba(128,128,128,.4))"
_BOX = (
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);"
    "color:var(--jp-ui-font-color1, inherit);overflow-x:auto"
)
_CELL = f"text-align:left;vertical-align:top;padding:4px 12px 4px 0;border-top:1px solid {_LINE}"
_HEADS = ("Began", "Ended as", "Task", "Libraries", "Cost", "Trace")
_FEW = 20
"""So many are shown where no number is given."""
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


def past(
    folder: Path | None, root: Path | None, *, but: Collection[str] = (), runs: Collection[str] = ()
) -> list[Past]:
    """What was explored before, newest first.

    Args:
        folder: the notebook's, whose traces are looked for.
        root: the folder that the server shows.
        but: paths of traces that are shown elsewhere.
        runs: ids of runs that are.
    """
    known = [run for run in HistoryStore(history_path()).all() if run.id not in runs and run.trace not in but]
    named = {_real(run.trace) for run in known if run.trace}
    beside = [one for one in (traces_beside(folder) if folder else []) if str(one.path) not in but]
    found = [_of_run(run, folder, root) for run in known]
    found += [_of_trace(one, folder, root) for one in beside if _real(str(one.path)) not in named]
    return sorted(found, key=lambda one: one.started or one.changed, reverse=True)


def asked_number(argument: str) -> int:
    """How many lines `%explora history` is asked for.

    Raises:
        UsageError: the argument is something else than `-n N`.
    """
    if found := re.fullmatch(r"(?:-n\s*([1-9][0-9]{0,8}))?", argument):
        return int(found[1] or _FEW)
    raise UsageError("%explora history takes nothing, or `-n N`: how many are shown.")


def show(before: Sequence[Past], most: int) -> None:
    """Show the newest ones: as a table where that can be seen, else as lines."""
    rest = len(before) - most
    more = f"{rest:,} more: %explora history -n {len(before)}" if rest > 0 else ""
    listed = before[:most]
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


def _of_run(run: PastRun, folder: Path | None, root: Path | None) -> Past:
    there = "" if run.gone else run.trace
    return Past(
        path=run.trace,
        link=link_between(folder, root, there) if there and Path(there).exists() else "",
        changed=run.updated,
        started=run.started,
        task=run.task,
        outcome=run.status,
        libraries=run.named,
        cost=run.cost,
        gone=run.gone,
        resumable=run.resumable,
    )


def _of_trace(one: OlderTrace, folder: Path | None, root: Path | None) -> Past:
    path = str(one.path)
    return Past(path, link_between(folder, root, path), one.changed, one.started, one.task, one.outcome)


def _real(path: str) -> str:
    return os.path.realpath(path)


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
    place = "<br>".join([path, *map(escape, notes)])
    told = (one.when, one.outcome, one.task, one.libraries, one.cost)
    for text in (*map(escape, told), place):
        yield f'<td style="{_CELL}">{text}</td>'
