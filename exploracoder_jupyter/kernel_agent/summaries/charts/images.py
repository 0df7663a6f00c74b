"""PIL images. One that is still in its file is not read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, listed, size

_SIDE = 64
_KEYS = 12
_BYTES = {"1": 1, "L": 1, "P": 1, "LA": 2, "PA": 2, "I;16": 2, "RGB": 4, "I": 4, "F": 4}


def _image(image: Any, look: Look) -> Iterator[Fact]:
    width, height = image.size
    held = _loaded(image)
    memory = size(width * height * _BYTES.get(image.mode, 4)) if held else "not read from its file yet"
    yield Fact(f"{width:,} x {height:,} pixels, {image.mode}, {memory}")
    yield from _origin(image)
    if image.mode in ("P", "PA") and image.palette is not None:
        yield Fact(f"palette of {len(image.palette.palette) // max(len(image.palette.mode), 1)} colours")
    if held and width and height and not look.late:
        yield from _statistics(image)
    yield from _info(image, look)


def _loaded(image: Any) -> bool:
    return getattr(image, "_im", None) is not None and not getattr(image, "tile", None)


def _origin(image: Any) -> Iterator[Fact]:
    """Format and number of frames. To ask a file for its frames may read all of it: told where it is known."""
    words = [str(image.format)] if image.format else []
    known = vars(image).get("n_frames", vars(image).get("_n_frames"))
    if isinstance(known, int):
        words.append(f"{known:,} frame{'' if known == 1 else 's'}")
    elif hasattr(type(image), "n_frames"):
        words.append("frames not counted")
    if words:
        yield Fact(", ".join(words))


def _statistics(image: Any) -> Iterator[Fact]:
    """Range and mean of each band, of a grid of pixels where there are many."""
    small = image if max(image.size) <= _SIDE else image.resize((min(_SIDE, image.width), min(_SIDE, image.height)), 0)
    part = "" if small is image else f" (of {small.width} x {small.height} of its pixels)"
    told = [
        f"{'index' if name == 'P' else name} {_band(band)}"
        for name, band in zip(small.getbands(), small.split(), strict=True)
    ]
    yield Fact("; ".join(told) + part, shows=True)


def _band(band: Any) -> str:
    low, high = band.getextrema()
    if low == high:
        return f"always {low:g}"
    values = list(band.get_flattened_data() if hasattr(band, "get_flattened_data") else band.getdata())
    return f"{low:g} to {high:g}, mean {sum(values) / len(values):.4g}"


def _info(image: Any, look: Look) -> Iterator[Fact]:
    entries = image.info
    if "exif" in entries and not look.late:
        exif = sys.modules["PIL.Image"].Exif()
        exif.load(entries["exif"])
        yield Fact(f"{len(exif):,} EXIF entries")
    keys = [str(key) for key in entries if key != "exif"]
    if keys:
        yield Fact(f"info: {listed(keys, _KEYS)}")


def _shape(image: Any) -> str:
    return f"{image.width} x {image.height} {image.mode}"


FAMILY = Family({"PIL.Image": _image}, measures={"PIL.Image": _shape})
