"""Whether two pictures look the same: by their pixels where Pillow is there, else by the data of PNG files.

What a file says of itself (when it was made, by what) is no part of a picture. Figures of which less than a hundredth
of the pixels differ are the same, for edges are drawn a little differently between machines, if nowhere several pixels
that are close to one another differ by much: another digit in a title is no more than that.
"""

from __future__ import annotations

import base64
import binascii
import struct
import warnings
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]

_SAME: Final = 0.01
_MUCH: Final = 64
"""Of 255."""
_CLOSE: Final = 8
"""Sides of a square, in pixels."""
_DETAIL: Final = 5
"""Pixels in such a square: with fewer no digit of ten points at 72 dots an inch becomes another one."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_MOST_BYTES: Final = 100_000_000
"""Of one picture, unpacked."""


def unlike(one: str, other: str) -> str:
    """How two pictures in base64 differ, in words; nothing if they look the same."""
    if one == other:
        return ""
    first, second = _bytes(one), _bytes(other)
    if (shown := _pixels(first)) is None or (again := _pixels(second)) is None:
        return "" if _data(first) == _data(second) else "another picture"
    if shown.shape != again.shape:
        return f"a picture of {_size(shown)} -> {_size(again)} pixels"
    apart = np.abs(shown.astype(np.int16) - again).max(axis=-1)
    share = float((apart > 0).mean())
    if share >= _SAME:
        return f"{share:.1%} of the pixels differ"
    return "a detail differs" if _most_together(apart > _MUCH) >= _DETAIL else ""


def _most_together(marked: NDArray[np.bool_]) -> int:
    """How many of these pixels are in one small square, at most."""
    if not marked.any():
        return 0
    n = _CLOSE
    sums = np.pad(marked, n).astype(np.int32).cumsum(axis=0).cumsum(axis=1)
    return int((sums[n:, n:] - sums[:-n, n:] - sums[n:, :-n] + sums[:-n, :-n]).max())


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "replace")


def _pixels(content: bytes) -> Pixels | None:
    """Height, width and channels; `None` where it cannot be read here."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of pictures that unpack to more than memory can hold
            picture: Any = Image.open(BytesIO(content)).convert("RGBA")
            return np.asarray(picture, dtype=np.uint8)
    except Exception:  # whatever a broken file makes of the reader
        return None


def _size(pixels: Pixels) -> str:
    return f"{pixels.shape[1]} by {pixels.shape[0]}"


def _data(content: bytes) -> bytes:
    """What is drawn in a PNG file: the head and the unpacked data; another file as it is."""
    if not content.startswith(_SIGNATURE):
        return content
    kept = dict.fromkeys((b"IHDR", b"PLTE", b"tRNS", b"IDAT"), b"")
    for kind, data in _chunks(content[len(_SIGNATURE) :]):
        if kind in kept:
            kept[kind] += data
    try:
        drawn = zlib.decompressobj().decompress(kept.pop(b"IDAT"), _MOST_BYTES)
    except zlib.error:
        drawn = b""
    return b"".join(kept.values()) + drawn if drawn else content


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    while len(content) >= 12:
        (length,) = struct.unpack(">I", content[:4])
        yield content[4:8], content[8 : 8 + length]
        content = content[12 + length :]
