"""What candidates display, made safe: allow-lists, caps, and valid nbformat whatever comes in."""

import base64
import json
import re
import time

import nbformat
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.trace.sanitizing.output_sanitizer import sanitize
from tests.patience import patience
from tests.unit.factories import shown, stream

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


def data_of(**bundle):
    [output] = sanitize([shown(**bundle)])
    return output["data"]


def html_of(text):
    return data_of(text_plain="plain", text_html=text).get("text/html")


@pytest.mark.parametrize(
    "bad",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href='&#106;ava\tscript:alert(1)'>x</a>",
        "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
        "<iframe src='https://example.org'></iframe>",
        "<form action='https://example.org'><input name=q><button>go</button></form>",
        "<img src='https://example.org/pixel.png'>",
        "<img src='data:image/svg+xml,<svg onload=alert(1)>'>",
        "<svg><script>alert(1)</script></svg>",
        "<style>body {display: none}</style>",
        "<div style='position: fixed; inset: 0; background: url(https://example.org)'>x</div>",
        "<div style='background-color: url(https://example.org)'>x</div>",
        "<div class='jp-Dialog' id='main'>x</div>",
        "<meta http-equiv=refresh content='0;url=https://example.org'>",
        "<base href='https://example.org'>",
        "<object data='https://example.org'></object><embed src='https://example.org'>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<p>$\\href{javascript:alert(1)}{x}$</p>",
        "<p>$\\hre<b></b>f{javascript:alert(1)}{x}$</p>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    ],
)
def test_html_cannot_act_fetch_or_cover(bad):
    clean = html_of(f"<p>kept</p>{bad}") or ""
    active = r"<(script|style|iframe|form|input|button|svg|meta|base|object|embed|math)|\bon\w+=|javascript:"
    assert not re.search(active + r"|example\.org|position|jp-|id=|data:", re.sub(r"\$.*\$", "", clean), re.IGNORECASE)
    assert "\\href" not in re.sub(r"<[^>]*>", "", clean)


def test_html_tables_keep_their_looks():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "<y>"]})
    clean = html_of(frame._repr_html_())
    assert '<table border="1" class="dataframe">' in clean
    assert "<td>&lt;y&gt;</td>" in clean
    assert "<style" not in clean
    assert 'style="color:red"' in html_of('<table><tr><td style="color: red">x</td></tr></table>').replace(": ", ":")


def test_html_keeps_links_and_inline_images():
    clean = html_of(f'<a href="https://example.org/doc">doc</a><img src="data:image/png;base64,{PNG}">')
    assert 'href="https://example.org/doc"' in clean
    assert "noopener" in clean
    assert f"data:image/png;base64,{PNG}" in clean


def test_html_of_which_nothing_visible_is_left_gives_way_to_plain_text():
    assert data_of(text_plain="Figure()", text_html="<div id=p></div><script>draw()</script>") == {
        "text/plain": "Figure()"
    }


def test_html_that_would_take_minutes_to_parse_is_left_out_at_once():
    began = time.monotonic()
    assert html_of("<div>" * 100_000) is None
    assert html_of("<p>" + "".join(f"<b id={i}>" for i in range(2000)) + "<p>x" * 20_000) is None
    assert time.monotonic() - began < patience(2)


@pytest.mark.parametrize(
    "mime",
    [
        "application/javascript",
        "application/vnd.jupyter.widget-view+json",
        "application/vnd.plotly.v1+json",
        "application/vnd.exploracoder.cell+json",
        "application/vnd.exploracoder.schema+plain",
        "text/llm+plain",
        "text/x-unknown",
    ],
)
def test_types_that_act_are_left_out_and_plain_text_stays(mime):
    output = {"output_type": "display_data", "data": {mime: "x", "text/plain": "plain"}, "metadata": {}}
    assert sanitize([output])[0]["data"] == {"text/plain": "plain"}
    del output["data"]["text/plain"]
    assert sanitize([output])[0]["data"] == {"text/plain": f"[{mime} left out: it cannot be shown safely here]"}


def test_images_are_kept_if_they_are_images():
    assert data_of(image_png=PNG[:8] + "\n" + PNG[8:]) == {"image/png": PNG}
    for bad in ('" onerror="alert(1)', base64.b64encode(b"<html>").decode(), ""):
        assert "image/png" not in data_of(image_png=bad)


def test_image_sizes_are_the_only_metadata_kept():
    output = shown(image_png=PNG, text_html="<b>x</b>")
    output["metadata"] = {
        "image/png": {"width": 10, "height": -1, "onload": 1},
        "text/html": {"isolated": True},
        "evil": 1,
    }
    assert sanitize([output])[0]["metadata"] == {"image/png": {"width": 10}}


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.mark.parametrize(
    "bad",
    [
        "<script>alert(1)</script>",
        "<foreignObject><b xmlns='http://www.w3.org/1999/xhtml'>x</b></foreignObject>",
        "<rect onload='alert(1)'/>",
        "<a xlink:href='javascript:alert(1)'><rect/></a>",
        "<use href='https://example.org/#x'/>",
        "<image xlink:href='https://example.org/x.png'/>",
        "<image href='data:image/svg+xml,x'/>",
        "<rect fill='url(https://example.org/#x)'/>",
        "<rect style='fill: url( \"https://example.org\" )'/>",
        "<style>@import 'https://example.org';</style>",
        "<animate attributeName='href' to='javascript:alert(1)'/>",
        "<set attributeName='onload' to='alert(1)'/>",
        "<rect xml:base='https://example.org'/>",
    ],
)
def test_svg_is_rebuilt_from_known_parts(bad):
    clean = data_of(**{"image/svg+xml": SVG.format(bad + "<circle r='2'/>")})["image/svg+xml"]
    assert '<circle r="2"' in clean
    assert not re.search(r"script|foreign|onload|example|svg\+xml,|import|animate|<set", clean)


