"""The plots of a report, as SVG whose colors are variables of the page's style sheet: one image for light and dark.

Vega-Lite draws them when the page is written (Altair, vl-convert), so the page needs no script for them. Both packages
belong to the extra `bench`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from markupsafe import Markup, escape

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.evaluation.measures.intervals import Estimate
from exploracoder_jupyter.evaluation.measures.summary import Arm, Summary
from exploracoder_jupyter.evaluation.report.figure_text import estimate_text
from exploracoder_jupyter.evaluation.report.label_placement import Spot, place_labels

if TYPE_CHECKING:
    import altair as alt

_Rows: TypeAlias = list[dict[str, float | str | bool]]
_Domain: TypeAlias = tuple[float, float]

_WIDTH: Final = 860
_HEIGHT: Final = 420
_BARS_WIDTH: Final = 640
_ROW_HEIGHT: Final = 26
_SMALL: Final = 165
_PER_ROW: Final = 5
_MARGIN: Final = 1.3
"""Factor by which a logarithmic axis extends beyond its values."""
_PERCENT: Final = ".0%"


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, whose text alternative is part of the image."""

    id: str
    title: str
    svg: Markup
    caption: str


def draw_plots(summary: Summary) -> list[Plot]:
    """Draw all plots for which there are figures.

    Raises:
        MissingRequirement: the extra `bench` is not installed.
    """
    _require_packages()
    drawn = (_pass_plot(summary), _solved_plot(summary), _curve_plot(summary))
    return [plot for plot in drawn if plot]


def _require_packages() -> None:
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingRequirement(
            "Plots need the packages 'altair' and 'vl-convert-python'.",
            remedy="Install them: pip install 'exploracoder-jupyter[bench]'.",
        ) from error


def _pass_plot(summary: Summary) -> Plot | None:
    """Plot pass@1 against tokens, with the Pareto front."""
    import altair as alt

    arms = [arm for arm in summary.arms if (arm.estimates["tokens"].value or 0) > 0]
    if not arms:
        return None
    rows = [_arm_row(arm) for arm in arms]
    tokens = _log_axis("Tokens of a run (logarithmic)", _domain(arms, "tokens"))
    passes: dict[str, Any] = {"title": "pass@1", "scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(format=_PERCENT)}
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("tokens:Q", **tokens), y=alt.Y("passes:Q", **passes), color=_front_color()
    )
    bars = base.mark_rule(strokeWidth=1.25, opacity=0.5)
    points = base.mark_point(size=80, filled=True, opacity=1)
    if len({arm.model for arm in arms}) > 1:
        points = points.encode(shape=alt.Shape("model:N", title="Model", legend=alt.Legend(orient="top")))
    front = base.mark_line(interpolate="step-after", strokeDash=[5, 4], strokeWidth=1.25)
    chart = alt.layer(
        front.transform_filter("datum.front"),
        bars.encode(x=alt.X("tokens_low:Q", **tokens), x2="tokens_high:Q"),
        bars.encode(y=alt.Y("passes_low:Q", **passes), y2="passes_high:Q"),
        points,
        _labels(rows, _domain(arms, "tokens")).encode(x=alt.X("tokens:Q", **tokens), y=alt.Y("passes:Q", **passes)),
    )
    return Plot(
        "plot-pass",
        "pass@1 against tokens",
        _svg(chart.properties(width=_WIDTH, height=_HEIGHT), "plot-pass", _in_words(arms, "pass@1", "tokens")),
        "Up and to the left is better; bars are 95 % intervals. The dashed line joins the Pareto front: the arms of which "
        "no other passes at least as often for at most as many tokens.",
    )


def _solved_plot(summary: Summary) -> Plot | None:
    """Plot the tokens per solved problem; an interval without upper bound extends to the edge."""
    import altair as alt

    arms = [arm for arm in summary.arms if (arm.estimates["tokens_per_solved"].value or 0) > 0]
    if len(arms) < 2:
        return None
    arms.sort(key=lambda arm: arm.estimates["tokens_per_solved"].value or 0)
    domain = _domain(arms, "tokens_per_solved")
    tokens = _log_axis("Tokens per solved problem (logarithmic)", domain)
    rows = [
        {"name": arm.name, "front": arm.on_front, **_bounds(arm.estimates["tokens_per_solved"], "t", domain)}
        for arm in arms
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=260, grid=True, ticks=False)),
        color=_front_color(),
    )
    chart = alt.layer(
        base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("t_low:Q", **tokens), x2="t_high:Q"),
        base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("t:Q", **tokens)),
    ).properties(width=_BARS_WIDTH, height=_ROW_HEIGHT * len(rows))
    missing = [arm.name for arm in summary.arms if arm not in arms]
    return Plot(
        "plot-solved",
        "Tokens per solved problem",
        _svg(chart, "plot-solved", _in_words(arms, "tokens_per_solved")),
        "Further left is better; bars are 95 % intervals, and one that reaches the right edge has no upper bound."
        + (
            f" Not shown, because nothing was solved or no tokens were counted: {', '.join(missing)}."
            if missing
            else ""
        ),
    )


