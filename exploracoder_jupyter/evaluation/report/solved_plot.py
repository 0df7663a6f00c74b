"""The plot of the tokens that each arm needs per solved problem."""

from __future__ import annotations

from typing import Final

from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.report.plot_style import (
    Plot,
    bounds,
    front_scale,
    in_words,
    log_axis,
    log_domain,
    svg,
)

_BARS_WIDTH: Final = 760
_BAR_HEIGHT: Final = 26


def solved_plot(summary: Summary) -> Plot | None:
    """Plot the tokens per solved problem."""
    import altair as alt

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
    base = alt.Chart(alt.Data(values=rows)).encode(y=names, color=alt.Color("front:N", **front_scale()))
    chart = alt.layer(
        base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("tokens_low:Q", **axis), x2="tokens_high:Q"),
        base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("tokens:Q", **axis)),
    ).properties(width=_BARS_WIDTH, height=_BAR_HEIGHT * len(rows))
    caption = "Further left is better; bars are 95 % intervals, and one that reaches the right edge has no upper bound."
    if missing := [arm.name for arm in summary.arms if arm not in arms]:
        caption += f" Not shown, because nothing was solved or no tokens were counted: {', '.join(missing)}."
    return Plot("plot-solved", "Tokens per solved problem", svg(chart, "plot-solved", in_words(arms, key)), caption)
