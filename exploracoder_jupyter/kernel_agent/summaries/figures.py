"""Matplotlib: figures, axes, and the artists that they contain."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries import arrays
from exploracoder_jupyter.kernel_agent.summaries.arrays import FormatNumber, format_number
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list, truncate

# Titles, labels and legend entries of charts. They count as data: an f-string may have put any value into them.

_QUOTED = re.compile(r',? "[^"]*"')


def quote(text: Any, limit: int = 40) -> str:
    """Return a title or label in double quotes, with none within it, so that `strip_quoted` finds its end."""
    return '"' + truncate(str(text), limit).replace('"', "'") + '"'


def strip_quoted(line: str) -> str:
    """Return the line without its quoted parts: `line: 2 points` for `line "north": 2 points`."""
    return _QUOTED.sub("", line)


def caption_fact(line: str) -> Fact:
    """Create a fact whose schema omits the quoted parts."""
    schema = strip_quoted(line)
    return Fact(line, shows=schema != line, schema=schema)


def legend_fact(title: str, labels: list[str], limit: int, indent: str = "") -> Fact:
    """Create a fact with a legend's entries; its schema has only their number."""
    more = f", {len(labels) - limit} more" if len(labels) > limit else ""
    entries = ", ".join(quote(label, 30) for label in labels[:limit])
    heading = f" {quote(title)}" if title else ""
    return Fact(f"{indent}legend{heading}: {entries}{more}", shows=True, schema=f"{indent}legend of {len(labels)}")


# Formats values along Matplotlib axes.

_MAX_LABELS = 2000


def axis_formatter(axis: Any, tolerance: float = 0.0) -> FormatNumber:
    """Return a formatter for values along an axis: dates, and category names for values within `tolerance` of them."""
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    if "Period" in kind:
        return lambda value: str(sys.modules["pandas"].Period(ordinal=int(value), freq=axis.axes.freq))
    if "Date" in kind:
        return _format_date
    names = {position: name for name, position in getattr(axis.units, "_mapping", {}).items()} or _fixed_labels(axis)
    return lambda value: _format_category(names, value, tolerance)


def _format_category(names: dict[float, str], value: float, tolerance: float) -> str:
    if value in names or not (names and tolerance):
        return str(names.get(value, format_number(value)))
    position = min(names, key=lambda position: abs(position - value))
    return str(names[position]) if abs(position - value) <= tolerance else format_number(value)


def _fixed_labels(axis: Any) -> dict[float, str]:
    """Return the labels that the code has set at fixed positions of an axis."""
    locator, formatter = axis.get_major_locator(), axis.get_major_formatter()
    if type(locator).__name__ != "FixedLocator" or type(formatter).__name__ not in ("FuncFormatter", "FixedFormatter"):
        return {}
    positions = list(locator.locs)[:_MAX_LABELS]
    return {position: name for position, name in zip(positions, formatter.format_ticks(positions), strict=True) if name}


def _format_date(value: float) -> str:
    if not -7e5 < value < 2.9e6:
        return format_number(value)
    moment = sys.modules["matplotlib.dates"].num2date(value).replace(tzinfo=None)
    text: str = moment.isoformat(" ", "minutes" if not moment.second else "seconds")
    return text.removesuffix(" 00:00")


def in_data(artist: Any, axes: Any) -> tuple[bool, bool]:
    """Return whether x and y of an artist are in data coordinates rather than axes coordinates."""
    transform = artist.get_transform()
    contains_branch = getattr(transform, "contains_branch_separately", None)
    in_x, in_y = (contains_branch or transform.contains_branch_seperately)(axes.transData)  # old spelling
    return bool(in_x), bool(in_y)


# Describes the lines, points, bars, pies, images and texts in Matplotlib axes. They are read, never drawn.
#
# Any other artist is described by its type and label alone.

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
            sample = arrays.thin(points, options.sample)
            data = arrays.describe_curve(sample[:, 0], sample[:, 1], format_x, format_y)
            data += f" [of {len(sample):,} points]" if len(sample) < len(points) else ""
        return Series(format_series(form, label, f"{len(points):,} points"), data)
    if in_y:
        return Series(format_series("horizontal line", label), f"at y = {format_y(points[0, 1])}")
    return Series(format_series("vertical line", label), f"at x = {format_x(points[0, 0])}") if in_x else None


