"""Matplotlib: figures, axes, and the artists that they contain.

Nothing is drawn, and limits are not queried: both would fix values that the code may still change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import format_number
from exploracoder_jupyter.kernel_agent.summaries.charts import axes_areas
from exploracoder_jupyter.kernel_agent.summaries.charts import axes_series as curves
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series, mro
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter, limits
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import caption_fact, legend_fact, quote, strip_quoted
from exploracoder_jupyter.kernel_agent.summaries.charts.figure_sketch import sketch
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_SERIES = 10
_MAX_AXES = 12
_MAX_CATEGORIES = 8

_DESCRIBERS: dict[str, Callable[[Any, Any, SummaryOptions], Series | None]] = {
    "AxesImage": axes_areas.describe_image,
    "BarContainer": curves.describe_bars,
    "Boxes": curves.describe_box_plots,
    "ContourSet": axes_areas.describe_contours,
    "ErrorbarContainer": curves.describe_error_bars,
    "Line2D": curves.describe_line,
    "Line3D": curves.describe_line_3d,
    "LineCollection": axes_areas.describe_segments,
    "Patch": axes_areas.describe_patch,
    "Path3DCollection": curves.describe_points_3d,
    "PathCollection": axes_areas.describe_scatter,
    "Pie": axes_areas.describe_pie,
    "PolyCollection": axes_areas.describe_polygons,
    "QuadMesh": axes_areas.describe_mesh,
    "Quiver": axes_areas.describe_arrows,
    "Rectangle": axes_areas.describe_rectangle,
    "StepPatch": axes_areas.describe_steps,
    "Text": axes_areas.describe_note,
}


class _AxesContent(NamedTuple):
    """What axes show: a series for each of their first artists, and the artists and containers without one."""

    axes: Any
    series: list[Series]
    other_artists: list[Any]


def _describe_figure(figure: Any, options: SummaryOptions) -> Iterator[Fact]:
    all_axes = list(figure.axes)
    suptitle = getattr(figure, "get_suptitle", str)()
    title = f" {quote(suptitle)}" if suptitle else ""
    inches = [format_number(side) for side in figure.get_size_inches().tolist()] if "Figure" in mro(figure) else []
    yield caption_fact(f"{len(all_axes) or 'no'} axes{title}" + (f", {' x '.join(inches)} inches" if inches else ""))
    contents = [_axes_content(axes, options) for axes in all_axes[:_MAX_AXES]]
    for content in contents:
        yield from _axes_facts(content, all_axes)
    if len(all_axes) > _MAX_AXES:
        yield Fact(f"{len(all_axes) - _MAX_AXES:,} more axes")
    yield from map(_legend_fact, figure.legends)
    yield from _sketch_fact([(content.axes, content.series) for content in contents])


def _describe_axes(axes: Any, options: SummaryOptions) -> Iterator[Fact]:
    content = _axes_content(axes, options)
    yield from _axes_facts(content, list(axes.figure.axes) if axes.figure is not None else [axes])
    yield from _sketch_fact([(axes, content.series)])


def _sketch_fact(all_axes: list[tuple[Any, list[Series]]]) -> Iterator[Fact]:
    text = sketch(all_axes)
    if text:
        yield Fact(text, shows=True)


def _axes_content(axes: Any, options: SummaryOptions) -> _AxesContent:
    series_list: list[Series] = []
    other_artists: list[Any] = [*axes.tables, *axes.artists, *axes.child_axes]
    for artist in _iter_artists(axes):
        is_full = len(series_list) >= _MAX_SERIES or options.out_of_time
        series = None if is_full else _describe_series(artist, axes, options)
        series_list += [series] if series else []
        other_artists += [] if series else [artist]
    return _AxesContent(axes, series_list, other_artists)


def _find_describer(artist: Any) -> Callable[[Any, Any, SummaryOptions], Series | None] | None:
    return next((_DESCRIBERS[cls.__name__] for cls in type(artist).__mro__ if cls.__name__ in _DESCRIBERS), None)


def _iter_artists(axes: Any) -> Iterator[Any]:
    """Iterate over the containers and artists of the axes, without members of a container that is described as one."""
    handled: set[int] = set()
    for container in axes.containers:
        if {"BarContainer", "ErrorbarContainer"} & {*mro(container)}:
            handled |= {id(artist) for artist in container.get_children()}
            yield container
    pie_slices = axes_areas.Pie(_pie_wedges(axes))
    for group in (curves.find_box_plots(list(axes.lines)), pie_slices):
        handled |= {id(artist) for artist in group}
        yield from [group] if group else []
    for artists in (axes.images, axes.lines, axes.collections, axes.patches, [] if pie_slices else axes.texts):
        yield from (artist for artist in artists if id(artist) not in handled)


def _pie_wedges(axes: Any) -> list[Any]:
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _describe_series(artist: Any, axes: Any, options: SummaryOptions) -> Series | None:
    describe = _find_describer(artist)
    try:
        return describe(artist, axes, options) if describe else None
    except Exception:  # a third-party or half-initialized artist: the rest of the figure is still described
        return Series(type(artist).__name__)


def _axes_facts(content: _AxesContent, all_axes: list[Any]) -> Iterator[Fact]:
    axes = content.axes
    name = f"axes {all_axes.index(axes) + 1}" if axes in all_axes and len(all_axes) > 1 else "axes"
    if getattr(axes, "_colorbar", None) is not None:
        yield from _color_bar_fact(name, axes, all_axes)
        return
    header = _axes_header(name, axes, all_axes) + ("" if content.series or content.other_artists else ", empty")
    yield Fact(header + _limits_note(axes, content.series), shows=True, schema=strip_quoted(header))
    for series in content.series:
        yield Fact(f"  {series.text}", shows=True, schema=f"  {series.schema}")
    yield from _other_artists_fact(content)
    legend = axes.get_legend()
    if legend is not None:
        yield _legend_fact(legend)


def _axes_header(name: str, axes: Any, all_axes: list[Any]) -> str:
    parts = [name + (f" {quote(axes.get_title())}" if axes.get_title() else "")]
    parts += [axes.name] if axes.name != "rectilinear" else []
    parts += [f"{side} {_describe_axis(axes, side)}" for side in axes._axis_names if _describe_axis(axes, side)]
    for other in all_axes[: all_axes.index(axes)] if axes in all_axes else []:
        if axes._twinned_axes.joined(axes, other):
            parts.append(f"twin of axes {all_axes.index(other) + 1}")
    return ", ".join(parts)


def _describe_axis(axes: Any, side: str) -> str:
    """Return the label and scale of an axis; empty if neither is notable."""
    axis = getattr(axes, f"{side}axis")
    label, scale = axis.get_label_text(), axis.get_scale()
    parts = [quote(label)] if label else []
    return " ".join(parts + ([f"({scale})"] if scale != "linear" else []))


def _limits_note(axes: Any, series_list: list[Series]) -> str:
    """Describe limits set by the code, inverted axes, and the categories along an axis."""
    notes = []
    for side in "xy" if axes.name == "rectilinear" and not _pie_wedges(axes) else "":
        axis = getattr(axes, f"{side}axis")
        format_value, (low, high) = axis_formatter(axis), limits(axes, side)
        names = list(getattr(axis.units, "_mapping", ()))
        if names and not any(series.form == "bars" for series in series_list):
            more = f", {len(names) - _MAX_CATEGORIES} more" if len(names) > _MAX_CATEGORIES else ""
            notes.append(f"{side} has {', '.join(map(str, names[:_MAX_CATEGORIES]))}{more}")
        if not getattr(axes, f"get_autoscale{side}_on")() and not axes.images:
            notes.append(f"{side} set to {format_value(low)} to {format_value(high)}")
        elif axis.get_inverted() and not axes.images:
            notes.append(f"{side} runs backwards")
    return "".join(f"; {note_text}" for note_text in notes)


def _color_bar_fact(name: str, axes: Any, all_axes: list[Any]) -> Iterator[Fact]:
    bar = axes._colorbar
    label = axes.get_ylabel() or axes.get_xlabel() or axes.get_title()
    owner = getattr(bar.mappable, "axes", None)
    owner_note = f" of axes {all_axes.index(owner) + 1}" if owner in all_axes else ""
    description = f"{name}: colour bar{owner_note}" + (f" {quote(label)}" if label else "") + f", {bar.cmap.name}"
    low, high = bar.mappable.get_clim()
    has_limits = low is not None and high is not None
    yield Fact(
        description + (f", {format_number(low)} to {format_number(high)}" if has_limits else ""),
        shows=True,
        schema=strip_quoted(description),
    )


def _legend_fact(legend: Any, indent: str = "  ") -> Fact:
    labels = [text.get_text() for text in legend.get_texts()]
    return legend_fact(legend.get_title().get_text(), labels, _MAX_SERIES, indent)


def _other_artists_fact(content: _AxesContent) -> Iterator[Fact]:
    counts = Counter(type(artist).__name__ for artist in content.other_artists)
    if counts:
        yield Fact("  not described: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common(6)))


def _describe_artist(artist: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe one artist or container, and the axes that it is in."""
    member = artist.get_children()[0] if "Container" in mro(artist) else artist
    axes = getattr(member, "axes", None)
    series = _describe_series(artist, axes, options) if axes is not None else None
    if series is None:
        title = axes.get_title() if axes is not None else ""
        yield caption_fact("in no axes" if axes is None else f"in axes {quote(title)}" if title else "in axes")
        return
    yield Fact(series.text, shows=True, schema=series.schema)
    if series.form:
        yield from _sketch_fact([(axes, [series])])


def _describe_legend(legend: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield _legend_fact(legend, indent="")


def _describe_grid(grid: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a seaborn grid, which contains a figure."""
    yield from _describe_figure(grid.figure, options)


def _measure_figure(figure: Any) -> str:
    return f"{len(figure.axes)} axes, {sum(len(axes.get_children()) for axes in figure.axes):,} artists"


def _measure_axes(axes: Any) -> str:
    return f"{len(axes.get_children()):,} artists"


FAMILY = TypeFamily(
    {
        "matplotlib.FigureBase": _describe_figure,
        "matplotlib._AxesBase": _describe_axes,
        "mpl_toolkits.Axes3D": _describe_axes,
        "matplotlib.Legend": _describe_legend,
        "matplotlib.Artist": _describe_artist,
        "matplotlib.Container": _describe_artist,
        "seaborn._BaseGrid": _describe_grid,
    },
    measures={
        "matplotlib.FigureBase": _measure_figure,
        "matplotlib._AxesBase": _measure_axes,
        "mpl_toolkits.Axes3D": _measure_axes,
    },
    max_length=1_500,
)
