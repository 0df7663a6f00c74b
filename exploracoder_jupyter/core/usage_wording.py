"""Describes tokens and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exploracoder_jupyter.core.message_formatting import plural

if TYPE_CHECKING:
    from exploracoder_jupyter.core.types import Usage


def money(amount: float, currency: str) -> str:
    """Format an amount of money with the label of its currency, if it has one: `1.25 EUR`, `0.0042 EUR`."""
    places = 2 if amount >= 0.1 or not amount else 4 if amount >= 0.001 else 6
    return f"{amount:,.{places}f} {currency}".strip()


def describe_cost(amount: float, currency: str) -> str:
    """Format an amount of money so that it can be recognized: `0.0042 EUR`, `cost 0.0042`."""
    return money(amount, currency) if currency else f"cost {money(amount, '')}"


def describe_tokens(usage: Usage) -> str:
    """Describe tokens and what they cost: `1,234 tokens (1,000 cached), 0.0042 EUR`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    cost = "" if usage.cost is None else f", {describe_cost(usage.cost, usage.currency)}"
    return f"{plural(usage.tokens, 'token')}{cached}{cost}"
