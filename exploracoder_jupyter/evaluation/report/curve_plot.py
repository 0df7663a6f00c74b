"""The plot of pass@k, one small plot for each arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.report.estimate_text import estimate_text
from exploracoder_jupyter.evaluation.report.plot_style import PERCENT, Plot, bounds, front_scale, svg

if TYPE_CHECKING:
    import altair as alt

_SMALL_WIDTH: Final = 182
_SMALL_HEIGHT: Final = 130
_PER_ROW: Final = 5


def curve_plot(summary: Summary) -> Plot | None:
    """Plot pass@k of each arm in a small plot of its own."""
    import altair as alt

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
    chart = _small_chart(ks).properties(data=alt.Data(values=rows)).facet(facet=facet, columns=_PER_ROW)
    return Plot(
        "plot-curves",
        "pass@k",
        svg(chart, "plot-curves", _curves_in_words(summary)),
        "Probability that at least one of k samples passes (logarithmic k); bands are 95 % intervals.",
    )


def _small_chart(ks: list[int]) -> alt.LayerChart:
    import altair as alt

    shares: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=[0, 1]),
        "axis": alt.Axis(format=PERCENT, values=[0, 0.25, 0.5, 0.75, 1]),
    }
    samples = alt.X("k:Q", title="k", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=ks, format="d"))
    base = alt.Chart().encode(x=samples)
    band = base.mark_area(opacity=0.22).encode(
        y=alt.Y("passes_low:Q", **shares), y2="passes_high:Q", fill=alt.Fill("front:N", **front_scale())
    )
    line = base.mark_line(point=alt.OverlayMarkDef(size=28, filled=True), strokeWidth=1.75).encode(
        y=alt.Y("passes:Q", **shares), color=alt.Color("front:N", **front_scale())
    )
    return alt.LayerChart(layer=[band, line]).properties(width=_SMALL_WIDTH, height=_SMALL_HEIGHT)


def _curves_in_words(summary: Summary) -> str:
    return "; ".join(
        f"{arm.name}: " + ", ".join(f"pass@{k} {estimate_text(one, 'share')}" for k, one in arm.pass_at.items())
        for arm in summary.arms
    )
