"""The plots of a report, drawn by Vega-Lite when the page is written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import altair as alt
from markupsafe import Markup, escape

from exploracoder_jupyter.evaluation.report import estimate_text
from exploracoder_jupyter.evaluation.results import MEASURES
from exploracoder_jupyter.evaluation.statistics import Arm, Estimate, Summary

# What the plots of a report share: axes, colors, and their form as SVG.
#
# Colors are variables of the page's style sheet, so that one image serves light and dark. The modules of plots need
# the extra `bench`.

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


# The plots of a report. Vega-Lite draws them when the page is written, so the page needs no script for them.

_WIDTH: Final = 1000
_HEIGHT: Final = 440
_CHARACTER: Final = 6.9
"""Mean width of a character of the labels, in pixels."""
_LABEL_HEIGHT: Final = 13.0
_GAP: Final = 8.0
"""Distance of a label from the middle of its point."""
_SMALL_WIDTH: Final = 182


def draw_plots(summary: Summary) -> list[Plot]:
    """Draw all plots for which there are figures."""
    return [plot for plot in (pass_plot(summary), _solved_plot(summary), _curve_plot(summary)) if plot]


def _solved_plot(summary: Summary) -> Plot | None:
    """Plot the tokens per solved problem."""
    key = "tokens_per_solved"
    arms = sorted(
        (arm for arm in summary.arms if (arm.estimates[key].value or 0) > 0),
        key=lambda arm: arm.estimates[key].value or 0,
    )
    if len(arms) < 2:
        return None
    domain = log_domain(arms, key)
    axis = log_axis("Tokens per solved problem (logarithmic)", domain)
    rows = [{"name": arm.name, "front": arm.on_front, **bounds(arm.estimates[key], "tokens", domain)} for arm in arms]
    names = alt.Y(
        "name:N", title=None, sort=None, axis=alt.Axis(labelLimit=260, grid=True, ticks=False, labelPadding=6)
    )
    base = alt.Chart(alt.Data(values=rows)).encode(y=names, color=alt.Color("front:N", **FRONT_SCALE))
    chart = alt.layer(
        base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("tokens_low:Q", **axis), x2="tokens_high:Q"),
        base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("tokens:Q", **axis)),
    ).properties(width=760, height=26 * len(rows))
    caption = "Further left is better; bars are 95 % intervals, and one that reaches the right edge has no upper bound."
    if missing := [arm.name for arm in summary.arms if arm not in arms]:
        caption += f" Not shown, because nothing was solved or no tokens were counted: {', '.join(missing)}."
    return Plot("plot-solved", "Tokens per solved problem", svg(chart, "plot-solved", in_words(arms, key)), caption)


def _curve_plot(summary: Summary) -> Plot | None:
    """Plot pass@k of each arm in a small plot of its own."""
    ks = list(summary.arms[0].pass_at) if summary.arms else []
    if len(ks) < 2:
        return None
    rows = [
        {"name": arm.name, "front": arm.on_front, "k": k, **bounds(estimate, "passes")}
        for arm in summary.arms
        for k, estimate in arm.pass_at.items()
    ]
    header = alt.Header(
        title=None, labelColor="var(--text)", labelFontSize=12, labelLimit=_SMALL_WIDTH - 8, labelBaseline="line-bottom"
    )
    facet = alt.Facet("name:N", sort=[arm.name for arm in summary.arms], header=header)
    chart = _small_chart(ks).properties(data=alt.Data(values=rows)).facet(facet=facet, columns=5)
    words = "; ".join(
        f"{arm.name}: " + ", ".join(f"pass@{k} {estimate_text(one, 'share')}" for k, one in arm.pass_at.items())
        for arm in summary.arms
    )
    return Plot(
        "plot-curves",
        "pass@k",
        svg(chart, "plot-curves", words),
        "Probability that at least one of k samples passes (logarithmic k); bands are 95 % intervals.",
    )


def _small_chart(ks: list[int]) -> alt.LayerChart:
    shares: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=[0, 1]),
        "axis": alt.Axis(format=PERCENT, values=[0, 0.25, 0.5, 0.75, 1]),
    }
    samples = alt.X("k:Q", title="k", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=ks, format="d"))
    base = alt.Chart().encode(x=samples)
    band = base.mark_area(opacity=0.22).encode(
        y=alt.Y("passes_low:Q", **shares), y2="passes_high:Q", fill=alt.Fill("front:N", **FRONT_SCALE)
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=28, filled=True), strokeWidth=1.75).encode(
        y=alt.Y("passes:Q", **shares), color=alt.Color("front:N", **FRONT_SCALE)
    )
    return alt.LayerChart(layer=[band, line]).properties(width=_SMALL_WIDTH, height=130)


def pass_plot(summary: Summary) -> Plot | None:
    """Plot pass@1 against tokens, with the Pareto front, of the arms that used tokens; `None` if there are none."""
    arms = [arm for arm in summary.arms if (arm.estimates["tokens"].value or 0) > 0]
    if not arms:
        return None
    chart = _chart(arms).properties(width=_WIDTH, height=_HEIGHT)
    return Plot(
        "plot-pass",
        "pass@1 against tokens",
        svg(chart, "plot-pass", in_words(arms, "pass@1", "tokens")),
        "Up and to the left is better; bars are 95 % intervals. The dashed line joins the Pareto front: no other arm "
        "passes at least as often with at most as many tokens.",
    )


def _chart(arms: Sequence[Arm]) -> alt.LayerChart:
    domain = log_domain(arms, "tokens")
    tokens = log_axis("Tokens of a run (logarithmic)", domain)
    passes: dict[str, Any] = {"title": "pass@1", "scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(format=PERCENT)}
    rows = [
        {
            "model": arm.model,
            "front": arm.on_front,
            **bounds(arm.estimates["tokens"], "tokens"),
            **bounds(arm.estimates["pass@1"], "passes"),
        }
        for arm in arms
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("tokens:Q", **tokens), y=alt.Y("passes:Q", **passes), color=alt.Color("front:N", **FRONT_SCALE)
    )
    bars = base.mark_rule(strokeWidth=1.25, opacity=0.5)
    front = base.mark_line(interpolate="step-after", strokeDash=[5, 4], strokeWidth=1.25)
    points = base.mark_point(size=80, filled=True, opacity=1)
    if len({arm.model for arm in arms}) > 1:
        points = points.encode(
            shape=alt.Shape("model:N", title="Model", legend=alt.Legend(orient="top", columnPadding=18))
        )
    text = alt.Chart(alt.Data(values=_labels(arms, domain))).encode(
        x=alt.X("tokens:Q", **tokens), y=alt.Y("passes:Q", **passes), text="label:N"
    )
    layers = (
        front.transform_filter("datum.front"),
        bars.encode(x=alt.X("tokens_low:Q", **tokens), x2="tokens_high:Q"),
        bars.encode(y=alt.Y("passes_low:Q", **passes), y2="passes_high:Q"),
        points,
        text.mark_text(fontSize=12, stroke="var(--ground)", strokeWidth=3, strokeJoin="round"),
        text.mark_text(fontSize=12, color="var(--text)"),
    )
    return alt.LayerChart(layer=layers)


def _labels(arms: Sequence[Arm], domain: Domain) -> list[dict[str, float | str]]:
    """Return the labels with their positions. Where shapes show the models, the labels need not."""
    stretch = _WIDTH / math.log(domain[1] / domain[0])
    names = [arm.strategy if len({arm.strategy for arm in arms}) > 1 else arm.model for arm in arms]
    points = [
        Box(math.log(_value(arm, "tokens") / domain[0]) * stretch, (1 - _value(arm, "pass@1")) * _HEIGHT)
        for arm in arms
    ]
    placed = zip(names, place_labels(points, names, _WIDTH, _HEIGHT), strict=True)
    return [
        {"label": name, "tokens": domain[0] * math.exp(box.x / stretch), "passes": 1 - box.y / _HEIGHT}
        for name, box in placed
    ]


def _value(arm: Arm, key: str) -> float:
    return arm.estimates[key].value or 0.0


class Box(NamedTuple):
    """A rectangle in pixels: its middle, from the left and from the top, and its size."""

    x: float
    y: float
    wide: float = _GAP
    high: float = _GAP

    def overlap(self, other: Box) -> float:
        """Return the area that both cover."""
        wide = min(self.x + self.wide / 2, other.x + other.wide / 2) - max(
            self.x - self.wide / 2, other.x - other.wide / 2
        )
        high = min(self.y + self.high / 2, other.y + other.high / 2) - max(
            self.y - self.high / 2, other.y - other.high / 2
        )
        return max(wide, 0) * max(high, 0)


def place_labels(points: Sequence[Box], labels: Sequence[str], width: float, height: float) -> list[Box]:
    """Place the label of each point near it in a plot of this size, in order, each where it covers least of points and
    of the labels before it.
    """
    placed = list[Box]()
    for point, label in zip(points, labels, strict=True):
        inside = [
            box
            for box in _candidates(point, len(label) * _CHARACTER)
            if box.wide / 2 <= box.x <= width - box.wide / 2 and box.high / 2 <= box.y <= height - box.high / 2
        ]
        placed.append(min(inside or [point], key=lambda box: sum(map(box.overlap, [*points, *placed]))))
    return placed


def _candidates(point: Box, wide: float) -> Iterator[Box]:
    aside, above = _GAP + wide / 2, _LABEL_HEIGHT / 2 + 2
    for distance in (1.0, 2.0, 3.0):
        up = above * distance
        for x, y in (
            (aside, -up),
            (-aside, -up),
            (aside, up),
            (-aside, up),
            (aside, 0),
            (-aside, 0),
            (0, -up),
            (0, up),
        ):
            yield Box(point.x + x, point.y + y, wide, _LABEL_HEIGHT)
