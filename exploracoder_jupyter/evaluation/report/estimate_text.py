"""Writes figures and their intervals as text: only as many digits as their precision bears."""

from __future__ import annotations

import math
from typing import Final

from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate
from exploracoder_jupyter.evaluation.measures.measure_definitions import Unit

UNDEFINED: Final = "–"
_MANY_PROBLEMS: Final = 200
"""From this number of problems on, a tenth of a percent can mean something."""


def value_text(estimate: Estimate, unit: Unit) -> str:
    """Return the value, such as `75 %` or `4,520`; a dash if it is undefined."""
    return UNDEFINED if estimate.value is None else figure(estimate.value, unit, estimate.problems)


def interval_text(estimate: Estimate, unit: Unit) -> str:
    """Return the bounds, such as `60 to 88`; empty if the value is undefined, a sentence if only the interval is."""
    if estimate.value is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return "no interval from one problem"
    low, high = (figure(bound, unit, estimate.problems).removesuffix(" %") for bound in (estimate.low, estimate.high))
    return f"{low} to {high}"


def estimate_text(estimate: Estimate, unit: Unit) -> str:
    """Return the value with its bounds in parentheses."""
    interval = interval_text(estimate, unit)
    return f"{value_text(estimate, unit)} ({interval})" if interval else value_text(estimate, unit)


def figure(value: float, unit: Unit, problems: int = 0) -> str:
    """Return one number: a share as percent, others with three significant digits."""
    if math.isinf(value):
        return "∞"
    if unit == "share":
        digits = 1 if problems >= _MANY_PROBLEMS else 0
        rounded = float(f"{100 * value:.{digits}f}")
        # one that is nearly all or nothing gets a digit more, lest it seem exact
        digits += abs(rounded) in (0, 100) and rounded != 100 * value
        return f"{100 * value:.{digits}f} %"
    places = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.0f}" if value == int(value) and places >= 0 else f"{round(value, places):,.{max(places, 0)}f}"


def p_value_text(value: float) -> str:
    """Return a p-value; very small ones as a bound."""
    return "< 0.001" if value < 0.001 else f"{value:.{3 if value < 0.1 else 2}f}"
