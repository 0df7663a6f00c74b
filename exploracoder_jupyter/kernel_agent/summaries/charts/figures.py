"""Matplotlib: figures, axes, and the artists that they contain.

Nothing is drawn, and limits are not queried: both would fix values that the code may still change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import format_number
from exploracoder_jupyter.kernel_agent.summaries.charts import axes_series
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series, mro
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import caption_fact, legend_fact, quote, strip_quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_SERIES = 10
_MAX_AXES = 12
_MAX_CATEGORIES = 8

_DESCRIBERS: dict[str, Callable[[Any, Any, SummaryOptions], Series | None]] = {
    "AxesImage": axes_series.describe_image,
    "BarContainer": axes_series.describe_bars,
    "Collection": axes_series.describe_artist,
    "ErrorbarContainer": axes_series.describe_error_bars,
    "Line2D": axes_series.describe_line,
    "Line3D": axes_series.describe_artist,
    "Patch": axes_series.describe_artist,
    "Path3DCollection": axes_series.describe_artist,
    "PathCollection": axes_series.describe_points,
    "QuadMesh": axes_series.describe_image,
    "Text": axes_series.describe_note,
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
    series_list = [axes_series.describe_pie(wedges)] if wedges else []
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
