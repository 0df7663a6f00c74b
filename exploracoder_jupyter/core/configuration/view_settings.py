"""Settings of what is shown and stored: cells, trace, files, and the user's private history of runs."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated, Literal

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting


@dataclass(frozen=True, slots=True)
class View(Section):
    """What to show and where to write it."""

    show: Annotated[
        Literal["all", "selected", "none"], Setting("which candidates get cells in the trace"), Option()
    ] = "all"
    cells: Annotated[
        Literal["live", "collapsed", "card"],
        Setting(
            "the cells of a run in the notebook: open while it runs, collapsed from the start, or none, only the result"
            " card; the trace has all"
        ),
        Option(places=("magic",)),
    ] = "live"
    keep_files: Annotated[bool, Setting("keep the files that the solution wrote, next to the trace"), Option()] = False
    prompts: Annotated[
        bool,
        Setting("whether the trace contains the prompts"),
        Option(
            "no-prompts",
            "omit prompts from the trace; replies are stored, so that the trace can be replayed",
            negates=True,
        ),
    ] = True
    out: Annotated[
        str | None,
        Setting("path of the trace notebook; none: in explorations/ next to the notebook"),
        Option(help="path of the trace notebook", metavar="TRACE"),
    ] = None


@dataclass(frozen=True, slots=True)
class History(Section):
    """The user's private history of runs."""

    keep: Annotated[
        bool,
        Setting("whether to add a run to the history"),
        Option("no-history", "do not add this run to the history", negates=True),
    ] = True
    days: Annotated[int, Setting("days to keep a run in the history", ge=1)] = 180
    runs: Annotated[int, Setting("maximum number of runs in the history", ge=1)] = 1000
