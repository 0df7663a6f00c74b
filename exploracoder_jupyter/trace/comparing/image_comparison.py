"""Compares two images: by their pixels if Pillow is installed, else by their bytes.

Images count as the same if less than one percent of the pixels differ, because machines render edges slightly
differently, and if no small area has several pixels that differ strongly, because that is all that another digit in a
title changes.
"""

from __future__ import annotations

import base64
import warnings
from functools import reduce
from io import BytesIO
from typing import Any, Final

_SAME_SHARE: Final = 0.01
_STRONG: Final = 64
"""Difference of a color channel that counts as strong, of 255."""
_RADIUS: Final = 4
"""A small area is a square with a side of twice as many pixels and one."""
_DETAIL_PIXELS: Final = 5
"""Strongly different pixels in such a square that count as a difference. Fewer cannot turn one digit into another, at
10 points and 72 dpi."""


def describe_difference(one: str, other: str) -> str:
    """Describe how two base64 images differ; empty if they look the same."""
    if one == other:
        return ""
    old, new = _open(one), _open(other)
    if old is None or new is None:
        return "a different picture"
    if old.size != new.size:
        return f"a picture of {' -> '.join(f'{width} by {height}' for width, height in (old.size, new.size))} pixels"
    from PIL import ImageChops, ImageFilter, ImageOps

    distance: Any = reduce(ImageChops.lighter, ImageChops.difference(old, new).split())
    share = 1 - distance.histogram()[0] / (old.width * old.height)
    if share >= _SAME_SHARE:
        return f"{share:.1%} of the pixels differ"
    strong: Any = ImageOps.expand(distance.point(lambda value: 255 * (value > _STRONG)), border=_RADIUS)
    share_of_square = strong.filter(ImageFilter.BoxBlur(_RADIUS)).getextrema()[1] / 255
    pixels = round(share_of_square * (2 * _RADIUS + 1) ** 2)
    return "a detail differs" if pixels >= _DETAIL_PIXELS else ""


def _open(text: str) -> Any:
    """Decode an image; `None` if it cannot be read here."""
    try:
        from PIL import Image

        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow warns about decompression bombs
            return Image.open(BytesIO(base64.b64decode(text))).convert("RGBA")
    except Exception:  # Pillow is not installed, or the file is broken, which can raise anything
        return None
