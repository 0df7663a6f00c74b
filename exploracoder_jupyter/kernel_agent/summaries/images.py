"""PIL images. The pixels of an image that has not been loaded from its file are not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list, format_size

_MAX_SIDE = 64
_MAX_KEYS = 12
_BYTES_PER_PIXEL = {"1": 1, "L": 1, "P": 1, "LA": 2, "PA": 2, "I;16": 2, "RGB": 4, "I": 4, "F": 4}


def _describe_image(image: Any, options: SummaryOptions) -> Iterator[Fact]:
    width, height = image.size
    is_loaded = getattr(image, "_im", None) is not None and not getattr(image, "tile", None)
    memory = format_size(width * height * _BYTES_PER_PIXEL.get(image.mode, 4))
    yield Fact(f"{width:,} x {height:,} pixels, {image.mode}, {memory if is_loaded else 'not read from its file yet'}")
    # The frames of a file are not counted, which may read all of it.
    frame_count = vars(image).get("n_frames", vars(image).get("_n_frames"))
    words = [str(image.format)] if image.format else []
    words += [f"frames: {frame_count:,}"] if isinstance(frame_count, int) else []
    if words:
        yield Fact(", ".join(words))
    if image.mode in ("P", "PA") and image.palette is not None:
        yield Fact(f"palette of {len(image.palette.palette) // max(len(image.palette.mode), 1)} colours")
    if is_loaded and width and height and not options.out_of_time:
        yield _band_fact(image)
    if image.info:
        yield Fact(f"info: {format_list([str(key) for key in image.info], _MAX_KEYS)}")


def _band_fact(image: Any) -> Fact:
    """Describe the range and mean of each band, from a grid of pixels where there are many."""
    small, sample_note = image, ""
    if max(image.size) > _MAX_SIDE:
        small = image.resize((min(_MAX_SIDE, image.width), min(_MAX_SIDE, image.height)), 0)
        sample_note = f" (of {small.width} x {small.height} of its pixels)"
    bands = [f"{name} {_describe_band(band)}" for name, band in zip(small.getbands(), small.split(), strict=True)]
    return Fact("; ".join(bands) + sample_note, shows=True)


def _describe_band(band: Any) -> str:
    low, high = band.getextrema()
    if low == high:
        return f"always {low:g}"
    values = list(band.get_flattened_data() if hasattr(band, "get_flattened_data") else band.getdata())
    return f"{low:g} to {high:g}, mean {sum(values) / len(values):.4g}"


FAMILY = TypeFamily(
    {"PIL.Image": _describe_image},
    measures={"PIL.Image": lambda image: f"{image.width} x {image.height} {image.mode}"},
)
