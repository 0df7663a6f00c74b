"""Describes points, images, areas, patches and texts in Matplotlib axes. They are read, never drawn."""

from __future__ import annotations

import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import FormatNumber, format_number
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import (
    Series,
    describe_bins,
    format_series,
    label_of,
    mro,
    patch_box,
)
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import quote
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_SLICES = 10


def _color_map_note(mappable: Any) -> str:
    return "" if mappable.get_array() is None else f", coloured by value ({mappable.get_cmap().name})"


def _color_range(mappable: Any, options: SummaryOptions) -> str:
    values = mappable.get_array()
    if values is None:
        return ""
    sample = number_ranges.to_floats(number_ranges.thin(values.reshape(-1), options.sample))
    return f"; colour {number_ranges.describe_range(sample)}{_clipping_note(mappable, sample)}"


def _clipping_note(mappable: Any, values: Any) -> str:
    low, high = mappable.get_clim()
    finite_values = number_ranges.finite(values)
    if (
        low is None
        or high is None
        or not len(finite_values)
        or (low <= finite_values.min() and finite_values.max() <= high)
    ):
        return ""
    return f", colours end at {format_number(low)} and {format_number(high)}"


def describe_image(artist: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe an image; it has three dimensions if its pixels are colors."""
    pixels = artist.get_array()
    if pixels is None:
        return Series(format_series("image", label_of(artist), "empty"))
    left, right, bottom, top = artist.get_extent()
    sample = number_ranges.to_floats(number_ranges.thin(pixels.reshape(-1), options.sample))
    size = " x ".join(map(str, pixels.shape))
    has_color_map = pixels.ndim == 2
    what = format_series(
        "image", label_of(artist), f"{size} {pixels.dtype}" + (f", {artist.get_cmap().name}" if has_color_map else "")
    )
    bounds = [[min(left, right), min(bottom, top), abs(right - left), abs(top - bottom)]]
    values = f"values {number_ranges.describe_range(sample)}{_clipping_note(artist, sample) if has_color_map else ''}"
    return Series(
        what,
        values,
        "image",
        sys.modules["numpy"].array(bounds),
        pixels=_top_row_first(artist, pixels) if has_color_map else None,
    )


def _top_row_first(artist: Any, pixels: Any) -> Any:
    return pixels[::-1] if artist.origin == "lower" else pixels


def describe_mesh(cells: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe the colored cells of a grid."""
    shape = " x ".join(map(str, cells.get_array().shape))
    return Series(format_series("colour mesh", label_of(cells), shape), _color_range(cells, options).removeprefix("; "))


def describe_contours(contours: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe contour lines, or the areas between them."""
    kind = "filled contours" if contours.filled else "contour lines"
    return Series(
        format_series(kind, label_of(contours), f"{len(contours.levels)} levels"),
        f"levels {number_ranges.describe_range(contours.levels)}",
    )


def describe_polygons(collection: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe areas, of which only the outlines are stored."""
    paths, label = collection.get_paths(), label_of(collection)
    kind = "filled area" if "FillBetweenPolyCollection" in mro(collection) else "polygons"
    description = ""
    if paths and "Poly3DCollection" not in mro(collection):
        description = _extent(collection.get_datalim(axes.transData), axes)
    return Series(format_series(kind, label, "" if kind == "filled area" else f"{len(paths):,}"), description)


def _extent(bounds: Any, axes: Any) -> str:
    if not sys.modules["numpy"].isfinite(bounds.get_points()).all():
        return ""
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    return f"x {format_x(bounds.x0)} to {format_x(bounds.x1)}; y {format_y(bounds.y0)} to {format_y(bounds.y1)}"


def describe_segments(lines: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe straight lines that were created by one call."""
    return Series(format_series("line segments", label_of(lines), f"{len(lines.get_paths()):,}"))


def describe_arrows(arrows: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe a field of arrows."""
    return Series(format_series("arrows", label_of(arrows), f"{arrows.N:,}"))


class Pie(tuple[Any, ...]):
    """All slices of the pies in one axes."""


def describe_pie(slices: Pie, axes: Any, options: SummaryOptions) -> Series:
    """Describe the shares of a pie."""
    description = [
        f"{truncate(label_of(wedge) or '-', 20)} {abs(wedge.theta2 - wedge.theta1) / 3.6:.1f}%" for wedge in slices
    ]
    return Series(f"pie: {len(slices):,} slices", format_list(description, _MAX_SLICES))


def describe_patch(shape: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe any other shape."""
    return Series(format_series(type(shape).__name__.lower(), label_of(shape)))


def describe_rectangle(patch: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe a rectangle, or a band across the axes."""
    in_x, in_y = in_data(patch, axes)
    left, bottom, width, height = patch_box(patch)
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    description = [f"x {format_x(left)} to {format_x(left + width)}"] if in_x else []
    description += [f"y {format_y(bottom)} to {format_y(bottom + height)}"] if in_y else []
    return Series(format_series("rectangle" if in_x and in_y else "band", label_of(patch)), "; ".join(description))


def describe_steps(patch: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe steps, as of a histogram without bars."""
    values, edges, _ = patch.get_data()
    description = describe_bins(
        edges[:-1], edges[1:], number_ranges.to_floats(values), axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    )
    return Series(format_series("steps", label_of(patch), f"{len(values):,}"), description)


def describe_note(text: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a text and its position; None if it is empty."""
    content = text.get_text()
    if not content:
        return None
    position = text.xy if hasattr(text, "xy") else text.get_position()
    coordinates = ", ".join(format_number(value) if isinstance(value, float) else str(value) for value in position)
    return Series("text", f"{quote(content)} at {coordinates}")


def describe_scatter(points: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe scattered points."""
    offsets, label = points.get_offsets(), label_of(points)
    sample = sys.modules["numpy"].ma.filled(number_ranges.thin(offsets, options.sample).astype(float), float("nan"))
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    description = _describe_cloud(sample, format_x, format_y)
    what = format_series("scattered points", label, f"{len(offsets):,}" + _color_map_note(points))
    return Series(what, description + _color_range(points, options), "points", sample, label)


def _describe_cloud(points: Any, format_x: FormatNumber, format_y: FormatNumber) -> str:
    if len(points) <= 6:
        return number_ranges.describe_curve(points[:, 0], points[:, 1], format_x, format_y)
    x_range = number_ranges.describe_range(points[:, 0], format_x)
    y_range = number_ranges.describe_range(points[:, 1], format_y)
    return f"x {x_range}; y {y_range}{_correlation_note(points)}"


def _correlation_note(points: Any) -> str:
    """Describe the correlation of x and y."""
    np = sys.modules["numpy"]
    finite_points = points[np.isfinite(points).all(axis=1)]
    if not len(finite_points) or (np.ptp(finite_points, axis=0) == 0).any():
        return ""
    with np.errstate(all="ignore"):
        correlation = float(np.corrcoef(finite_points.T)[0, 1])
    return f", correlation {correlation:.2f}" if np.isfinite(correlation) else ""