def describe_points(points: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe scattered points."""
    offsets = points.get_offsets()
    sample = sys.modules["numpy"].ma.filled(arrays.thin(offsets, options.sample).astype(float), float("nan"))
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    x_range = arrays.describe_range(sample[:, 0], format_x)
    data = f"x {x_range}; y {arrays.describe_range(sample[:, 1], format_y)}"
    if len(sample) <= _MAX_LISTED_POINTS:
        data = arrays.describe_curve(sample[:, 0], sample[:, 1], format_x, format_y)
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
        data = f"from {middles[0]} to {middles[-1]}, {arrays.describe_range(heights, format_height)}"
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
    values = arrays.to_floats(arrays.thin(pixels.reshape(-1), options.sample))
    size = f"{' x '.join(map(str, pixels.shape))} {pixels.dtype}"
    return Series(format_series("image", label_of(image), size), f"values {arrays.describe_range(values)}")


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


# Matplotlib: figures, axes, and the artists that they contain.
#
# Nothing is drawn, and limits are not queried: both would fix values that the code may still change.

_MAX_SERIES = 10
_MAX_AXES = 12
_MAX_CATEGORIES = 8

_DESCRIBERS: dict[str, Callable[[Any, Any, SummaryOptions], Series | None]] = {
    "AxesImage": describe_image,
    "BarContainer": describe_bars,
    "Collection": describe_artist,
    "ErrorbarContainer": describe_error_bars,
    "Line2D": describe_line,
    "Line3D": describe_artist,
    "Patch": describe_artist,
    "Path3DCollection": describe_artist,
    "PathCollection": describe_points,
    "QuadMesh": describe_image,
    "Text": describe_note,
}


def _describe_figure(figure: Any, options: SummaryOptions) -> Iterator[Fact]:
    all_axes = list(figure.axes)
    suptitle = getattr(figure, "get_suptitle", str)()
    title = f" {quote(suptitle)}" if suptitle else ""
    inches = [format_number(side) for side in figure.get_size_inches().tolist()] if "Figure" in mro(figure) else []
    yield caption_fact(f"{len(all_axes) or 'no'} axes{title}" + (f", {' x '.join(inches)} inches" if inches else ""))
    for axes in all_axes[:_MAX_AXES]:
        yield from _axes_facts(axes, all_axes, options)
    if len(all_axes) > _MAX_AXES:
        yield Fact(f"{len(all_axes) - _MAX_AXES:,} more axes")
    yield from map(_legend_fact, figure.legends)


def _describe_axes(axes: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _axes_facts(axes, list(axes.figure.axes) if axes.figure is not None else [axes], options)


def _describe_content(axes: Any, options: SummaryOptions) -> tuple[list[Series], list[Any]]:
    """Describe the first artists of the axes; return these series, and the artists and containers without one."""
    containers = [one for one in axes.containers if {"BarContainer", "ErrorbarContainer"} & {*mro(one)}]
    wedges = _pie_wedges(axes)
    grouped = {id(artist) for container in containers for artist in container.get_children()}
    grouped |= {id(artist) for artist in wedges}
    series_list = [describe_pie(wedges)] if wedges else []
    other_artists: list[Any] = [*axes.tables, *axes.artists, *axes.child_axes]
    artists = [*axes.images, *axes.lines, *axes.collections, *axes.patches, *([] if wedges else axes.texts)]
    for artist in [*containers, *(artist for artist in artists if id(artist) not in grouped)]:
        is_full = len(series_list) >= _MAX_SERIES or options.out_of_time
        series = None if is_full else _describe_series(artist, axes, options)
        series_list += [series] if series else []
        other_artists += [] if series else [artist]
    return series_list, other_artists


def _pie_wedges(axes: Any) -> list[Any]:
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _describe_series(artist: Any, axes: Any, options: SummaryOptions) -> Series | None:
    describe = next((_DESCRIBERS[name] for name in mro(artist) if name in _DESCRIBERS), None)
    try:
        return describe(artist, axes, options) if describe else None
    except Exception:  # a third-party or half-initialized artist: the rest of the figure is still described
        return Series(type(artist).__name__)


def _axes_facts(axes: Any, all_axes: list[Any], options: SummaryOptions) -> Iterator[Fact]:
    name = f"axes {all_axes.index(axes) + 1}" if axes in all_axes and len(all_axes) > 1 else "axes"
    if getattr(axes, "_colorbar", None) is not None:
        yield _color_bar_fact(name, axes, all_axes)
        return
    series_list, other_artists = _describe_content(axes, options)
    header = _axes_header(name, axes, all_axes) + ("" if series_list or other_artists else ", empty")
    has_bars = any("bars" in series.what for series in series_list)
    yield Fact(header + _limits_note(axes, has_bars), shows=True, schema=strip_quoted(header))
    yield from (series.fact("  ") for series in series_list)
    counts = Counter(type(artist).__name__ for artist in other_artists)
    if counts:
        yield Fact("  not described: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common(6)))
    legend = axes.get_legend()
    if legend is not None:
        yield _legend_fact(legend)


def _axes_header(name: str, axes: Any, all_axes: list[Any]) -> str:
    parts = [name + (f" {quote(axes.get_title())}" if axes.get_title() else "")]
    parts += [axes.name] if axes.name != "rectilinear" else []
    for side in axes._axis_names:
        axis = getattr(axes, f"{side}axis")
        label, scale = axis.get_label_text(), axis.get_scale()
        words = [quote(label)] if label else []
        words += [f"({scale})"] if scale != "linear" else []
        parts += [" ".join((side, *words))] if words else []
    for other in all_axes[: all_axes.index(axes)] if axes in all_axes else []:
        if axes._twinned_axes.joined(axes, other):
            parts.append(f"twin of axes {all_axes.index(other) + 1}")
    return ", ".join(parts)


def _limits_note(axes: Any, has_bars: bool) -> str:
    """Describe limits set by the code, inverted axes, and the categories along an axis, unless bars name them.

    Limits are not read by `get_xlim`, which would set them.
    """
    notes = []
    for position, side in enumerate("xy" if axes.name == "rectilinear" and not _pie_wedges(axes) else ""):
        axis = getattr(axes, f"{side}axis")
        names = list(getattr(axis.units, "_mapping", ()))
        if names and not has_bars:
            more = f", {len(names) - _MAX_CATEGORIES} more" if len(names) > _MAX_CATEGORIES else ""
            notes.append(f"; {side} has {', '.join(map(str, names[:_MAX_CATEGORIES]))}{more}")
        if not getattr(axes, f"get_autoscale{side}_on")() and not axes.images:
            low, high = map(axis_formatter(axis), axes._viewLim.get_points()[:, position].tolist())
            notes.append(f"; {side} set to {low} to {high}")
        elif axis.get_inverted() and not axes.images:
            notes.append(f"; {side} runs backwards")
    return "".join(notes)


def _color_bar_fact(name: str, axes: Any, all_axes: list[Any]) -> Fact:
    bar = axes._colorbar
    label = axes.get_ylabel() or axes.get_xlabel() or axes.get_title()
    owner = getattr(bar.mappable, "axes", None)
    owner_note = f" of axes {all_axes.index(owner) + 1}" if owner in all_axes else ""
    description = f"{name}: colour bar{owner_note}" + (f" {quote(label)}" if label else "") + f", {bar.cmap.name}"
    low, high = bar.mappable.get_clim()
    ends = f", {format_number(low)} to {format_number(high)}" if low is not None and high is not None else ""
    return Fact(description + ends, shows=True, schema=strip_quoted(description))


def _legend_fact(legend: Any, indent: str = "  ") -> Fact:
    labels = [text.get_text() for text in legend.get_texts()]
    return legend_fact(legend.get_title().get_text(), labels, _MAX_SERIES, indent)


def _describe_artist(artist: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe one artist or container, and the axes that it is in."""
    member = artist.get_children()[0] if "Container" in mro(artist) else artist
    axes = getattr(member, "axes", None)
    series = _describe_series(artist, axes, options) if axes is not None else None
    if series is None:
        title = axes.get_title() if axes is not None else ""
        yield caption_fact("in no axes" if axes is None else f"in axes {quote(title)}" if title else "in axes")
        return
    yield series.fact()


def _measure_figure(figure: Any) -> str:
    return f"{len(figure.axes)} axes, {sum(len(axes.get_children()) for axes in figure.axes):,} artists"


def _measure_axes(axes: Any) -> str:
    return f"{len(axes.get_children()):,} artists"


FAMILY = TypeFamily(
    {
        "matplotlib.FigureBase": _describe_figure,
        "matplotlib._AxesBase": _describe_axes,
        "mpl_toolkits.Axes3D": _describe_axes,
        "matplotlib.Legend": lambda legend, options: iter([_legend_fact(legend, indent="")]),
        "matplotlib.Artist": _describe_artist,
        "matplotlib.Container": _describe_artist,
        "seaborn._BaseGrid": lambda grid, options: _describe_figure(grid.figure, options),
    },
    measures={
        "matplotlib.FigureBase": _measure_figure,
        "matplotlib._AxesBase": _measure_axes,
        "mpl_toolkits.Axes3D": _measure_axes,
    },
    max_length=1_500,
)
