"""What lines and bars in Matplotlib's axes show. They are read, never drawn."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import Tell, number
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_teller, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import bare, quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Look, cut

_MOST_BARS = 2000
_FEW_BARS = 8


class Series(NamedTuple):
    """What one artist, or several that belong together, show."""

    what: str
    """Kind, label and number of points: `line "north": 21 points`."""
    data: str = ""
    """Ranges and values."""
    form: str = ""
    """How it is sketched: `line`, `points`, `bars`, `image`, `text`."""
    shape: Any = None
    """Rows of what is sketched, in data coordinates: x, y; of bars and images x, y, width, height."""
    label: str = ""
    pixels: Any = None
    """Of an image."""

    @property
    def text(self) -> str:
        """All of it on a line."""
        return f"{self.what}{'; ' if ': ' in self.what else ': '}{self.data}" if self.data else self.what

    @property
    def schema(self) -> str:
        """Kind and number of points."""
        return bare(self.what)


def mro(artist: Any) -> list[str]:
    """Names of the classes that a value is of, the nearest first."""
    return [cls.__qualname__ for cls in type(artist).__mro__]


def label_of(artist: Any) -> str:
    """The label that the code gave an artist; empty if none."""
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def named(kind: str, label: str, rest: str = "") -> str:
    """`line "north": 21 points`."""
    return kind + (f" {quoted(label)}" if label else "") + (f": {rest}" if rest else "")


def _course(points: Any, axes: Any, look: Look) -> str:
    few = number_ranges.thin(points, look.sample)
    told = number_ranges.course(few[:, 0], few[:, 1], axis_teller(axes.xaxis), axis_teller(axes.yaxis))
    return told + ("" if len(few) == len(points) else f" [of {len(few):,} points]")


def curve(line: Any, axes: Any, look: Look) -> Series | None:
    """A line with markers or without; one across the axes; None in coordinates of its own."""
    points, label = line.get_xydata(), label_of(line)
    in_x, in_y = in_data(line, axes)
    if in_x and in_y:
        form = "points" if line.get_linestyle() in ("None", "", " ") else "line"
        data = _course(points, axes, look) if len(points) else ""
        return Series(named(form, label, f"{len(points):,} points"), data, form, points, label)
    if in_y:
        return Series(named("horizontal line", label), f"at y = {axis_teller(axes.yaxis)(points[0, 1])}")
    return Series(named("vertical line", label), f"at x = {axis_teller(axes.xaxis)(points[0, 0])}") if in_x else None


def curve_3d(line: Any, axes: Any, look: Look) -> Series:
    """A line in space."""
    return _solid("3-D line", line, line.get_data_3d(), look)


def points_3d(points: Any, axes: Any, look: Look) -> Series:
    """Points in space."""
    return _solid("3-D points", points, points._offsets3d, look)


def _solid(kind: str, artist: Any, xyz: Any, look: Look) -> Series:
    told = [
        f"{name} {number_ranges.span(number_ranges.floats(number_ranges.thin(v, look.sample)))}"
        for name, v in zip("xyz", xyz, strict=True)
    ]
    return Series(named(kind, label_of(artist), f"{len(xyz[0]):,} points"), "; ".join(told))


def bars(container: Any, axes: Any, look: Look) -> Series:
    """Bars, or the bins of a histogram, that were made by one call."""
    patches = container.patches[:_MOST_BARS]
    flat = container.orientation == "horizontal"
    shape = sys.modules["numpy"].array([box(p) for p in patches], dtype=float).reshape(-1, 4)
    place, wide, high = (1, 3, 2) if flat else (0, 2, 3)
    starts, ends, heights = shape[:, place], shape[:, place] + shape[:, wide], shape[:, high]
    along, up = (axes.yaxis, axes.xaxis) if flat else (axes.xaxis, axes.yaxis)
    joined = len(patches) > 2 and bool((abs(ends[:-1] - starts[1:]) <= 1e-6 * abs(shape[:-1, wide])).all())
    told = (bins if joined else _columns)(starts, ends, heights, axis_teller(along, 0.45), axis_teller(up))
    kind = ("horizontal " if flat else "") + ("bars side by side (as of a histogram)" if joined else "bars")
    label = label_of(container) or next(map(label_of, patches), "")  # a histogram's is on its first bar
    return Series(named(kind, label, f"{len(container.patches):,}"), told, "bars", shape, label)


def box(patch: Any) -> tuple[float, float, float, float]:
    """Left, bottom, width and height."""
    return patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()


def bins(starts: Any, ends: Any, heights: Any, tell: Tell, tell_up: Tell) -> str:
    """Where bins that touch lie, and how high they are."""
    if not len(number_ranges.finite(heights)):
        return "no finite heights"
    top = int(sys.modules["numpy"].nanargmax(heights))
    highest = f"highest at {tell(starts[top])} to {tell(ends[top])}"
    return f"from {tell(starts[0])} to {tell(ends[-1])}, heights {number_ranges.span(heights, tell_up)}, {highest}"


def _columns(starts: Any, ends: Any, heights: Any, tell: Tell, tell_up: Tell) -> str:
    middles = [tell(float(round(value, 9))) for value in ((starts + ends) / 2).tolist()]
    if len(middles) <= _FEW_BARS:
        return ", ".join(f"{cut(at, 20)} = {tell_up(high)}" for at, high in zip(middles, heights.tolist(), strict=True))
    if not len(number_ranges.finite(heights)):
        return "no finite heights"
    np = sys.modules["numpy"]
    top, bottom = middles[int(np.nanargmax(heights))], middles[int(np.nanargmin(heights))]
    range_text = number_ranges.span(heights, tell_up)
    return f"from {middles[0]} to {middles[-1]}, {range_text}, highest at {top}, lowest at {bottom}"


def errors(container: Any, axes: Any, look: Look) -> Series | None:
    """A line with error bars."""
    label = label_of(container)
    told = curve(container.lines[0], axes, look) if container.lines[0] is not None else None
    if told is None:
        return Series(named("error bars", label))
    return told._replace(what=named("line with error bars", label, f"{len(told.shape):,} points"), label=label)


class Boxes(tuple[Any, ...]):
    """All lines of a box plot: of each box itself, two whiskers, two caps, the median, and the points outside."""


def boxes_of(lines: list[Any]) -> Boxes:
    """The lines that belong to box plots; none where there is no box plot."""
    lines = [line for line in lines if mro(line)[0] == "Line2D"][:_MOST_BARS]
    shapes = [line.get_xydata() for line in lines]
    starts = [at for at, shape in enumerate(shapes) if len(shape) == 5 and (shape[0] == shape[-1]).all()]
    starts = [at for at in starts if [len(shape) for shape in shapes[at + 1 : at + 6]] == [2] * 5]
    return Boxes(line for at in starts for line in lines[at : at + 7])


def boxes(lines: Boxes, axes: Any, look: Look) -> Series:
    """Box plots, of which the first few are told."""
    each = [[line.get_xydata() for line in lines[at : at + 7]] for at in range(0, len(lines), 7)]
    told = [_box_plot(shapes, axis_teller(axes.xaxis, 0.45)) for shapes in each[:_FEW_BARS]]
    more = f"; {len(each) - _FEW_BARS:,} more" if len(each) > _FEW_BARS else ""
    return Series(f"box plots: {len(each):,}", "; ".join(told) + more)


def _box_plot(shapes: list[Any], tell: Tell) -> str:
    (low, high), ends = (shapes[0][:, 1].min(), shapes[0][:, 1].max()), [shape[:, 1] for shape in shapes[1:3]]
    place, median = float(shapes[0][:, 0].mean()), shapes[5][0, 1]
    whiskers = f"{number(min(map(min, ends)))} to {number(max(map(max, ends)))}"
    outside = f", {len(shapes[6]):,} outside" if len(shapes) > 6 and len(shapes[6]) else ""
    return f"{tell(place)}: median {number(median)}, box {number(low)} to {number(high)}, whiskers {whiskers}{outside}"
