"""What candidates display, made safe: allow-lists, caps, and valid nbformat whatever comes in."""

import base64
import html
import json
import re
import time

import nbformat
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.trace.output_sanitizer import sanitize
from tests.patience import patience
from tests.unit.factories import shown, stream
from tests.unit.texts import formulas

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


def data_of(**bundle):
    [output] = sanitize([shown(**bundle)])
    return output["data"]


def html_of(text):
    return data_of(text_plain="plain", text_html=text).get("text/html")


def left_out(*names):
    return f"[{', '.join(names)} left out: it cannot be shown safely here]"


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
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    ],
)
def test_html_cannot_act_fetch_or_cover(bad):
    clean = html_of(f"<p>kept</p>{bad}") or ""
    active = r"<(script|style|iframe|form|input|button|svg|meta|base|object|embed|math)|\bon\w+=|javascript:"
    assert not re.search(active + r"|example\.org|position|jp-|id=|data:", clean, re.IGNORECASE)


ACTING_TEX = [
    "$\\href{javascript:alert(1)}{x}$",
    "$\\hre<wbr>f{javascript:alert(1)}{x}$",
    "$\\style{cursor:url(//host/x),auto}{x}$",
    "$\\style {cursor:url(//host/x),auto}{x}$",
    "\\(\\newcommand{\\q}{\\style}\\q{cursor:url(//host/x),auto}{x}\\)",
    "$\\let\\q=\\style \\q{cursor:url(//host/x),auto}{x}$",
    "\\begin{equation}\\def\\q{\\style}\\q{cursor:url(//host/x),auto}{x}\\end{equation}",
    "$\\\\\\style{cursor:url(//host/x),auto}{x}$",
    "&#36;&bsol;style{cursor:url(//host/x),auto}{x}&dollar;",
    "$\\includegraphics{//host/x}$",
    "$\\require{//host/x}$",
    "$\\bbox[background:url(//host/x)]{x}$",
    "$\\undefinedhere{x}$",
]


@pytest.mark.parametrize("tex", ACTING_TEX)
@pytest.mark.parametrize("kind", ["text/html", "text/markdown"])
def test_formulas_that_may_act_stay_text(kind, tex):
    clean = data_of(**{kind: f"So {tex}, and $x$.", "text/plain": "plain"})["text/html"]
    assert not formulas(clean)
    text = html.unescape(re.sub("<[^>]*>", "", clean))
    assert html.unescape(tex).replace("<wbr>", "") in text.replace("<wbr>", "")
    again = data_of(text_html=clean)["text/html"]
    assert again == clean


@pytest.mark.parametrize("tex", [tex for tex in ACTING_TEX if "<wbr>" not in tex])
def test_latex_that_may_act_gives_way(tex):
    said = "plain\n[text/latex left out: it cannot be shown safely here]"
    assert data_of(text_latex=tex, text_plain="plain") == {"text/plain": said}


@pytest.mark.parametrize(
    "tex",
    [
        r"$\displaystyle \int\limits_{-\infty}^{\infty} e^{- x^{2}}\, dx$",
        r"$$\left[\begin{matrix}x & y\\c & \operatorname{floor}{\left(x \right)}\end{matrix}\right]$$",
        r"\begin{equation}\hat{H}\ket{\psi} = E \ket{\psi}, \text{for all } \$5\end{equation}",
    ],
)
def test_formulas_of_symbols_are_typeset(tex):
    assert data_of(text_latex=tex)["text/latex"] == tex
    assert tex in html.unescape(html_of(f"<p>{html.escape(tex)}</p>"))
    assert f"<samp>{html.escape(tex)}</samp>" in data_of(text_markdown=f"So {tex}.")["text/html"]


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


def test_invisible_html_gives_way_to_text():
    assert data_of(text_plain="Figure()", text_html="<div id=p></div><script>draw()</script>") == {
        "text/plain": f"Figure()\n{left_out('text/html')}"
    }


def test_outside_images_leave_a_note():
    clean = html_of("<p>a <img src='https://example.org/x.png' alt='the logo'> b</p>")
    assert clean == "<p>a <em>[image left out: it is not in the notebook]</em> b</p>"


def test_slow_html_is_left_out_at_once():
    began = time.monotonic()
    assert html_of("<div>" * 100_000) is None
    assert html_of("<p>" + "".join(f"<b id={i}>" for i in range(2000)) + "<p>x" * 20_000) is None
    assert time.monotonic() - began < patience(2)


@pytest.mark.parametrize(
    "mime",
    [
        "application/geo+json",
        "application/javascript",
        "application/pdf",
        "application/vnd.bokehjs_load.v0+json",
        "application/vnd.dataresource+json",
        "application/vnd.jupyter.widget-view+json",
        "application/vnd.plotly.v1+json",
        "application/vnd.vega.v5+json",
        "application/vnd.vegalite.v5+json",
        "audio/wav",
        "image/webp",
        "text/vnd.mermaid",
        "text/x-unknown",
        "video/mp4",
    ],
)
def test_types_that_act_give_way_and_say_so(mime):
    output = {"output_type": "display_data", "data": {mime: "x", "text/plain": "plain"}, "metadata": {}}
    assert sanitize([output])[0]["data"] == {"text/plain": f"plain\n{left_out(mime)}"}
    output["data"]["image/png"] = PNG
    assert sanitize([output])[0]["data"] == {"text/plain": "plain", "image/png": PNG}
    output["data"] = {mime: "x"}
    assert sanitize([output])[0]["data"] == {"text/plain": left_out(mime)}


