"""What points, images, areas, patches and texts in Matplotlib's axes show. They are read, never drawn."""

from __future__ import annotations

import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import Tell, number
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series, bins, box, label_of, mro, named
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_teller, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import quoted
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Look, cut, listed

_MOST_SLICES = 10


def _colours(mapped: Any) -> str:
    return "" if mapped.get_array() is None else f", coloured by value ({mapped.get_cmap().name})"


def _coloured(mapped: Any, look: Look) -> str:
    values = mapped.get_array()
    if values is None:
        return ""
    few = number_ranges.floats(number_ranges.thin(values.reshape(-1), look.sample))
    return f"; colour {number_ranges.span(few)}{_levels(mapped, few)}"


def _levels(mapped: Any, values: Any) -> str:
    low, high = mapped.get_clim()
    known = number_ranges.finite(values)
    if low is None or high is None or not len(known) or (low <= known.min() and known.max() <= high):
        return ""
    return f", colours end at {number(low)} and {number(high)}"


def image(shown: Any, axes: Any, look: Look) -> Series:
    """An image; of three dimensions, where it has colours of its own."""
    pixels = shown.get_array()
    if pixels is None:
        return Series(named("image", label_of(shown), "empty"))
    left, right, bottom, top = shown.get_extent()
    few = number_ranges.floats(number_ranges.thin(pixels.reshape(-1), look.sample))
    sides = " x ".join(map(str, pixels.shape))
    flat = pixels.ndim == 2
    what = named("image", label_of(shown), f"{sides} {pixels.dtype}" + (f", {shown.get_cmap().name}" if flat else ""))
    box = [[min(left, right), min(bottom, top), abs(right - left), abs(top - bottom)]]
    values = f"values {number_ranges.span(few)}{_levels(shown, few) if flat else ''}"
    return Series(
        what, values, "image", sys.modules["numpy"].array(box), pixels=_upright(shown, pixels) if flat else None
    )


def _upright(image: Any, pixels: Any) -> Any:
    return pixels[::-1] if image.origin == "lower" else pixels


def mesh(cells: Any, axes: Any, look: Look) -> Series:
    """Coloured cells of a grid."""
    shape = " x ".join(map(str, cells.get_array().shape))
    return Series(named("colour mesh", label_of(cells), shape), _coloured(cells, look).removeprefix("; "))


def contour(contours: Any, axes: Any, look: Look) -> Series:
    """Contour lines, or areas between them."""
    kind = "filled contours" if contours.filled else "contour lines"
    return Series(
        named(kind, label_of(contours), f"{len(contours.levels)} levels"),
        f"levels {number_ranges.span(contours.levels)}",
    )


def polygons(shapes: Any, axes: Any, look: Look) -> Series:
    """Areas, of which only the outlines are there."""
    paths, label = shapes.get_paths(), label_of(shapes)
    kind = "filled area" if "FillBetweenPolyCollection" in mro(shapes) else "polygons"
    told = ""
    if paths and "Poly3DCollection" not in mro(shapes):
        told = _extent(shapes.get_datalim(axes.transData), axes)
    return Series(named(kind, label, "" if kind == "filled area" else f"{len(paths):,}"), told)


def _extent(box: Any, axes: Any) -> str:
    if not sys.modules["numpy"].isfinite(box.get_points()).all():
        return ""
    tell_x, tell_y = axis_teller(axes.xaxis), axis_teller(axes.yaxis)
    return f"x {tell_x(box.x0)} to {tell_x(box.x1)}; y {tell_y(box.y0)} to {tell_y(box.y1)}"


def segments(lines: Any, axes: Any, look: Look) -> Series:
    """Straight lines that were made by one call."""
    return Series(named("line segments", label_of(lines), f"{len(lines.get_paths()):,}"))


def arrows(arrows: Any, axes: Any, look: Look) -> Series:
    """A field of arrows."""
    return Series(named("arrows", label_of(arrows), f"{arrows.N:,}"))


class Pie(tuple[Any, ...]):
    """All slices of the pies in one axes."""


def pie(slices: Pie, axes: Any, look: Look) -> Series:
    """The shares of a pie."""
    told = [f"{cut(label_of(one) or '-', 20)} {abs(one.theta2 - one.theta1) / 3.6:.1f}%" for one in slices]
    return Series(f"pie: {len(slices):,} slices", listed(told, _MOST_SLICES))


def patch(form: Any, axes: Any, look: Look) -> Series:
    """Any other form."""
    return Series(named(type(form).__name__.lower(), label_of(form)))


def rectangle(patch: Any, axes: Any, look: Look) -> Series:
    """A rectangle, or a band across the axes."""
    in_x, in_y = in_data(patch, axes)
    left, bottom, width, height = box(patch)
    tell_x, tell_y = axis_teller(axes.xaxis), axis_teller(axes.yaxis)
    told = [f"x {tell_x(left)} to {tell_x(left + width)}"] if in_x else []
    told += [f"y {tell_y(bottom)} to {tell_y(bottom + height)}"] if in_y else []
    return Series(named("rectangle" if in_x and in_y else "band", label_of(patch)), "; ".join(told))


def steps(patch: Any, axes: Any, look: Look) -> Series:
    """Steps, as of a histogram without bars."""
    values, edges, _ = patch.get_data()
    told = bins(edges[:-1], edges[1:], number_ranges.floats(values), axis_teller(axes.xaxis), axis_teller(axes.yaxis))
    return Series(named("steps", label_of(patch), f"{len(values):,}"), told)


def note(text: Any, axes: Any, look: Look) -> Series | None:
    """A text at a place; None if empty."""
    words = text.get_text()
    if not words:
        return None
    at = text.xy if hasattr(text, "xy") else text.get_position()
    return Series("text", f"{quoted(words)} at {', '.join(number(v) if isinstance(v, float) else str(v) for v in at)}")


def scatter(points: Any, axes: Any, look: Look) -> Series:
    """Scattered points."""
    offsets, label = points.get_offsets(), label_of(points)
    few = sys.modules["numpy"].ma.filled(number_ranges.thin(offsets, look.sample).astype(float), float("nan"))
    tell_x, tell_y = axis_teller(axes.xaxis), axis_teller(axes.yaxis)
    told = _cloud(few, tell_x, tell_y)
    what = named("scattered points", label, f"{len(offsets):,}" + _colours(points))
    return Series(what, told + _coloured(points, look), "points", few, label)


def _cloud(points: Any, tell_x: Tell, tell_y: Tell) -> str:
    if len(points) <= 6:
        return number_ranges.course(points[:, 0], points[:, 1], tell_x, tell_y)
    return (
        f"x {number_ranges.span(points[:, 0], tell_x)}; y {number_ranges.span(points[:, 1], tell_y)}{_together(points)}"
    )


def _together(points: Any) -> str:
    """How closely x and y go together."""
    np = sys.modules["numpy"]
    known = points[np.isfinite(points).all(axis=1)]
    if not len(known) or (np.ptp(known, axis=0) == 0).any():
        return ""
    with np.errstate(all="ignore"):
        r = float(np.corrcoef(known.T)[0, 1])
    return f", correlation {r:.2f}" if np.isfinite(r) else ""
