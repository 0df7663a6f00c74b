"""The plots of a report. Vega-Lite draws them when the page is written, so the page needs no script for them."""

from __future__ import annotations

from typing import Any, Final

import altair as alt

from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.report.estimate_text import estimate_text
from exploracoder_jupyter.evaluation.report.pass_plot import pass_plot
from exploracoder_jupyter.evaluation.report.plot_style import (
    FRONT_SCALE,
    PERCENT,
    Plot,
    bounds,
    in_words,
    log_axis,
    log_domain,
    svg,
)

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