def _curve_plot(summary: Summary) -> Plot | None:
    """Plot pass@k of each arm in a small plot of its own."""
    import altair as alt

    ks = list(summary.arms[0].pass_at) if summary.arms else []
    if len(ks) < 2:
        return None
    rows = [
        {"name": arm.name, "front": arm.on_front, "k": k, **_bounds(estimate, "passes", (0, 1))}
        for arm in summary.arms
        for k, estimate in arm.pass_at.items()
    ]
    shares: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=[0, 1]),
        "axis": alt.Axis(format=_PERCENT, values=[0, 0.25, 0.5, 0.75, 1]),
    }
    samples = alt.X("k:Q", title="k", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=ks, format="d"))
    base = alt.Chart().encode(x=samples, color=_front_color())
    chart = alt.layer(
        base.mark_area(opacity=0.22, line=False).encode(
            y=alt.Y("passes_low:Q", **shares), y2="passes_high:Q", fill=_front_color("fill"), color=alt.Undefined
        ),
        base.mark_line(point=alt.OverlayMarkDef(size=28, filled=True), strokeWidth=1.75).encode(
            y=alt.Y("passes:Q", **shares)
        ),
        data=alt.Data(values=rows),
    ).properties(width=_SMALL, height=_SMALL * 0.75)
    header = alt.Header(
        title=None, labelColor="var(--text)", labelFontSize=12, labelFontWeight="bold", labelLimit=_SMALL
    )
    facets = chart.facet(
        facet=alt.Facet("name:N", sort=[arm.name for arm in summary.arms], header=header), columns=_PER_ROW
    )
    words = "; ".join(
        f"{arm.name}: " + ", ".join(f"pass@{k} {estimate_text(one, 'share')}" for k, one in arm.pass_at.items())
        for arm in summary.arms
    )
    return Plot(
        "plot-curves",
        "pass@k",
        _svg(facets, "plot-curves", words),
        "Probability that at least one of k samples passes (logarithmic k); bands are 95 % intervals.",
    )


def _arm_row(arm: Arm) -> dict[str, float | str | bool]:
    tokens, passes = arm.estimates["tokens"], arm.estimates["pass@1"]
    return {
        "name": arm.name,
        "model": arm.model,
        "front": arm.on_front,
        **_bounds(tokens, "tokens"),
        **_bounds(passes, "passes"),
    }


def _bounds(estimate: Estimate, name: str, domain: _Domain = (-math.inf, math.inf)) -> dict[str, float]:
    """Return an estimate as fields of a row, within the domain; without an interval the bounds are the value."""
    value = estimate.value or 0.0
    bounds = (value if bound is None else bound for bound in (estimate.low, estimate.high))
    low, high = (min(max(bound, domain[0]), domain[1]) for bound in bounds)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _domain(arms: Sequence[Arm], key: str) -> _Domain:
    bounds = [bound for arm in arms for bound in _bounds(arm.estimates[key], "x").values()]
    positive = [bound for bound in bounds if 0 < bound < math.inf]
    return min(positive) / _MARGIN, max(positive) * _MARGIN


def _log_axis(title: str, domain: _Domain) -> dict[str, Any]:
    import altair as alt

    decades = range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)
    ticks = [digit * 10**decade for decade in decades for digit in (1, 2, 5)]
    return {
        "title": title,
        "scale": alt.Scale(type="log", domain=list(domain), nice=False),
        "axis": alt.Axis(values=[tick for tick in ticks if domain[0] <= tick <= domain[1]], format="~s"),
    }


def _front_color(channel: str = "color") -> Any:
    import altair as alt

    kind = alt.Fill if channel == "fill" else alt.Color
    return kind("front:N", legend=None, scale=alt.Scale(domain=[True, False], range=["var(--link)", "var(--quiet)"]))


def _labels(rows: _Rows, domain: _Domain) -> alt.Chart:
    import altair as alt

    stretch = _WIDTH / math.log(domain[1] / domain[0])
    points = [
        Spot(math.log(float(row["tokens"]) / domain[0]) * stretch, (1 - float(row["passes"])) * _HEIGHT) for row in rows
    ]
    spots = place_labels(points, [str(row["name"]) for row in rows], _WIDTH, _HEIGHT)
    placed = [
        {"name": row["name"], "tokens": domain[0] * math.exp(spot.x / stretch), "passes": 1 - spot.y / _HEIGHT}
        for row, spot in zip(rows, spots, strict=True)
    ]
    return alt.Chart(alt.Data(values=placed)).mark_text(fontSize=12, color="var(--text)").encode(text="name:N")


def _in_words(arms: Sequence[Arm], *keys: str) -> str:
    units = {
        "pass@1": ("share", "pass@1"),
        "tokens": ("number", "tokens"),
        "tokens_per_solved": ("number", "tokens per solved"),
    }
    return "; ".join(
        f"{arm.name}: "
        + ", ".join(f"{units[key][1]} {estimate_text(arm.estimates[key], units[key][0])}" for key in keys)
        for arm in arms
    )


def _svg(chart: alt.LayerChart | alt.FacetChart, identity: str, alternative: str) -> Markup:
    """Render the chart; references within it get a prefix, because the page has several charts."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(_styled(chart).to_dict())
    svg = svg.replace('id="', f'id="{identity}-').replace("url(#", f"url(#{identity}-")
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alternative)}" ', 1))


def _styled(chart: alt.LayerChart | alt.FacetChart) -> alt.LayerChart | alt.FacetChart:
    text = {"labelColor": "var(--text)", "titleColor": "var(--quiet)", "labelFontSize": 12, "titleFontSize": 12}
    return (
        chart.configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke="var(--line)")
        .configure_axis(
            gridColor="var(--line)",
            gridOpacity=0.6,
            domainColor="var(--line)",
            tickColor="var(--line)",
            titleFontWeight="normal",
            **text,
        )
        .configure_legend(symbolFillColor="var(--quiet)", symbolStrokeColor="var(--quiet)", **text)
    )
