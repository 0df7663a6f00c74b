"""Describes lines, bars and box plots in Matplotlib axes. They are read, never drawn."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import FormatNumber, format_number
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import quote, strip_quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_BARS = 2000
_MAX_LISTED = 8


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


def describe_3d(artist: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe a line or points in space."""
    is_line = hasattr(artist, "get_data_3d")
    xyz = artist.get_data_3d() if is_line else artist._offsets3d
    samples = [number_ranges.to_floats(number_ranges.thin(values, options.sample)) for values in xyz]
    ranges = [f"{name} {number_ranges.describe_range(sample)}" for name, sample in zip("xyz", samples, strict=True)]
    kind = "3-D line" if is_line else "3-D points"
    return Series(format_series(kind, label_of(artist), f"{len(xyz[0]):,} points"), "; ".join(ranges))


def describe_bars(container: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe bars, or the bins of a histogram, that were created by one call."""
    patches = container.patches[:_MAX_BARS]
    boxes = sys.modules["numpy"].array([patch_box(patch) for patch in patches], dtype=float).reshape(-1, 4)
    lefts, bottoms, widths, heights = boxes.T
    position_axis, value_axis, kind = axes.xaxis, axes.yaxis, ""
    if container.orientation == "horizontal":
        position_axis, value_axis, kind = axes.yaxis, axes.xaxis, "horizontal "
        lefts, widths, heights = bottoms, heights, widths
    are_adjacent = len(patches) > 2 and bool((abs((lefts + widths)[:-1] - lefts[1:]) <= 1e-6 * abs(widths[:-1])).all())
    kind += "bars side by side (as of a histogram)" if are_adjacent else "bars"
    describe = _describe_bins if are_adjacent else _describe_columns
    data = describe(lefts, lefts + widths, heights, axis_formatter(position_axis, 0.45), axis_formatter(value_axis))
    label = label_of(container) or next(map(label_of, patches), "")  # a histogram's label is on its first bar
    return Series(format_series(kind, label, f"{len(container.patches):,}"), data)


def patch_box(patch: Any) -> tuple[float, float, float, float]:
    """Return left, bottom, width and height."""
    return patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()


def _describe_bins(
    starts: Any, ends: Any, heights: Any, format_value: FormatNumber, format_height: FormatNumber
) -> str:
    """Describe the positions and heights of bins that touch."""
    if not len(number_ranges.finite(heights)):
        return "no finite heights"
    top = int(sys.modules["numpy"].nanargmax(heights))
    highest = f"highest at {format_value(starts[top])} to {format_value(ends[top])}"
    range_text = number_ranges.describe_range(heights, format_height)
    return f"from {format_value(starts[0])} to {format_value(ends[-1])}, heights {range_text}, {highest}"


def _describe_columns(
    starts: Any, ends: Any, heights: Any, format_value: FormatNumber, format_height: FormatNumber
) -> str:
    np = sys.modules["numpy"]
    middles = [format_value(float(round(value, 9))) for value in ((starts + ends) / 2).tolist()]
    if len(middles) <= _MAX_LISTED:
        columns = zip(middles, heights.tolist(), strict=True)
        return ", ".join(f"{truncate(position, 20)} = {format_height(height)}" for position, height in columns)
    if not len(number_ranges.finite(heights)):
        return "no finite heights"
    top, bottom = middles[int(np.nanargmax(heights))], middles[int(np.nanargmin(heights))]
    range_text = number_ranges.describe_range(heights, format_height)
    return f"from {middles[0]} to {middles[-1]}, {range_text}, highest at {top}, lowest at {bottom}"


def describe_error_bars(container: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a line with error bars."""
    line = describe_line(container.lines[0], axes, options) if container.lines[0] is not None else None
    if line is None:
        return Series(format_series("error bars", label_of(container)))
    count = f"{len(container.lines[0].get_xydata()):,} points"
    return line._replace(what=format_series("line with error bars", label_of(container), count))


def find_box_plots(lines: list[Any]) -> list[Any]:
    """Return the lines of box plots: for each the box, two whiskers, two caps, the median, and the outliers."""
    lines = [line for line in lines if mro(line)[0] == "Line2D"][:_MAX_BARS]
    shapes = [line.get_xydata() for line in lines]
    starts = [index for index, shape in enumerate(shapes) if len(shape) == 5 and (shape[0] == shape[-1]).all()]
    starts = [index for index in starts if [len(shape) for shape in shapes[index + 1 : index + 6]] == [2] * 5]
    return [line for index in starts for line in lines[index : index + 7]]


def describe_box_plots(lines: list[Any], axes: Any) -> Series:
    """Describe the first few box plots."""
    plots = [[line.get_xydata() for line in lines[index : index + 7]] for index in range(0, len(lines), 7)]
    data = [_describe_box_plot(shapes, axis_formatter(axes.xaxis, 0.45)) for shapes in plots[:_MAX_LISTED]]
    more = f"; {len(plots) - _MAX_LISTED:,} more" if len(plots) > _MAX_LISTED else ""
    return Series(f"box plots: {len(plots):,}", "; ".join(data) + more)


def _describe_box_plot(shapes: list[Any], format_value: FormatNumber) -> str:
    box, whiskers = shapes[0][:, 1], [end for shape in shapes[1:3] for end in shape[:, 1]]
    outliers = f", {len(shapes[6]):,} outside" if len(shapes) > 6 and len(shapes[6]) else ""
    return (
        f"{format_value(float(shapes[0][:, 0].mean()))}: median {format_number(shapes[5][0, 1])}, "
        f"box {format_number(box.min())} to {format_number(box.max())}, "
        f"whiskers {format_number(min(whiskers))} to {format_number(max(whiskers))}{outliers}"
    )
