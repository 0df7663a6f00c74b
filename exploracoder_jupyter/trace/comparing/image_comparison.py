"""Compares two images: by their pixels if Pillow is installed, else by the image data of PNG files.

File metadata (creation time, software) is ignored. Images count as the same if less than one percent of the pixels
differ, because machines render edges slightly differently, and if no small area has several pixels that differ
strongly, because that is all that another digit in a title changes.
"""

from __future__ import annotations

import base64
import binascii
import struct
import warnings
import zlib
from io import BytesIO
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]

_SAME_SHARE: Final = 0.01
_STRONG: Final = 64
"""Difference of a color channel that counts as strong, of 255."""
_SQUARE: Final = 8
"""Side of the square that counts as a small area, in pixels."""
_DETAIL_PIXELS: Final = 5
"""Strongly different pixels in such a square that count as a difference. Fewer cannot turn one digit into another, at
10 points and 72 dpi."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_MAX_BYTES: Final = 100_000_000
"""Maximum size of one decompressed image."""


def describe_difference(one: str, other: str) -> str:
    """Describe how two base64 images differ; empty if they look the same."""
    if one == other:
        return ""
    first, second = _decode(one), _decode(other)
    if (old := _pixels(first)) is None or (new := _pixels(second)) is None:
        return "" if _image_data(first) == _image_data(second) else "a different picture"
    if old.shape != new.shape:
        sizes = (f"{pixels.shape[1]} by {pixels.shape[0]}" for pixels in (old, new))
        return f"a picture of {' -> '.join(sizes)} pixels"
    distance = np.abs(old.astype(np.int16) - new).max(axis=-1)
    share = float((distance > 0).mean())
    if share >= _SAME_SHARE:
        return f"{share:.1%} of the pixels differ"
    return "a detail differs" if _max_in_square(distance > _STRONG) >= _DETAIL_PIXELS else ""


def _max_in_square(marked: NDArray[np.bool_]) -> int:
    if not marked.any():
        return 0
    n = _SQUARE
    sums = np.pad(marked, n).astype(np.int32).cumsum(axis=0).cumsum(axis=1)
    return int((sums[n:, n:] - sums[:-n, n:] - sums[n:, :-n] + sums[:-n, :-n]).max())


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "replace")


def _pixels(content: bytes) -> Pixels | None:
    """Decode an image to an array of height, width and channels; `None` if it cannot be read here."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow warns about decompression bombs
            picture: Any = Image.open(BytesIO(content)).convert("RGBA")
            return np.asarray(picture, dtype=np.uint8)
    except Exception:  # a broken file can raise anything
        return None


def _image_data(content: bytes) -> bytes:
    if not content.startswith(_SIGNATURE):
        return content
    parts = dict.fromkeys((b"IHDR", b"PLTE", b"tRNS", b"IDAT"), b"")
    rest = content[len(_SIGNATURE) :]
    while len(rest) >= 12:
        (length,) = struct.unpack(">I", rest[:4])
        if (kind := rest[4:8]) in parts:
            parts[kind] += rest[8 : 8 + length]
        rest = rest[12 + length :]
    try:
        pixels = zlib.decompressobj().decompress(parts.pop(b"IDAT"), _MAX_BYTES)
    except zlib.error:
        pixels = b""
    return b"".join(parts.values()) + pixels if pixels else content
