"""Describes lines and bars in Matplotlib axes. They are read, never drawn."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import FormatNumber, format_number
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import quote, strip_quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_BARS = 2000
_MAX_LISTED = 8


class Series(NamedTuple):
    """What one artist shows, or several that belong together."""

    what: str
    """Kind, label and number of points: `line "north": 21 points`."""
    data: str = ""
    """Ranges and values."""
    form: str = ""
    """How it is drawn in a sketch: `line`, `points`, `bars`, `image`; not sketched if empty."""
    shape: Any = None
    """Rows to sketch, in data coordinates: x, y; of bars and images x, y, width, height."""
    label: str = ""
    pixels: Any = None
    """Of an image."""

    @property
    def text(self) -> str:
        """All of it on one line."""
        return f"{self.what}{'; ' if ': ' in self.what else ': '}{self.data}" if self.data else self.what

    @property
    def schema(self) -> str:
        """Kind and number of points."""
        return strip_quoted(self.what)


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


def _describe_points(points: Any, axes: Any, options: SummaryOptions) -> str:
    sample = number_ranges.thin(points, options.sample)
    description = number_ranges.describe_curve(
        sample[:, 0], sample[:, 1], axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    )
    return description + ("" if len(sample) == len(points) else f" [of {len(sample):,} points]")


def describe_line(line: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a line with or without markers, or a line across the axes; None for one in other coordinates."""
    points, label = line.get_xydata(), label_of(line)
    in_x, in_y = in_data(line, axes)
    if in_x and in_y:
        form = "points" if line.get_linestyle() in ("None", "", " ") else "line"
        data = _describe_points(points, axes, options) if len(points) else ""
        return Series(format_series(form, label, f"{len(points):,} points"), data, form, points, label)
    if in_y:
        return Series(format_series("horizontal line", label), f"at y = {axis_formatter(axes.yaxis)(points[0, 1])}")
    return (
        Series(format_series("vertical line", label), f"at x = {axis_formatter(axes.xaxis)(points[0, 0])}")
        if in_x
        else None
    )


