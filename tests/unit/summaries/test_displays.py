"""IPython's display objects are described by what they show."""

import pytest
from IPython.display import HTML, JSON, SVG, Image, Latex, Markdown

from tests.unit.summaries.described import schema, text


@pytest.mark.parametrize(
    "shown, expected",
    [
        (HTML("<b>seven</b> &amp; <i>eight</i>"), "31 characters\nseven & eight"),
        (SVG("<svg><text>seven</text></svg>"), "29 characters\nseven"),
        (Markdown("*seven*"), "7 characters\n*seven*"),
        (Latex("$seven$"), "7 characters\n$seven$"),
        (HTML(""), "0 characters"),
        (Image(b"\x89PNG seven", format="png"), "10 bytes"),
        (Image(url="http://localhost/seven"), "to be fetched by the page"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_displayed_content_is_described_without_markup(shown, expected):
    assert text(shown) == expected
    assert "seven" not in schema(shown)


def test_json_is_described_by_its_structure():
    assert "seven" in text(JSON({"seven": 1}))
    assert schema(JSON({"seven": 1})) == "dict"
