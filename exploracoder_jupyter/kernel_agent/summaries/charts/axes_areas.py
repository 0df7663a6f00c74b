"""Describes points, images, areas, patches and texts in Matplotlib axes. They are read, never drawn."""

from __future__ import annotations

import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import number_ranges
from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import format_number
from exploracoder_jupyter.kernel_agent.summaries.charts.axes_series import Series, format_series, label_of, patch_box
from exploracoder_jupyter.kernel_agent.summaries.charts.axis_scales import axis_formatter, in_data
from exploracoder_jupyter.kernel_agent.summaries.charts.captions import quote
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_SLICES = 10


def _describe_colors(mappable: Any, options: SummaryOptions) -> str:
    values = number_ranges.thin(mappable.get_array().reshape(-1), options.sample)
    return number_ranges.describe_range(number_ranges.to_floats(values))


def describe_image(image: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe an image; it has three dimensions if its pixels are colors."""
    pixels = image.get_array()
    if pixels is None:
        return Series(format_series("image", label_of(image), "empty"))
    size = f"{' x '.join(map(str, pixels.shape))} {pixels.dtype}"
    color_map = f", {image.get_cmap().name}" if pixels.ndim == 2 else ""
    what = format_series("image", label_of(image), size + color_map)
    return Series(what, f"values {_describe_colors(image, options)}")


def describe_mesh(cells: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe the colored cells of a grid."""
    shape = " x ".join(map(str, cells.get_array().shape))
    return Series(format_series("colour mesh", label_of(cells), shape), f"colour {_describe_colors(cells, options)}")


def describe_contours(contours: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe contour lines, or the areas between them."""
    kind = "filled contours" if contours.filled else "contour lines"
    what = format_series(kind, label_of(contours), f"{len(contours.levels)} levels")
    return Series(what, f"levels {number_ranges.describe_range(contours.levels)}")


def describe_filled_area(area: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe an area between curves, of which only the outline is stored."""
    bounds, data = area.get_datalim(axes.transData), ""
    if sys.modules["numpy"].isfinite(bounds.get_points()).all():
        data = _format_box(axes, bounds.x0, bounds.x1, bounds.y0, bounds.y1)
    return Series(format_series("filled area", label_of(area)), data)


def _format_box(axes: Any, left: float, right: float, bottom: float, top: float, sides: str = "xy") -> str:
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    parts = {"x": f"x {format_x(left)} to {format_x(right)}", "y": f"y {format_y(bottom)} to {format_y(top)}"}
    return "; ".join(parts[side] for side in sides)


def describe_pie(wedges: list[Any]) -> Series:
    """Describe the shares of a pie."""
    shares = [
        f"{truncate(label_of(wedge) or '-', 20)} {abs(wedge.theta2 - wedge.theta1) / 3.6:.1f}%" for wedge in wedges
    ]
    return Series(f"pie: {len(wedges):,} slices", format_list(shares, _MAX_SLICES))


def describe_artist(artist: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe any other shape or collection of shapes by its type."""
    paths = artist.get_paths() if hasattr(artist, "get_paths") else ()
    return Series(format_series(type(artist).__name__, label_of(artist), f"{len(paths):,}" if paths else ""))


def describe_rectangle(patch: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe a rectangle, or a band across the axes."""
    left, bottom, width, height = patch_box(patch)
    sides = "".join(side for side, is_given in zip("xy", in_data(patch, axes), strict=True) if is_given)
    what = format_series("rectangle" if sides == "xy" else "band", label_of(patch))
    return Series(what, _format_box(axes, left, left + width, bottom, bottom + height, sides))


def describe_note(text: Any, axes: Any, options: SummaryOptions) -> Series | None:
    """Describe a text and its position; None if it is empty."""
    content = text.get_text()
    if not content:
        return None
    position = text.xy if hasattr(text, "xy") else text.get_position()
    coordinates = ", ".join(format_number(value) if isinstance(value, float) else str(value) for value in position)
    return Series("text", f"{quote(content)} at {coordinates}")


def describe_scatter(points: Any, axes: Any, options: SummaryOptions) -> Series:
    """Describe scattered points, with the correlation of x and y."""
    np = sys.modules["numpy"]
    offsets = points.get_offsets()
    sample = np.ma.filled(number_ranges.thin(offsets, options.sample).astype(float), float("nan"))
    format_x, format_y = axis_formatter(axes.xaxis), axis_formatter(axes.yaxis)
    x_range = number_ranges.describe_range(sample[:, 0], format_x)
    data = f"x {x_range}; y {number_ranges.describe_range(sample[:, 1], format_y)}"
    finite = sample[np.isfinite(sample).all(axis=1)]
    if len(sample) <= 6:
        data = number_ranges.describe_curve(sample[:, 0], sample[:, 1], format_x, format_y)
    elif len(finite) and (np.ptp(finite, axis=0) > 0).all():
        with np.errstate(all="ignore"):
            data += f", correlation {np.corrcoef(finite.T)[0, 1]:.2f}"
    colors = ""
    if points.get_array() is not None:
        colors = f", coloured by value ({points.get_cmap().name})"
        data += f"; colour {_describe_colors(points, options)}"
    return Series(format_series("scattered points", label_of(points), f"{len(offsets):,}{colors}"), data)
