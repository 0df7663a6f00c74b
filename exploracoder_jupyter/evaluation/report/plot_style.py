"""What the plots of a report share: axes, colors, and their form as SVG.

Colors are variables of the page's style sheet, so that one image serves light and dark. The modules of plots need the
extra `bench`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import altair as alt
from markupsafe import Markup, escape

from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate
from exploracoder_jupyter.evaluation.measures.measure_definitions import MEASURES
from exploracoder_jupyter.evaluation.measures.summary import Arm
from exploracoder_jupyter.evaluation.report.estimate_text import estimate_text

Domain: TypeAlias = tuple[float, float]
"""The smallest and the largest value of an axis."""

PERCENT: Final = ".0%"
_OTHERS: Final = "var(--quiet)"
FRONT_SCALE: Final[dict[str, Any]] = {
    "legend": None,
    "scale": alt.Scale(domain=[True, False], range=["var(--link)", _OTHERS]),
}
"""Arguments of a color channel of the field `front`."""
_MARGIN: Final = 1.3
"""Factor by which a logarithmic axis extends beyond its values."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, whose text alternative is part of the image."""

    id: str
    title: str
    svg: Markup
    caption: str


def bounds(estimate: Estimate, name: str, domain: Domain = (-math.inf, math.inf)) -> dict[str, float]:
    """Return an estimate as fields of a row, clipped to the domain; without an interval the bounds are the value."""
    value = estimate.value or 0.0
    ends = (value if bound is None else bound for bound in (estimate.low, estimate.high))
    low, high = (min(max(end, domain[0]), domain[1]) for end in ends)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def log_domain(arms: Sequence[Arm], key: str) -> Domain:
    """Return the domain of a logarithmic axis for a measure that is positive in all of the arms."""
    ends = [end for arm in arms for end in bounds(arm.estimates[key], "").values() if 0 < end < math.inf]
    return min(ends) / _MARGIN, max(ends) * _MARGIN


def log_axis(title: str, domain: Domain) -> dict[str, Any]:
    """Return the arguments of a logarithmic channel."""
    decades = range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return {
        "title": title,
        "scale": alt.Scale(type="log", domain=list(domain), nice=False),
        "axis": alt.Axis(values=[tick for tick in ticks if domain[0] <= tick <= domain[1]], format="~s"),
    }


def in_words(arms: Sequence[Arm], *keys: str) -> str:
    """Return measures of the arms as the text alternative of a plot."""
    measures = [measure for key in keys for measure in MEASURES if measure.key == key]
    return "; ".join(
        f"{arm.name}: "
        + ", ".join(f"{one.title} {estimate_text(arm.estimates[one.key], one.unit)}" for one in measures)
        for arm in arms
    )


def svg(chart: alt.LayerChart | alt.FacetChart, identity: str, alternative: str) -> Markup:
    """Render the chart; references within it get a prefix, because the page has several charts."""
    import vl_convert

    text = {"labelColor": "var(--text)", "titleColor": _OTHERS, "labelFontSize": 12, "titleFontSize": 12}
    lines = {"gridColor": "var(--line)", "domainColor": "var(--line)", "tickColor": "var(--line)", "gridOpacity": 0.6}
    margins = {"left": 28, "right": 12, "top": 6, "bottom": 8}
    styled = (
        chart.configure(background="transparent", font="system-ui, sans-serif", padding=margins)
        .configure_view(stroke="var(--line)")
        .configure_axis(titleFontWeight="normal", **lines, **text)
        .configure_legend(titleFontWeight="normal", symbolFillColor=_OTHERS, symbolStrokeColor=_OTHERS, **text)
    )
    drawn = vl_convert.vegalite_to_svg(styled.to_dict())
    drawn = drawn.replace(' id="', f' id="{identity}-').replace("url(#", f"url(#{identity}-")
    return Markup(drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(alternative)}" ', 1))