def describe_line_3d(line: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe a line in space."""
    return _describe_3d("3-D line", line, line.get_data_3d(), options)


def describe_points_3d(points: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe points in space."""
    return _describe_3d("3-D points", points, points._offsets3d, options)


def _describe_3d(kind: str, artist: Any, xyz: Any, options: SummaryOptions) -> Series:
    ranges = [
        f"{name} {number_ranges.describe_range(number_ranges.to_floats(number_ranges.thin(v, options.sample)))}"
        for name, v in zip("xyz", xyz, strict=True)
    ]
    return Series(format_series(kind, label_of(artist), f"{len(xyz[0]):,} points"), "; ".join(ranges))


def describe_bars(container: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe bars, or the bins of a histogram, that were created by one call."""
    patches = container.patches[:_MAX_BARS]
    is_horizontal = container.orientation == "horizontal"
    shape = sys.modules["numpy"].array([patch_box(p) for p in patches], dtype=float).reshape(-1, 4)
    position_column, width_column, height_column = (1, 3, 2) if is_horizontal else (0, 2, 3)
    starts, ends, heights = (
        shape[:, position_column],
        shape[:, position_column] + shape[:, width_column],
        shape[:, height_column],
    )
    position_axis, value_axis = (axes.yaxis, axes.xaxis) if is_horizontal else (axes.xaxis, axes.yaxis)
    are_adjacent = len(patches) > 2 and bool(
        (abs(ends[:-1] - starts[1:]) <= 1e-6 * abs(shape[:-1, width_column])).all()
    )
    description = (describe_bins if are_adjacent else _describe_columns)(
        starts, ends, heights, axis_formatter(position_axis, 0.45), axis_formatter(value_axis)
    )
    kind = ("horizontal " if is_horizontal else "") + (
        "bars side by side (as of a histogram)" if are_adjacent else "bars"
    )
    label = label_of(container) or next(map(label_of, patches), "")  # a histogram's label is on its first bar
    return Series(format_series(kind, label, f"{len(container.patches):,}"), description, "bars", shape, label)


def patch_box(patch: Any) -> tuple[float, float, float, float]:
    """Return left, bottom, width and height."""
    return patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()


def describe_bins(starts: Any, ends: Any, heights: Any, format_value: FormatNumber, format_height: FormatNumber) -> str:
    """Describe the positions and heights of bins that touch."""
    if not len(number_ranges.finite(heights)):
        return "no finite heights"
    highest_index = int(sys.modules["numpy"].nanargmax(heights))
    highest = f"highest at {format_value(starts[highest_index])} to {format_value(ends[highest_index])}"
    range_text = number_ranges.describe_range(heights, format_height)
    return f"from {format_value(starts[0])} to {format_value(ends[-1])}, heights {range_text}, {highest}"


def _describe_columns(
    starts: Any, ends: Any, heights: Any, format_value: FormatNumber, format_height: FormatNumber
) -> str:
    middles = [format_value(float(round(value, 9))) for value in ((starts + ends) / 2).tolist()]
    if len(middles) <= _MAX_LISTED:
        return ", ".join(
            f"{truncate(position, 20)} = {format_height(height)}"
            for position, height in zip(middles, heights.tolist(), strict=True)
        )
    if not len(number_ranges.finite(heights)):
        return "no finite heights"
    np = sys.modules["numpy"]
    top, bottom = middles[int(np.nanargmax(heights))], middles[int(np.nanargmin(heights))]
    range_text = number_ranges.describe_range(heights, format_height)
    return f"from {middles[0]} to {middles[-1]}, {range_text}, highest at {top}, lowest at {bottom}"


def describe_error_bars(container: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a line with error bars."""
    label = label_of(container)
    line = describe_line(container.lines[0], axes, options) if container.lines[0] is not None else None
    if line is None:
        return Series(format_series("error bars", label))
    return line._replace(what=format_series("line with error bars", label, f"{len(line.shape):,} points"), label=label)


class Boxes(tuple[Any, ...]):
    """All lines of box plots: for each the box itself, two whiskers, two caps, the median, and the outliers."""


def find_box_plots(lines: list[Any]) -> Boxes:
    """Return the lines that belong to box plots; none where there is no box plot."""
    lines = [line for line in lines if mro(line)[0] == "Line2D"][:_MAX_BARS]
    shapes = [line.get_xydata() for line in lines]
    starts = [index for index, shape in enumerate(shapes) if len(shape) == 5 and (shape[0] == shape[-1]).all()]
    starts = [index for index in starts if [len(shape) for shape in shapes[index + 1 : index + 6]] == [2] * 5]
    return Boxes(line for index in starts for line in lines[index : index + 7])


def describe_box_plots(lines: Boxes, axes: Any, options: SummaryOptions) -> Series:
    """Describe the first few box plots."""
    plots = [[line.get_xydata() for line in lines[index : index + 7]] for index in range(0, len(lines), 7)]
    description = [_describe_box_plot(shapes, axis_formatter(axes.xaxis, 0.45)) for shapes in plots[:_MAX_LISTED]]
    more = f"; {len(plots) - _MAX_LISTED:,} more" if len(plots) > _MAX_LISTED else ""
    return Series(f"box plots: {len(plots):,}", "; ".join(description) + more)


def _describe_box_plot(shapes: list[Any], format_value: FormatNumber) -> str:
    (low, high), whisker_ends = (shapes[0][:, 1].min(), shapes[0][:, 1].max()), [shape[:, 1] for shape in shapes[1:3]]
    position, median = float(shapes[0][:, 0].mean()), shapes[5][0, 1]
    whiskers = f"{format_number(min(map(min, whisker_ends)))} to {format_number(max(map(max, whisker_ends)))}"
    outliers = f", {len(shapes[6]):,} outside" if len(shapes) > 6 and len(shapes[6]) else ""
    box = f"median {format_number(median)}, box {format_number(low)} to {format_number(high)}"
    return f"{format_value(position)}: {box}, whiskers {whiskers}{outliers}"
