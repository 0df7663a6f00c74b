"""Describes the lines, points, bars, pies, images and texts in Matplotlib axes. They are read, never drawn.

Any other artist is described by its type and label alone.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import format_number
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import quote, strip_quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_BARS = 2000
_MAX_LISTED_BARS = 8
_MAX_LISTED_POINTS = 6
_MAX_SLICES = 10


class Series(NamedTuple):
    """What one artist shows, or several that belong together."""

    what: str
    """Kind, label and number of points: `line "north": 21 points`."""
    data: str = ""
    """Ranges and values."""

    def fact(self, indent: str = "") -> Fact:
        """Return all of it on one line, without labels and data in the schema."""
        text = f"{self.what}{'; ' if ': ' in self.what else ': '}{self.data}" if self.data else self.what
        return Fact(f"{indent}{text}", shows=True, schema=f"{indent}{strip_quoted(self.what)}")


def mro(artist: Any) -> list[str]:
    """Return the names of a value's classes, the nearest first."""
    return [cls.__qualname__ for cls in type(artist).__mro__]


def label_of(artist: Any) -> str:
    """Return the label that the code gave an artist; empty if none."""
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def format_series(kind: str, label: str, details: str = "") -> str:
    """Format a series: `line "north": 21 points`."""
    return kind + (f" {quote(label)}" if label else "") + (f": {details}" if details else "")


def describe_line(line: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a line with or without markers, or a line across the axes; None for one in other coordinates."""
    points, label = line.get_xydata(), label_of(line)
    in_x, in_y = in_data(line, axes)
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    if in_x and in_y:
        form = "points" if line.get_linestyle() in ("None", "", " ") else "line"
        data = ""
        if len(points):
            sample = number_ranges.thin(points, options.sample)
            data = number_ranges.describe_curve(sample[:, 0], sample[:, 1], format_x, format_y)
            data += f" [of {len(sample):,} points]" if len(sample) < len(points) else ""
        return Series(format_series(form, label, f"{len(points):,} points"), data)
    if in_y:
        return Series(format_series("horizontal line", label), f"at y = {format_y(points[0, 1])}")
    return Series(format_series("vertical line", label), f"at x = {format_x(points[0, 0])}") if in_x else None


def describe_points(points: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe scattered points."""
    offsets = points.get_offsets()
    sample = sys.modules["numpy"].ma.filled(number_ranges.thin(offsets, options.sample).astype(float), float("nan"))
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    x_range = number_ranges.describe_range(sample[:, 0], format_x)
    data = f"x {x_range}; y {number_ranges.describe_range(sample[:, 1], format_y)}"
    if len(sample) <= _MAX_LISTED_POINTS:
        data = number_ranges.describe_curve(sample[:, 0], sample[:, 1], format_x, format_y)
    return Series(format_series("scattered points", label_of(points), f"{len(offsets):,}"), data)


def describe_bars(container: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe bars, or the bins of a histogram, that were created by one call."""
    patches = container.patches[:_MAX_BARS]
    boxes = [(patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()) for patch in patches]
    lefts, bottoms, widths, heights = sys.modules["numpy"].array(boxes, dtype=float).reshape(-1, 4).T
    position_axis, value_axis, kind = axes.xaxis, axes.yaxis, "bars"
    if container.orientation == "horizontal":
        position_axis, value_axis, kind = axes.yaxis, axes.xaxis, "horizontal bars"
        lefts, widths, heights = bottoms, heights, widths
    format_value, format_height = axis_formatter(position_axis, 0.45), axis_formatter(value_axis)
    middles = [format_value(float(round(value, 9))) for value in (lefts + widths / 2).tolist()]
    if len(middles) <= _MAX_LISTED_BARS:
        bars = zip(middles, heights.tolist(), strict=True)
        data = ", ".join(f"{truncate(position, 20)} = {format_height(height)}" for position, height in bars)
    else:
        data = f"from {middles[0]} to {middles[-1]}, {number_ranges.describe_range(heights, format_height)}"
    label = label_of(container) or next(map(label_of, patches), "")  # a histogram's label is on its first bar
    return Series(format_series(kind, label, f"{len(container.patches):,}"), data)


def describe_error_bars(container: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe the line of error bars."""
    line = describe_line(container.lines[0], axes, options) if container.lines[0] is not None else None
    if line is None:
        return Series(format_series("error bars", label_of(container)))
    count = f"{len(container.lines[0].get_xydata()):,} points"
    return line._replace(what=format_series("line with error bars", label_of(container), count))


def describe_image(image: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe an image or a grid of colored cells."""
    pixels = image.get_array()
    if pixels is None:
        return Series(format_series("image", label_of(image), "empty"))
    values = number_ranges.to_floats(number_ranges.thin(pixels.reshape(-1), options.sample))
    size = f"{' x '.join(map(str, pixels.shape))} {pixels.dtype}"
    return Series(format_series("image", label_of(image), size), f"values {number_ranges.describe_range(values)}")


def describe_pie(wedges: list[Any]) -> Series:
    """Describe the shares of a pie."""
    shares = [
        f"{truncate(label_of(wedge) or '-', 20)} {abs(wedge.theta2 - wedge.theta1) / 3.6:.1f}%" for wedge in wedges
    ]
    return Series(f"pie: {len(wedges):,} slices", format_list(shares, _MAX_SLICES))


def describe_note(text: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a text and its position; None if it is empty."""
    content = text.get_text()
    if not content:
        return None
    position = text.xy if hasattr(text, "xy") else text.get_position()
    coordinates = ", ".join(format_number(value) if isinstance(value, float) else str(value) for value in position)
    return Series("text", f"{quote(content)} at {coordinates}")


def describe_artist(artist: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe any other shape or collection of shapes by its type."""
    paths = artist.get_paths() if hasattr(artist, "get_paths") else ()
    return Series(format_series(type(artist).__name__, label_of(artist), f"{len(paths):,}" if paths else ""))
