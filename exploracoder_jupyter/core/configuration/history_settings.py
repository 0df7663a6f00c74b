"""Settings of the user's private history of runs."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting


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