def test_svg_of_plots_survives():
    picture = SVG.format(
        "<defs><style type='text/css'>*{stroke-linejoin: round}</style>"
        "<clipPath id='p'><rect width='1'/></clipPath></defs>"
        "<g clip-path='url(#p)' style='fill: none; stroke: #000'><use xlink:href='#m' x='1'/><text>α</text></g>"
    )
    doctype = '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">\n'
    kept = data_of(**{"image/svg+xml": doctype + picture})["image/svg+xml"]
    for part in ("stroke-linejoin", 'clip-path="url(#p)"', 'xlink:href="#m"', "α", "stroke: #000"):
        assert part in kept


@pytest.mark.parametrize(
    "bad",
    ["<svg", "<html/>", "<!DOCTYPE x [<!ENTITY a 'b'>]>" + SVG.format("&a;"), SVG.format("<g>" * 5000 + "</g>" * 5000)],
)
def test_svg_that_cannot_be_trusted_gives_way(bad):
    assert data_of(**{"image/svg+xml": bad, "text/plain": "plot"}) == {"text/plain": "plot"}


def test_markdown_keeps_its_text_and_loses_its_html():
    clean = data_of(
        text_markdown="# *Hi* [doc](https://example.org)\n<img src=x onerror=alert(1)> ![](http://x/y) a < b"
    )
    assert clean["text/markdown"] == (
        "# *Hi* [doc](https://example.org)\n&lt;img src=x onerror=alert(1)> &#33;[](http://x/y) a < b"
    )


@pytest.mark.parametrize(
    "bad",
    ["[x](javascript:alert(1))", "[x](java\\\nscript\\:x)", "[x](&#106;avascript:x)", "[x]\n\n[x]: data:text/html,x"],
)
def test_markdown_that_links_to_code_gives_way(bad):
    assert data_of(text_markdown=bad, text_plain="p") == {"text/plain": "p"}


def test_latex_is_kept_unless_it_makes_links():
    assert data_of(text_latex="$\\frac{1}{2} < x$")["text/latex"] == "$\\frac{1}{2} < x$"
    assert "text/latex" not in data_of(text_latex="$\\href{javascript:alert(1)}{x}$")


def test_json_is_kept_as_strict_json():
    assert data_of(application_json={"a": [1.5, float("nan")]}) == {"application/json": {"a": [1.5, "nan"]}}


def test_comments_that_never_end_hold_nobody_up():
    assert data_of(text_html="<b>x</b>" + "<!--" * 200_000) == {"text/html": "<b>x</b>"}


def test_json_nested_too_deeply_gives_way():
    deep = value = []
    for _ in range(100_000):
        value.append([])
        value = value[0]
    assert data_of(application_json=deep, text_plain="deep") == {"text/plain": "deep"}


def test_a_flood_is_cut_and_says_so():
    [output] = sanitize([stream("begin" + "x" * 3_000_000 + "end")])
    assert len(output["text"]) < 1_000_000
    assert output["text"].startswith("begin")
    assert output["text"].endswith("end")
    assert "bytes left out ...]" in output["text"]


def test_large_html_gives_way_and_says_so():
    large = "<b>x</b>" * 200_000
    assert data_of(text_html=large, text_plain="x") == {"text/plain": "x"}
    assert data_of(text_html=large) == {"text/plain": "[text/html left out: more than 1,000,000 bytes]"}


def test_a_cell_has_a_size_and_a_count():
    many = sanitize([stream("x" * 900_000)] * 10)
    assert len(json.dumps(many)) < 5_100_000
    assert "further outputs left out" in many[-1]["text"]
    assert len(sanitize([stream("x")] * 1000)) == 201


def test_long_tracebacks_keep_both_ends():
    error = {
        "output_type": "error",
        "ename": "E",
        "evalue": "v",
        "traceback": [f"line {i} " * 100 for i in range(5000)],
    }
    [clean] = sanitize([error])
    assert clean["traceback"][0].startswith("line 0 ")
    assert clean["traceback"][-1].startswith("line 4999 ")
    assert len(json.dumps(clean)) < 1_000_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_MIMES = st.sampled_from(
    ["text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/svg+xml", "application/json", "x/y"]
)
_OUTPUT = st.fixed_dictionaries(
    {},
    optional={
        "output_type": st.sampled_from(["stream", "error", "display_data", "execute_result", "other"]) | _JSON,
        "name": _JSON,
        "text": _JSON,
        "ename": _JSON,
        "evalue": _JSON,
        "traceback": _JSON,
        "execution_count": _JSON,
        "data": st.dictionaries(_MIMES | st.text(max_size=8), _JSON, max_size=3) | _JSON,
        "metadata": st.dictionaries(_MIMES, _JSON, max_size=2) | _JSON,
        "transient": _JSON,
    },
)


@given(st.lists(_OUTPUT, max_size=3))
def test_whatever_comes_in_valid_nbformat_goes_out(outputs):
    clean = list(sanitize(outputs))
    cell = {"cell_type": "code", "id": "a", "source": "", "metadata": {}, "execution_count": None, "outputs": clean}
    json.dumps(clean, allow_nan=False, ensure_ascii=False).encode()
    nbformat.validate({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    assert [output["output_type"] for output in sanitize(clean)] == [output["output_type"] for output in clean]
