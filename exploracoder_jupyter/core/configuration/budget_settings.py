"""Settings of the budget: the limits after which a run stops, and the prices that its cost is computed from."""

# No `from __future__ import annotations`: the annotations are read at run time, as objects.
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Price(Section):
    """The price of a model's tokens, for a million of them."""

    input: Annotated[float, Setting("for prompts", ge=0)]
    output: Annotated[float, Setting("for replies", ge=0)]
    cached: Annotated[float, Setting("for prompt tokens that the endpoint had in its cache", ge=0)] | None = None
    """`None`: the same as for other prompt tokens."""

    def cost(self, prompt: int, cached: int, completion: int) -> float:
        """Return the cost of so many tokens; `cached` is a part of `prompt`."""
        cached_price = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * cached_price + completion * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Prices(Section):
    """What models cost. Without a price nothing is assumed, and cost is counted in tokens alone."""

    currency: Annotated[str, Setting("label of all amounts of money")] = ""
    models: Annotated[
        dict[str, Price],
        Setting("price of each model for a million tokens, by its name: `input`, `output`, and `cached` if it differs"),
    ] = field(default_factory=dict)
