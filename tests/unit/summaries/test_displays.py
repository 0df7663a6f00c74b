"""IPython's display objects are described by what they show."""

import pytest
from IPython.display import HTML, JSON, SVG, Image, Markdown

from tests.unit.summaries.described import summarize


@pytest.mark.parametrize(
    "shown, expected",
    [
        (HTML("<b>seven</b> &amp; <i>eight</i>"), "HTML: 31 characters\n  seven & eight"),
        (SVG("<svg><text>seven</text></svg>"), "SVG: 29 characters\n  seven"),
        (Markdown("*seven*"), "Markdown: 7 characters\n  *seven*"),
        (Image(url="http://localhost/seven"), "Image: 'http://localhost/sev"),
        (JSON({"seven": 1}), "JSON: {'seven': 1}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_displayed_content_is_described_without_markup(shown, expected):
    text, schema = summarize(shown)
    assert expected in text and "seven" not in schema
