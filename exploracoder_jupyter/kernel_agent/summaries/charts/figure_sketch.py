"""Sketches a figure as a few primitives like those of SVG, computed from the contents of its axes without drawing it.

Each axes is a square of 100 x 100 with y downwards. Many points share one element, and an image is shown by levels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import position_converter
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import truncate

MAX_LENGTH = 1500
_MAX_LINE_POINTS = 20
_MAX_POINTS = 15
_MAX_BARS = 20
_GRID_SIZE = 6
_MARGIN = 5.0
_CLOSING_TAG = "</svg>"


def sketch(plots: Iterable[tuple[Any, list[Series]]]) -> str:
    """Sketch axes with their series in at most `MAX_LENGTH` characters; empty if there is nothing to sketch."""
    text, omitted = '<svg each-axes="100x100">', 0
    for number, (axes, series_list) in enumerate(plots, 1):
        elements = list(_svg_elements(axes, series_list))
        group = f'<g id="axes {number}">{"".join(elements)}</g>'
        if elements and len(text) + len(group) + 40 > MAX_LENGTH:
            omitted += 1
        elif elements:
            text += group
    if "<g" not in text:
        return ""
    return text + (f"<!-- {omitted} axes left out -->" if omitted else "") + _CLOSING_TAG


def _svg_elements(axes: Any, series_list: list[Series]) -> Iterator[str]:
    convert = position_converter(axes) if axes.name == "rectilinear" else None
    for series in series_list if convert else ():
        if series.form and series.shape is not None and len(series.shape):
            yield _DRAW_FUNCTIONS[series.form](series, convert)


def _draw_line(series: Series, convert: Any) -> str:
    points = convert(_limit_points(series.shape))
    finite_values = points[sys.modules["numpy"].isfinite(points).all(axis=1)].clip(-_MARGIN, 100 + _MARGIN)
    simplified = number_ranges.simplify(finite_values, _MAX_LINE_POINTS)
    return f"<polyline{_label_attribute(series)} points={_format_points(simplified)}/>"


def _draw_points(series: Series, convert: Any) -> str:
    points = convert(number_ranges.thin(series.shape, _MAX_POINTS))
    inside = points[((points > -_MARGIN) & (points < 100 + _MARGIN)).all(axis=1)]
    return f"<circles{_label_attribute(series)} at={_format_points(inside)}/>"


def _draw_bars(series: Series, convert: Any) -> str:
    shape = number_ranges.thin(series.shape, _MAX_BARS)
    rows = [f"{x},{y},{w},{h}" for x, y, w, h in _convert_boxes(shape, convert)]
    return f'<rects{_label_attribute(series)} xywh="{" ".join(rows)}"/>'


def _draw_image(series: Series, convert: Any) -> str:
    ((x, y, w, h),) = _convert_boxes(series.shape, convert)
    levels = "" if series.pixels is None else f' levels-0-to-9="{_pixel_levels(series.pixels)}"'
    return f'<image x="{x}" y="{y}" width="{w}" height="{h}"{levels}/>'


def _pixel_levels(pixels: Any) -> str:
    """Format pixels on a coarse grid as rows of digits, from 0 for the lowest to 9 for the highest."""
    np = sys.modules["numpy"]
    rows, columns = (np.linspace(0, side - 1, min(side, _GRID_SIZE)).astype(int) for side in pixels.shape)
    grid = np.ma.filled(np.ma.asanyarray(pixels[np.ix_(rows, columns)]).astype(float), np.nan)
    finite_values = number_ranges.finite(grid)
    if not len(finite_values):
        return ""
    low, width = finite_values.min(), np.ptp(finite_values) or 1.0
    return " ".join(
        "".join(f"{(value - low) / width * 9:.0f}" if np.isfinite(value) else "-" for value in row) for row in grid
    )


def _convert_boxes(shape: Any, convert: Any) -> list[tuple[int, int, int, int]]:
    np = sys.modules["numpy"]
    corners, opposite_corners = convert(shape[:, :2]), convert(shape[:, :2] + shape[:, 2:])
    converted = (
        np.nan_to_num(np.array([corners, opposite_corners]), nan=0.0).clip(-_MARGIN, 100 + _MARGIN).round().astype(int)
    )
    low, high = converted.min(axis=0), converted.max(axis=0)
    rows: list[tuple[int, int, int, int]] = np.hstack([low, high - low]).tolist()
    return rows


def _limit_points(points: Any) -> Any:
    return points if len(points) <= 200_000 else number_ranges.thin(points, 200_000)


def _format_points(points: Any) -> str:
    return '"' + " ".join(f"{x:.0f},{y:.0f}" for x, y in points.tolist()) + '"'


def _label_attribute(series: Series) -> str:
    return f' label="{truncate(series.label, 20)}"' if series.label else ""


_DRAW_FUNCTIONS = {"line": _draw_line, "points": _draw_points, "bars": _draw_bars, "image": _draw_image}
