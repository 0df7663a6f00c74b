"""Matplotlib: figures, axes, and what axes hold.

Nothing is drawn, and limits are not asked for: both would settle what the code may still change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import number
from exploracoder_jupyter.kernel_agent.summaries.charts import axes_areas
from exploracoder_jupyter.kernel_agent.summaries.charts import axes_series as curves
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series, mro
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_teller, limits
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import bare, captioned, entries, quoted
from exploracoder_jupyter.kernel_agent.summaries.charts.figure_sketch import sketch
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look

_MOST_SERIES = 10
_MOST_AXES = 12
_CATEGORIES = 8

_KINDS: dict[str, Callable[[Any, Any, Look], Series | None]] = {
    "AxesImage": axes_areas.image,
    "BarContainer": curves.bars,
    "Boxes": curves.boxes,
    "ContourSet": axes_areas.contour,
    "ErrorbarContainer": curves.errors,
    "Line2D": curves.curve,
    "Line3D": curves.curve_3d,
    "LineCollection": axes_areas.segments,
    "Patch": axes_areas.patch,
    "Path3DCollection": curves.points_3d,
    "PathCollection": axes_areas.scatter,
    "Pie": axes_areas.pie,
    "PolyCollection": axes_areas.polygons,
    "QuadMesh": axes_areas.mesh,
    "Quiver": axes_areas.arrows,
    "Rectangle": axes_areas.rectangle,
    "StepPatch": axes_areas.steps,
    "Text": axes_areas.note,
}


class _Shown(NamedTuple):
    """What axes show: the first ones of their artists as series, and artists and containers that are not among them."""

    axes: Any
    series: list[Series]
    rest: list[Any]


def _figure(figure: Any, look: Look) -> Iterator[Fact]:
    plots = list(figure.axes)
    words = getattr(figure, "get_suptitle", str)()
    title = f" {quoted(words)}" if words else ""
    inches = [number(side) for side in figure.get_size_inches().tolist()] if "Figure" in mro(figure) else []
    yield captioned(f"{len(plots) or 'no'} axes{title}" + (f", {' x '.join(inches)} inches" if inches else ""))
    shown = [_shown(axes, look) for axes in plots[:_MOST_AXES]]
    for one in shown:
        yield from _one(one, plots)
    if len(plots) > _MOST_AXES:
        yield Fact(f"{len(plots) - _MOST_AXES:,} more axes")
    yield from map(_legend, figure.legends)
    yield from _sketched([(one.axes, one.series) for one in shown])


def _axes(axes: Any, look: Look) -> Iterator[Fact]:
    shown = _shown(axes, look)
    yield from _one(shown, list(axes.figure.axes) if axes.figure is not None else [axes])
    yield from _sketched([(axes, shown.series)])


def _sketched(plots: list[tuple[Any, list[Series]]]) -> Iterator[Fact]:
    text = sketch(plots)
    if text:
        yield Fact(text, shows=True)


def _shown(axes: Any, look: Look) -> _Shown:
    found: list[Series] = []
    rest: list[Any] = [*axes.tables, *axes.artists, *axes.child_axes]
    for artist in _drawn(axes):
        full = len(found) >= _MOST_SERIES or look.late
        told = None if full else _series(artist, axes, look)
        found += [told] if told else []
        rest += [] if told else [artist]
    return _Shown(axes, found, rest)


def _describer(artist: Any) -> Callable[[Any, Any, Look], Series | None] | None:
    return next((_KINDS[cls.__name__] for cls in type(artist).__mro__ if cls.__name__ in _KINDS), None)


def _drawn(axes: Any) -> Iterator[Any]:
    """Containers and artists of the axes, without what belongs to a container that is told as one."""
    held: set[int] = set()
    for container in axes.containers:
        if {"BarContainer", "ErrorbarContainer"} & {*mro(container)}:
            held |= {id(artist) for artist in container.get_children()}
            yield container
    pie = axes_areas.Pie(_slices(axes))
    for group in (curves.boxes_of(list(axes.lines)), pie):
        held |= {id(artist) for artist in group}
        yield from [group] if group else []
    for artists in (axes.images, axes.lines, axes.collections, axes.patches, [] if pie else axes.texts):
        yield from (artist for artist in artists if id(artist) not in held)


def _slices(axes: Any) -> list[Any]:
    return [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]


def _series(artist: Any, axes: Any, look: Look) -> Series | None:
    describe = _describer(artist)
    try:
        return describe(artist, axes, look) if describe else None
    except Exception:  # an artist of others, or half built: the rest of the figure is told all the same
        return Series(type(artist).__name__)


def _one(shown: _Shown, plots: list[Any]) -> Iterator[Fact]:
    axes = shown.axes
    name = f"axes {plots.index(axes) + 1}" if axes in plots and len(plots) > 1 else "axes"
    if getattr(axes, "_colorbar", None) is not None:
        yield from _colour_bar(name, axes, plots)
        return
    plain = _head(name, axes, plots) + ("" if shown.series or shown.rest else ", empty")
    yield Fact(plain + _limited(axes, shown.series), shows=True, schema=bare(plain))
    for one in shown.series:
        yield Fact(f"  {one.text}", shows=True, schema=f"  {one.schema}")
    yield from _untold(shown)
    legend = axes.get_legend()
    if legend is not None:
        yield _legend(legend)


def _head(name: str, axes: Any, plots: list[Any]) -> str:
    words = [name + (f" {quoted(axes.get_title())}" if axes.get_title() else "")]
    words += [axes.name] if axes.name != "rectilinear" else []
    words += [f"{side} {_axis(axes, side)}" for side in axes._axis_names if _axis(axes, side)]
    for other in plots[: plots.index(axes)] if axes in plots else []:
        if axes._twinned_axes.joined(axes, other):
            words.append(f"twin of axes {plots.index(other) + 1}")
    return ", ".join(words)


def _axis(axes: Any, side: str) -> str:
    """Label and scale of an axis; empty if there is nothing to say."""
    axis = getattr(axes, f"{side}axis")
    label, scale = axis.get_label_text(), axis.get_scale()
    words = [quoted(label)] if label else []
    return " ".join(words + ([f"({scale})"] if scale != "linear" else []))


def _limited(axes: Any, shown: list[Series]) -> str:
    """Limits that the code has set, axes that run backwards, and categories along an axis."""
    words = []
    for side in "xy" if axes.name == "rectilinear" and not _slices(axes) else "":
        axis = getattr(axes, f"{side}axis")
        tell, (low, high) = axis_teller(axis), limits(axes, side)
        names = list(getattr(axis.units, "_mapping", ()))
        if names and not any(one.form == "bars" for one in shown):
            more = f", {len(names) - _CATEGORIES} more" if len(names) > _CATEGORIES else ""
            words.append(f"{side} has {', '.join(map(str, names[:_CATEGORIES]))}{more}")
        if not getattr(axes, f"get_autoscale{side}_on")() and not axes.images:
            words.append(f"{side} set to {tell(low)} to {tell(high)}")
        elif axis.get_inverted() and not axes.images:
            words.append(f"{side} runs backwards")
    return "".join(f"; {word}" for word in words)


def _colour_bar(name: str, axes: Any, plots: list[Any]) -> Iterator[Fact]:
    bar = axes._colorbar
    label = axes.get_ylabel() or axes.get_xlabel() or axes.get_title()
    owner = getattr(bar.mappable, "axes", None)
    of = f" of axes {plots.index(owner) + 1}" if owner in plots else ""
    what = f"{name}: colour bar{of}" + (f" {quoted(label)}" if label else "") + f", {bar.cmap.name}"
    low, high = bar.mappable.get_clim()
    known = low is not None and high is not None
    yield Fact(what + (f", {number(low)} to {number(high)}" if known else ""), shows=True, schema=bare(what))


def _legend(legend: Any, indent: str = "  ") -> Fact:
    labels = [text.get_text() for text in legend.get_texts()]
    return entries(legend.get_title().get_text(), labels, _MOST_SERIES, indent)


def _untold(shown: _Shown) -> Iterator[Fact]:
    rest = Counter(type(one).__name__ for one in shown.rest)
    if rest:
        yield Fact("  not told: " + ", ".join(f"{count:,} {kind}" for kind, count in rest.most_common(6)))


def _artist(artist: Any, look: Look) -> Iterator[Fact]:
    """One artist or container, in the axes it is in."""
    inner = artist.get_children()[0] if "Container" in mro(artist) else artist
    axes = getattr(inner, "axes", None)
    told = _series(artist, axes, look) if axes is not None else None
    if told is None:
        title = axes.get_title() if axes is not None else ""
        yield captioned("in no axes" if axes is None else f"in axes {quoted(title)}" if title else "in axes")
        return
    yield Fact(told.text, shows=True, schema=told.schema)
    if told.form:
        yield from _sketched([(axes, [told])])


def _entries(legend: Any, look: Look) -> Iterator[Fact]:
    yield _legend(legend, indent="")


def _grid(grid: Any, look: Look) -> Iterator[Fact]:
    """A grid of seaborn's, which holds a figure."""
    yield from _figure(grid.figure, look)


def _count(figure: Any) -> str:
    return f"{len(figure.axes)} axes, {sum(len(axes.get_children()) for axes in figure.axes):,} artists"


def _children(axes: Any) -> str:
    return f"{len(axes.get_children()):,} artists"


FAMILY = Family(
    {
        "matplotlib.FigureBase": _figure,
        "matplotlib._AxesBase": _axes,
        "mpl_toolkits.Axes3D": _axes,
        "matplotlib.Legend": _entries,
        "matplotlib.Artist": _artist,
        "matplotlib.Container": _artist,
        "seaborn._BaseGrid": _grid,
    },
    measures={
        "matplotlib.FigureBase": _count,
        "matplotlib._AxesBase": _children,
        "mpl_toolkits.Axes3D": _children,
    },
    most=1_500,
)
