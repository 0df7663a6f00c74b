"""PIL images, in memory and not yet read from their files."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.unit.summaries.described import measure, schema, text


@pytest.fixture
def picture():
    return Image.fromarray(np.arange(6 * 4 * 3, dtype=np.uint8).reshape(4, 6, 3))


def test_an_image_is_described_by_size_and_range(picture):
    assert text(picture).splitlines() == [
        "6 x 4 pixels, RGB, 96 bytes",
        "R 0 to 69, mean 34.5; G 1 to 70, mean 35.5; B 2 to 71, mean 36.5",
    ]
    assert schema(picture) == "6 x 4 pixels, RGB, 96 bytes"
    assert measure(picture) == "6 x 4 RGB"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "TIFF", "BMP", "WEBP"])
def test_a_file_that_was_opened_is_not_read(picture, tmp_path, kind):
    picture.save(tmp_path / "a", kind)
    with Image.open(tmp_path / "a") as opened:
        at = opened.fp.tell()
        summary = text(opened)
        assert "not read from its file yet" in summary and kind in summary and "mean" not in summary
        assert opened.fp.tell() == at and opened._im is None
        opened.load()
        assert "mean" in text(opened)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "I", "F", "I;16"])
def test_every_mode_is_described(mode):
    for size in ((0, 0), (1, 1), (300, 200)):
        image = Image.new(mode, size)
        assert text(image).startswith(f"{size[0]} x {size[1]} pixels, {mode}, ")
        assert ("always 0" in text(image)) is (size != (0, 0))


def test_large_images_are_described_by_sampled_pixels():
    assert text(Image.new("L", (5000, 10), 7)).endswith("L always 7 (of 64 x 10 of its pixels)")


def test_frames_and_colours_are_counted_and_entries_named(picture, tmp_path):
    picture.save(tmp_path / "a.png", save_all=True, append_images=[picture.rotate(90)], dpi=(99, 99))
    with Image.open(tmp_path / "a.png") as film:
        assert "PNG, frames: 2" in text(film) and "info: " in text(film)
    assert "palette of " in text(picture.quantize(4))


@given(st.binary(min_size=12, max_size=12), st.sampled_from([("L", (4, 3)), ("RGB", (2, 2)), ("RGBA", (3, 1))]))
def test_any_pixels_are_described_unchanged(data, form):
    image = Image.frombytes(*form, data)
    before = pickle.dumps(image)
    assert "pixels" in text(image)
    assert pickle.dumps(image) == before
