"""The report stands alone, is safe with hostile text, and contains every figure."""

import base64
import hashlib
import json
import re
import sys
from itertools import pairwise

import pytest

from exploracoder_jupyter.evaluation.report import markdown, summary_as_json, write_report
from exploracoder_jupyter.evaluation.statistics import summarize
from tests.unit.evaluation.results import unit, units
from tests.unit.export.test_html_page import Page

EVIL = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>|`[x](javascript:alert(1))"


def rows():
    """Two arms with two samples, of which each solves a problem alone."""
    done = [row for sample in (0, 1) for row in units("rag", "1100", sample=sample)]
    done += [row for sample in (0, 1) for row in units("react", "1010", sample=sample, prompt_tokens=900, cost=0.5)]
    return [*done, unit("p9", "react", passed=False, failure="KeyError", settings={"k": 3}, packages={"numpy": "2.3"})]


def hostile():
    texts = {"model": EVIL, "trace": "javascript:alert(1)//" + EVIL, "problem_set": EVIL, "code": EVIL * 99}
    texts |= {"packages": {EVIL: EVIL}, "settings": {EVIL: EVIL}, "missing_apis": (EVIL,)}
    return [
        unit(EVIL + str(at), strategy, passed=at == number, failure="" if at == number else EVIL, **texts)
        for number, strategy in enumerate(("rag", EVIL))
        for at in range(3)
    ]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_report(rows(), tmp_path_factory.mktemp("results")).read_text()


def test_it_is_whole(text):
    page = Page(text)
    assert page.open == page.unbalanced == []
    targets = [link["href"][1:] for link in page.all("a") if link["href"].startswith("#")]
    assert len(targets) >= 8
    assert {*targets} <= {attributes.get("id") for _, attributes in page.tags}
    ids = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
    assert len(ids) == len({*ids})
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(level <= before + 1 for before, level in pairwise(levels))


def test_the_page_has_tables_plots_and_texts(text):
    page = Page(text)
    assert len(page.all("caption")) == len(page.all("table")) >= 5
    assert all(header["scope"] in ("row", "col") for header in page.all("th"))
    plots = [svg["aria-label"] for svg in page.all("svg")]
    assert len(plots) == 3 and all("rag" in plot and "react" in plot for plot in plots)
    words = " ".join(page.text.split())
    for shown in ("50 %", "pass@2", "KeyError", "numpy 2.3", "jupyter explora bench set.jsonl"):
        assert shown in words
    assert "react was not run" not in words and "rag was not run on 1 of 5 problems." in words


def loaded(page):
    """Everything that a browser would fetch or execute."""
    sources = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "srcset")]
    return sources + [link["href"] for link in page.all("link") if not link["href"].startswith("data:")]


def test_only_the_sorting_script_is_permitted(text):
    page = Page(text)
    assert loaded(page) == []
    assert not re.search(r"url\((?!#)|@import", text)
    [policy] = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert re.search("script-src ([^;]*);", policy)[1] == f"'sha256-{digest}'"


def test_hostile_text_stays_text(tmp_path):
    page = Page(write_report(hostile(), tmp_path).read_text())
    assert loaded(page) == []
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert all(re.match(r"#|javascript%3Aalert", link["href"]) for link in page.all("a"))
    assert page.open == page.unbalanced == []
    assert EVIL in page.text


def test_only_traces_below_the_results_are_linked(tmp_path):
    (tmp_path / "pages").mkdir()
    traces = ("/etc/passwd", "../../secret.ipynb", "", "traces/a b#1.ipynb")
    failed = [unit(f"p{at}", passed=False, trace=trace) for at, trace in enumerate(traces)]
    written = write_report(failed, tmp_path / "results", tmp_path / "pages" / "index.html")
    links = [link["href"] for link in Page(written.read_text()).all("a") if not link["href"].startswith("#")]
    assert links == ["../results/traces/a%20b%231.ipynb"]


def test_without_the_extra_the_page_has_tables(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = Page(write_report(rows(), tmp_path).read_text())
    assert page.all("svg") == []
    assert len(page.all("table")) >= 5
    assert "exploracoder-jupyter[bench]" in page.text


@pytest.mark.parametrize(
    "results",
    [
        [],
        [unit(passed=False)],
        units("rag", "11", prompt_tokens=0, completion_tokens=0) + units("react", "00"),
        units("rag", "1?") + units("react", "?1"),
    ],
    ids=["nothing", "one failure", "no tokens", "nothing shared"],
)
def test_little_to_report_is_reported(tmp_path, results):
    page = Page(write_report(results, tmp_path).read_text())
    assert page.open == page.unbalanced == []
    summary = summarize(results)
    assert markdown(summary)
    json.dumps(summary_as_json(summary), allow_nan=False)


def test_markdown_rows_have_intervals_and_escapes():
    text = markdown(summarize(units("a|b", "1110") + units("react", "1000")))
    [row] = [line for line in text.splitlines() if line.startswith("| a") and "75 %" in line]
    assert re.match(r"\| a\\\|b \| \*\*75 %\*\* \(\d+ to 100\) \|", row)
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in text.split("\n\n")[0].splitlines()}) == 1


def test_json_has_every_field_and_no_infinity():
    results = [unit("p0", prompt_tokens=10), *units("rag", "?00000")]
    value = json.loads(json.dumps(summary_as_json(summarize(results)), allow_nan=False))
    [arm] = value["arms"]
    assert arm["estimates"]["pass@1"]["value"] == pytest.approx(1 / 6)
    per_solved = arm["estimates"]["tokens_per_solved"]
    assert (per_solved["low"] is None, per_solved["high"]) == (False, None)
    assert value["problems"][0] == {"key": {"problem_set": "set", "problem": "p0"}, "counts": [[1, 1]]}
