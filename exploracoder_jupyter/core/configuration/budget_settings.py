"""Settings of the budget: the limits after which a run stops."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass
from typing import Annotated

from exploracoder_jupyter.core.configuration.setting_annotations import Option, Section, Setting


@dataclass(frozen=True, slots=True)
class Budget(Section):
    """Limits after which a run stops."""

    tokens: Annotated[
        int,
        Setting("maximum number of prompt and completion tokens", ge=1),
        Option("budget-tokens", "maximum number of tokens", metavar="N"),
    ] = 200_000
    seconds: Annotated[float, Setting("maximum time in seconds", gt=0), Option("budget-seconds", metavar="S")] = 900.0
    cost: Annotated[
        float,
        Setting("maximum cost in money, for a model that has a price; 0: no limit", ge=0),
        Option("budget-cost", "maximum cost in money, for a model that has a price; no limit", metavar="X"),
    ] = 0.0
    executions: Annotated[int, Setting("executions of snippets and solutions", ge=1)] = 400
