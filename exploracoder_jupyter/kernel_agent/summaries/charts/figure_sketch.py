"""A figure as a few primitives like those of SVG, made from what its axes hold; nothing is drawn for it.

Each of the axes is a square of 100 x 100 with y downwards. Many points are told in one element, and an image by levels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import placer
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import cut

MOST = 1500
_LINE = 20
_POINTS = 15
_BARS = 20
_GRID = 6
_OUTSIDE = 5.0
_END = "</svg>"


def sketch(plots: Iterable[tuple[Any, list[Series]]]) -> str:
    """The sketch of axes with what they show, in at most `MOST` characters; empty if there is nothing to sketch."""
    text, left_out = '<svg each-axes="100x100">', 0
    for number, (axes, shown) in enumerate(plots, 1):
        elements = list(_elements(axes, shown))
        group = f'<g id="axes {number}">{"".join(elements)}</g>'
        if elements and len(text) + len(group) + 40 > MOST:
            left_out += 1
        elif elements:
            text += group
    if "<g" not in text:
        return ""
    return text + (f"<!-- {left_out} axes left out -->" if left_out else "") + _END


def _elements(axes: Any, shown: list[Series]) -> Iterator[str]:
    place = placer(axes) if axes.name == "rectilinear" else None
    for one in shown if place else ():
        if one.form and one.shape is not None and len(one.shape):
            yield _FORMS[one.form](one, place)


def _line(one: Series, place: Any) -> str:
    points = place(_few(one.shape))
    known = points[sys.modules["numpy"].isfinite(points).all(axis=1)].clip(-_OUTSIDE, 100 + _OUTSIDE)
    return f"<polyline{_name(one)} points={_pairs(number_ranges.reduced(known, _LINE))}/>"


def _points(one: Series, place: Any) -> str:
    points = place(number_ranges.thin(one.shape, _POINTS))
    inside = points[((points > -_OUTSIDE) & (points < 100 + _OUTSIDE)).all(axis=1)]
    return f"<circles{_name(one)} at={_pairs(inside)}/>"


def _bars(one: Series, place: Any) -> str:
    shape = number_ranges.thin(one.shape, _BARS)
    rows = [f"{x},{y},{w},{h}" for x, y, w, h in _boxes(shape, place)]
    return f'<rects{_name(one)} xywh="{" ".join(rows)}"/>'


def _image(one: Series, place: Any) -> str:
    ((x, y, w, h),) = _boxes(one.shape, place)
    levels = "" if one.pixels is None else f' levels-0-to-9="{_levels(one.pixels)}"'
    return f'<image x="{x}" y="{y}" width="{w}" height="{h}"{levels}/>'


def _levels(pixels: Any) -> str:
    """Rows of digits, 0 for the lowest to 9 for the highest, of a coarse grid."""
    np = sys.modules["numpy"]
    rows, columns = (np.linspace(0, side - 1, min(side, _GRID)).astype(int) for side in pixels.shape)
    grid = np.ma.filled(np.ma.asanyarray(pixels[np.ix_(rows, columns)]).astype(float), np.nan)
    known = number_ranges.finite(grid)
    if not len(known):
        return ""
    low, width = known.min(), np.ptp(known) or 1.0
    return " ".join("".join(f"{(v - low) / width * 9:.0f}" if np.isfinite(v) else "-" for v in row) for row in grid)


def _boxes(shape: Any, place: Any) -> list[tuple[int, int, int, int]]:
    np = sys.modules["numpy"]
    a, b = place(shape[:, :2]), place(shape[:, :2] + shape[:, 2:])
    both = np.nan_to_num(np.array([a, b]), nan=0.0).clip(-_OUTSIDE, 100 + _OUTSIDE).round().astype(int)
    low, high = both.min(axis=0), both.max(axis=0)
    rows: list[tuple[int, int, int, int]] = np.hstack([low, high - low]).tolist()
    return rows


def _few(points: Any) -> Any:
    return points if len(points) <= 200_000 else number_ranges.thin(points, 200_000)


def _pairs(points: Any) -> str:
    return '"' + " ".join(f"{x:.0f},{y:.0f}" for x, y in points.tolist()) + '"'


def _name(one: Series) -> str:
    return f' label="{cut(one.label, 20)}"' if one.label else ""


_FORMS = {"line": _line, "points": _points, "bars": _bars, "image": _image}
