"""Matplotlib: figures, axes, and what axes hold.

Nothing is drawn, and limits are not asked for: both would settle what the code may still change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from exploracoder_jupyter.inside.summaries import areas
from exploracoder_jupyter.inside.summaries import series as curves
from exploracoder_jupyter.inside.summaries.facts import Fact, Family, Look
from exploracoder_jupyter.inside.summaries.scales import axis_teller, limits
from exploracoder_jupyter.inside.summaries.series import Series, mro, quoted
from exploracoder_jupyter.inside.summaries.sketch import sketch
from exploracoder_jupyter.inside.summaries.spans import number

_MOST_SERIES = 10
_MOST_AXES = 12
_CATEGORIES = 8

_KINDS: dict[str, Callable[[Any, Any, Look], Series | None]] = {
    "AxesImage": areas.image,
    "BarContainer": curves.bars,
    "Boxes": curves.boxes,
    "ContourSet": areas.contour,
    "ErrorbarContainer": curves.errors,
    "Line2D": curves.curve,
    "Line3D": curves.curve_3d,
    "LineCollection": areas.segments,
    "Patch": areas.patch,
    "Path3DCollection": curves.points_3d,
    "PathCollection": areas.scatter,
    "Pie": areas.pie,
    "PolyCollection": areas.polygons,
    "QuadMesh": areas.mesh,
    "Quiver": areas.arrows,
    "Rectangle": areas.rectangle,
    "StepPatch": areas.steps,
    "Text": areas.note,
}


def _figure(figure: Any, look: Look) -> Iterator[Fact]:
    plots = list(figure.axes)
    width, height = figure.get_size_inches().tolist()
    title = f" {quoted(figure.get_suptitle())}" if figure.get_suptitle() else ""
    yield Fact(f"{len(plots) or 'no'} axes{title}, {number(width)} x {number(height)} inches")
    shown = [_shown(axes, look) for axes in plots[:_MOST_AXES]]
    for index, axes in enumerate(plots[:_MOST_AXES]):
        yield from _one(axes, shown[index], plots, look)
    if len(plots) > _MOST_AXES:
        yield Fact(f"{len(plots) - _MOST_AXES:,} more axes")
    yield from (_legend(legend) for legend in figure.legends)
    yield from _sketched(list(zip(plots, shown, strict=False)))


def _axes(axes: Any, look: Look) -> Iterator[Fact]:
    shown = _shown(axes, look)
    yield from _one(axes, shown, list(axes.get_figure(root=True).axes) if axes.get_figure() else [axes], look)
    yield from _sketched([(axes, shown)])


def _sketched(plots: list[tuple[Any, list[Series]]]) -> Iterator[Fact]:
    text = sketch(plots)
    if text:
        yield Fact(text, shows=True)


def _shown(axes: Any, look: Look) -> list[Series]:
    """What the axes show, the first ones; a broken artist shows nothing."""
    found: list[Series] = []
    for artist in _drawn(axes):
        if len(found) >= _MOST_SERIES or look.late:
            break
        told = _series(artist, axes, look)
        found += [told] if told else []
    return found


def _drawn(axes: Any) -> Iterator[Any]:
    """Containers and artists of the axes, without what belongs to a container that is told as one."""
    held: set[int] = set()
    for container in axes.containers:
        if {"BarContainer", "ErrorbarContainer"} & {*mro(container)}:
            held |= {id(artist) for artist in container.get_children()}
            yield container
    for group in (curves.boxes_of(list(axes.lines)), areas.Pie(p for p in axes.patches if "Wedge" in mro(p))):
        held |= {id(artist) for artist in group}
        yield from [group] if group else []
    texts = [] if any("Wedge" in mro(p) for p in axes.patches) else axes.texts
    for artists in (axes.images, axes.lines, axes.collections, axes.patches, texts):
        yield from (artist for artist in artists if id(artist) not in held)


def _series(artist: Any, axes: Any, look: Look) -> Series | None:
    describe = next((_KINDS[name] for name in mro(artist) if name in _KINDS), None)
    try:
        return describe(artist, axes, look) if describe else None
    except Exception:  # an artist of others, or half built: the rest of the figure is told all the same
        return Series(type(artist).__name__)


def _one(axes: Any, shown: list[Series], plots: list[Any], look: Look) -> Iterator[Fact]:
    name = f"axes {plots.index(axes) + 1}" if axes in plots and len(plots) > 1 else "axes"
    if getattr(axes, "_colorbar", None) is not None:
        yield from _colour_bar(name, axes, plots)
        return
    plain, limited = _head(name, axes, plots), _limited(axes, shown)
    empty = "" if any(True for _ in _drawn(axes)) else ", empty"
    yield Fact(plain + empty + limited, shows=bool(limited), schema=plain + empty)
    for one in shown:
        yield Fact(f"  {one.text}", shows=bool(one.data), schema=f"  {one.what}")
    yield from _untold(axes, shown)
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
    pie = any("Wedge" in mro(patch) for patch in axes.patches)
    for side in "xy" if axes.name == "rectilinear" and not pie else "":
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
    yield Fact(what + (f", {number(low)} to {number(high)}" if known else ""), shows=known, schema=what)


def _legend(legend: Any) -> Fact:
    title = legend.get_title().get_text()
    entries = ", ".join(quoted(text.get_text(), 30) for text in legend.get_texts()[:_MOST_SERIES])
    more = len(legend.get_texts()) - _MOST_SERIES
    return Fact(
        "  legend" + (f" {quoted(title)}" if title else "") + f": {entries}" + (f", {more} more" if more > 0 else "")
    )


def _untold(axes: Any, shown: list[Series]) -> Iterator[Fact]:
    kinds = [type(artist).__name__ for artist in _drawn(axes) if any(name in _KINDS for name in mro(artist))]
    others = [type(artist).__name__ for artist in (*axes.tables, *axes.artists, *axes.child_axes)]
    rest = Counter([*kinds[len(shown) :], *others]) if len(shown) < len(kinds) or others else Counter[str]()
    if rest:
        yield Fact("  not told: " + ", ".join(f"{count:,} {kind}" for kind, count in rest.most_common(6)))


def _artist(artist: Any, look: Look) -> Iterator[Fact]:
    """One artist or container, in the axes it is in."""
    inner = artist.get_children()[0] if "Container" in mro(artist) else artist
    axes = getattr(inner, "axes", None)
    told = _series(artist, axes, look) if axes is not None else None
    if told is None:
        yield Fact(
            "in no axes" if axes is None else f"in axes {quoted(axes.get_title())}" if axes.get_title() else "in axes"
        )
        return
    yield Fact(told.text, shows=bool(told.data), schema=told.what)
    if told.form:
        yield from _sketched([(axes, [told])])


def _entries(legend: Any, look: Look) -> Iterator[Fact]:
    yield Fact(_legend(legend).text.strip())


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
)
