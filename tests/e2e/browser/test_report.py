"""The page of a run in a browser: by day, by night, on a telephone and on paper."""

import re

import pytest

from exploracoder_jupyter.core.events import CandidateObserved, InputsInvented, SolutionJudged, SolutionTested
from exploracoder_jupyter.core.types import InputRun, InventedInput, Judgement, Observation, Output
from exploracoder_jupyter.export.export_formats import export_run
from tests.e2e.browser.accessibility import serious_violations
from tests.unit.factories import complete_events, finished, proposed, ran, recorded, shown, started, stream

WINDOWS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1100, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1100, "height": 900}},
    "narrow": {"color_scheme": "light", "viewport": {"width": 360, "height": 800}},
}
CELLS = "".join(f"<td>{number}.123456</td>" for number in range(30))
HEADS = "".join(f"<th>column_{number}</th>" for number in range(30))
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="90"><path d="M0 0L800 90" stroke="black"/></svg>'
OUTPUTS: tuple[Output, ...] = (
    shown(text_html=f'<table class="dataframe" border="1"><thead><tr>{HEADS}</tr></thead><tr>{CELLS}</tr></table>'),
    shown(
        text_html='<h1>Mine</h1><p style="color: #333">dark on nothing</p><nav><a href="https://example.org">x</a></nav>'
    ),
    shown(text_markdown="# Its own\n\n$a_1$ and *more*\n\n| a | b |\n|--|--|\n| 1 | 2 |"),
    shown(text_latex="$\\int_0^1 x$", text_plain="1/2"),
    {"output_type": "display_data", "data": {"image/svg+xml": SVG, "text/plain": "<Figure>"}, "metadata": {}},
    shown(text_html=f"<table>{'<tr><td>tall</td></tr>' * 90}</table>"),
    stream("a long line " * 40 + "\n" * 60 + "its end"),
    stream("a warning", "stderr"),
)
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)></svg>",
    '<a href="javascript:alert(1)" autofocus onfocus=alert(1)>x</a>',
    "[x](javascript:alert(1)) ![x](http://127.0.0.1:9/markdown)",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/meta">',
    "<b title=\"<img ><meta http-equiv=refresh content='0;url=http://127.0.0.1:9/title'>\">x</b>",
    '<style>@import "http://127.0.0.1:9/style";</style>',
    '<div style="background:url(http://127.0.0.1:9/background)">x</div>',
    '<video poster="http://127.0.0.1:9/poster" src="http://127.0.0.1:9/video" autoplay></video>',
    "<form action=http://127.0.0.1:9/form><input autofocus onfocus=alert(1)></form>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "</style></title></pre></textarea><script>alert(1)</script>",
    "</div></details></section></main><h1>Mine</h1>",
)


@pytest.fixture
def page(tmp_path):
    """The page of a run that showed all kinds of outputs."""
    events = [
        CandidateObserved("1.2", Observation("ok", OUTPUTS))
        if isinstance(event, CandidateObserved) and event.candidate == "1.2"
        else event
        for event in complete_events()
    ]
    tested = [
        InputsInvented((InventedInput("t1", "an empty graph", "G = nx.Graph()", "result"),)),
        SolutionTested("s2", (InputRun("t1", Observation("ok", (stream("zero\n"),))),)),
        SolutionJudged("s2", Judgement("right", "it counts")),
    ]
    path = tmp_path / "run.html"
    path.write_text(export_run(recorded([*events[:-1], *tested, events[-1]]), "html", tmp_path / "run.ipynb"))
    return path


@pytest.fixture(params=WINDOWS)
def window(browser, request):
    context = browser.new_context(**WINDOWS[request.param])
    yield context.new_page()
    context.close()


def unfold(window):
    window.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true })")


def wider_than_the_window(window):
    return window.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_axe_finds_nothing_serious_folded_and_unfolded(window, page):
    window.goto(page.as_uri())
    found = []
    for _ in range(2):
        found += serious_violations(window)
        unfold(window)
    assert found == []


def test_what_is_wide_scrolls_by_itself(window, page):
    window.goto(page.as_uri())
    unfold(window)
    assert wider_than_the_window(window) == 0
    table = window.locator(".wide:has(.dataframe)")
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")


def test_it_fetches_nothing_and_keeps_its_own_rules(window, page):
    requests, messages = [], []
    window.on("request", lambda request: requests.append(request.url))
    window.on("console", lambda message: messages.append(message.text))
    window.goto(page.as_uri())
    assert [url for url in requests if not url.startswith("data:")] == [page.as_uri()]
    assert messages == []


@pytest.fixture
def hostile(tmp_path):
    """The page of a stranger's run, without the policy that would hold back what slipped through."""
    everything = "\n\n".join(HOSTILE)
    kinds = [{"text_html": one} for one in HOSTILE] + [{"text_markdown": one} for one in HOSTILE]
    outputs = [*(shown(**kind) for kind in kinds), stream(everything)]
    events = [started(everything, model=everything, settings={everything: everything}), proposed("1.1", everything)]
    events += [ran("1.1", *outputs, note=everything), finished(code=everything, reason=everything)]
    made = export_run(recorded(events), "html", tmp_path / "'\"><script>alert(1)</script>.ipynb")
    without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", made)
    assert without != made
    path = tmp_path / "hostile.html"
    path.write_text(without)
    return path


def test_what_a_stranger_wrote_does_nothing(window, hostile):
    done = []
    window.on("dialog", lambda dialog: (done.append(dialog.message), dialog.dismiss()))
    window.on("request", lambda request: done.append(request.url))
    window.goto(hostile.as_uri())
    unfold(window)
    window.wait_for_load_state("networkidle")
    assert [one for one in done if not one.startswith("data:")] == [hostile.as_uri()]
    assert window.locator("h1, main").count() == 2


def test_all_of_it_is_printed(window, page):
    window.goto(page.as_uri())
    window.emulate_media(media="print")
    window.set_viewport_size({"width": 720, "height": 900})
    assert window.get_by_text("networkx==3.6.1").is_visible()
    assert window.get_by_text("G = nx.karate()").is_visible()
    assert wider_than_the_window(window) == 0
    cut = "one => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1"
    assert window.locator("pre, .wide").evaluate_all(f"all => all.filter({cut}).map(one => one.textContent)") == []