@pytest.mark.parametrize(
    "mime", ["application/vnd.exploracoder.cell+json", "application/vnd.exploracoder.schema+plain", "text/llm+plain"]
)
def test_types_for_programs_are_left_out_silently(mime):
    output = {"output_type": "display_data", "data": {mime: "x", "text/plain": "plain"}, "metadata": {}}
    assert sanitize([output])[0]["data"] == {"text/plain": "plain"}


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
        "<rect style='fill: red; background-image: image-set(\"https://example.org/x\" 1x)'/>",
        "<rect style='cursor: url(https://example.org/x), auto'/>",
        "<rect style='mask-image: src(\"https://example.org/x\")'/>",
        "<rect filter='image-set(\"https://example.org/x\" 1x)'/>",
        "<style>rect {background: image-set('https://example.org/x' 1x)}</style>",
        "<style>rect {fill: u/**/rl(https://example.org/x)}</style>",
        '<style>a {font-family: "} b "; fill: url(https://example.org/x); " {fill: red}</style>',
        "<style>@font-face {font-family: x; src: url(https://example.org/x)}</style>",
        "<feImage href='https://example.org/x.png'/>",
        "<filter><feImage xlink:href='https://example.org/x.png'/></filter>",
        "<?xml-stylesheet href='https://example.org/x.css'?>",
        "<metadata><x xmlns='http://www.w3.org/1999/xhtml'><img src='https://example.org/x'/></x></metadata>",
    ],
)
def test_svg_is_rebuilt_from_known_parts(bad):
    clean = data_of(**{"image/svg+xml": SVG.format(bad + "<circle r='2'/>")})["image/svg+xml"]
    assert '<circle r="2"' in clean
    assert not re.search(r"script|foreign|onload|example|svg\+xml,|import|animate|<set|@|cursor|mask", clean)


def test_svg_with_acting_formulas_gives_way():
    bad = SVG.format("<text>$\\style{cursor:url(//host/x),auto}{x}$</text>")
    assert data_of(**{"image/svg+xml": bad, "text/plain": "plot"}) == {
        "text/plain": f"plot\n{left_out('image/svg+xml')}"
    }


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
    assert data_of(**{"image/svg+xml": bad, "text/plain": "plot"}) == {
        "text/plain": f"plot\n{left_out('image/svg+xml')}"
    }


def test_markdown_becomes_html_without_outside_images():
    clean = data_of(
        text_markdown="# *Hi* [doc](https://example.org)\n<img src=x onerror=alert(1)> ![](http://x/y) a < b ~~c~~"
    )
    assert list(clean) == ["text/html"]
    assert clean["text/html"] == (
        '<h1><em>Hi</em> <a href="https://example.org" rel="noopener noreferrer">doc</a></h1>\n'
        "<p>&lt;img src=x onerror=alert(1)&gt; <em>[image left out: it is not in the notebook]</em> a &lt; b "
        "<s>c</s></p>\n"
    )


def test_html_is_preferred_to_markdown():
    assert data_of(text_html="<b>x</b>", text_markdown="*x*") == {"text/html": "<b>x</b>"}
    assert data_of(text_html="<script></script>", text_markdown="*x*") == {"text/html": "<p><em>x</em></p>\n"}


@pytest.mark.parametrize(
    "fence", ["```mermaid", "~~~mermaid", "````{.mermaid}", "> ```mermaid x=1", "- ```mermaid", "```geojson"]
)
def test_fences_lose_their_language(fence):
    clean = data_of(text_markdown=f"{fence}\nflowchart LR\n")["text/html"]
    assert re.search(r"<pre><code>(flowchart LR)?", clean)
    assert not re.search("mermaid|geojson|class", clean)


@pytest.mark.parametrize(
    "bad",
    ["[x](javascript:alert(1))", "[x](java\\\nscript\\:x)", "[x](&#106;avascript:x)", "[x]\n\n[x]: data:text/html,x"],
)
def test_markdown_does_not_link_to_code(bad):
    assert "href" not in data_of(text_markdown=bad, text_plain="p")["text/html"]


def test_tracebacks_have_no_html_links():
    bad = "<a href='x'><img src='http://host/x'></a>"
    error = {"output_type": "error", "ename": bad, "evalue": bad, "traceback": [bad, bad.upper()]}
    [clean] = sanitize([error])
    assert not re.search(r"<a\s", json.dumps(clean), re.IGNORECASE)
    assert "‹a href='x'><img" in clean["evalue"]


def test_json_is_kept_as_strict_json():
    assert data_of(application_json={"a": [1.5, float("nan")]}) == {"application/json": {"a": [1.5, "nan"]}}


def test_comments_that_never_end_hold_nobody_up():
    assert data_of(text_html="<b>x</b>" + "<!--" * 200_000) == {"text/html": "<b>x</b>"}


def test_json_nested_too_deeply_gives_way():
    deep = value = []
    for _ in range(100_000):
        value.append([])
        value = value[0]
    said = "deep\n[application/json left out: more than 1,000,000 bytes]"
    assert data_of(application_json=deep, text_plain="deep") == {"text/plain": said}


def test_a_flood_is_cut_and_says_so():
    [output] = sanitize([stream("begin" + "x" * 3_000_000 + "end")])
    assert len(output["text"]) < 1_000_000
    assert output["text"].startswith("begin")
    assert output["text"].endswith("end")
    assert "bytes left out ...]" in output["text"]


def test_large_html_gives_way_and_says_so():
    large = "<b>x</b>" * 200_000
    said = "[text/html left out: more than 1,000,000 bytes]"
    assert data_of(text_html=large, text_plain="x") == {"text/plain": f"x\n{said}"}
    assert data_of(text_html=large) == {"text/plain": said}


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
