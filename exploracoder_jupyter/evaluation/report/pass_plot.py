"""The plot of pass@1 against tokens with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from exploracoder_jupyter.evaluation.measures.summary import Arm, Summary
from exploracoder_jupyter.evaluation.report.label_placement import Spot, place_labels
from exploracoder_jupyter.evaluation.report.plot_style import (
    PERCENT,
    Domain,
    Plot,
    bounds,
    front_scale,
    in_words,
    log_axis,
    log_domain,
    svg,
)

if TYPE_CHECKING:
    import altair as alt

_WIDTH: Final = 1000
_HEIGHT: Final = 440


def pass_plot(summary: Summary) -> Plot | None:
    """Plot the arms that used tokens; `None` if there are none."""
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
    import altair as alt

    domain = log_domain(arms, "tokens")
    tokens = log_axis("Tokens of a run (logarithmic)", domain)
    passes: dict[str, Any] = {"title": "pass@1", "scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(format=PERCENT)}
    base = alt.Chart(alt.Data(values=[_row(arm) for arm in arms])).encode(
        x=alt.X("tokens:Q", **tokens), y=alt.Y("passes:Q", **passes), color=alt.Color("front:N", **front_scale())
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


def _row(arm: Arm) -> dict[str, float | str | bool]:
    tokens, passes = bounds(arm.estimates["tokens"], "tokens"), bounds(arm.estimates["pass@1"], "passes")
    return {"model": arm.model, "front": arm.on_front, **tokens, **passes}


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where values are in the plot, in pixels from its upper left corner."""

    domain: Domain

    def spot(self, tokens: float, passes: float) -> Spot:
        return Spot(math.log(tokens / self.domain[0]) * self._stretch, (1 - passes) * _HEIGHT)

    def values(self, spot: Spot) -> dict[str, float]:
        return {"tokens": self.domain[0] * math.exp(spot.x / self._stretch), "passes": 1 - spot.y / _HEIGHT}

    @property
    def _stretch(self) -> float:
        return _WIDTH / math.log(self.domain[1] / self.domain[0])


def _labels(arms: Sequence[Arm], domain: Domain) -> list[dict[str, float | str]]:
    """Return the labels with their positions. Where shapes show the models, the labels need not."""
    scale = _Scale(domain)
    names = [arm.strategy if len({arm.strategy for arm in arms}) > 1 else arm.model for arm in arms]
    points = [scale.spot(_value(arm, "tokens"), _value(arm, "pass@1")) for arm in arms]
    spots = place_labels(points, names, [*_lines(arms, scale)], _WIDTH, _HEIGHT)
    return [{"label": name, **scale.values(spot)} for name, spot in zip(names, spots, strict=True)]


def _value(arm: Arm, key: str) -> float:
    return arm.estimates[key].value or 0.0


def _lines(arms: Sequence[Arm], scale: _Scale) -> Iterator[tuple[Spot, Spot]]:
    """Yield the bars and the front."""
    for arm in arms:
        x, y = bounds(arm.estimates["tokens"], "x", scale.domain), bounds(arm.estimates["pass@1"], "y")
        yield scale.spot(x["x_low"], y["y"]), scale.spot(x["x_high"], y["y"])
        yield scale.spot(x["x"], y["y_low"]), scale.spot(x["x"], y["y_high"])
    front = sorted((_value(arm, "tokens"), _value(arm, "pass@1")) for arm in arms if arm.on_front)
    for (tokens, passes), (next_tokens, next_passes) in pairwise(front):
        yield scale.spot(tokens, passes), scale.spot(next_tokens, passes)
        yield scale.spot(next_tokens, passes), scale.spot(next_tokens, next_passes)
