"""What people read of searches: in the cells of a run, on the command line, in the panel."""

import pytest

from exploracoder_jupyter.cli.live_view import EventLines
from exploracoder_jupyter.core.events import KnowledgeSearched, LookedUp, SubtaskStarted
from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.trace import render
from tests.unit.factories import api, failed, planned, proposed, recorded, started

PAGE = Passage("web", "A <b>page</b>", "text", 'https://answers.example/?a=1&b="2"', licence="CC BY-SA 4.0")
CODE = Passage("snippet", "count them", "x = 1", "snippet 1 of networkx", code=True)
HOSTILE = Passage("documentation", "</details><script>x()</script>", "text", "javascript:alert(1)")
AGAIN = KnowledgeSearched("1.1", 1, "explained", "count", tuple(f"networkx.f{i}" for i in range(6)), (CODE,))


def events(*more):
    before = [started(), planned("Count", "Draw"), KnowledgeSearched("1", 0, "subtask", "Count", ("networkx.f",))]
    return [*before, SubtaskStarted("1", (api("networkx.f"),)), proposed("1.1", "x"), failed("1.1"), *more]


def headings(*more):
    return [cell["source"] for cell in render(recorded(events(*more))).cells if cell["source"].startswith("### ")]


def test_a_search_after_a_failure_is_one_line():
    _, heading = headings(AGAIN)
    assert "*Searched again (explained code):* found <code>networkx.f0</code>" in heading
    assert "<code>networkx.f3</code> and 2 more APIs; “count them”." in heading
    assert heading.count("Searched") == 1


def test_agreeing_rounds_say_so():
    agreed = KnowledgeSearched("1.1r1", 2, "error", "q", ("networkx.f0",), agreed=True)
    nothing = KnowledgeSearched("1.1", 1, "error", "q", ())
    _, heading = headings(proposed("1.1r1", "y", round=1, repairs="1.1"), failed("1.1r1"), nothing, agreed)
    assert heading.count("Searched again (the error)") == 1
    assert "found <code>networkx.f0</code>, the same as before." in heading


def test_passages_are_folded_with_their_places_and_licences():
    _, heading = headings(AGAIN, KnowledgeSearched("1.1", 1, "error", "q", (), (PAGE, CODE)))
    [folded] = [part for part in heading.split("\n\n") if part.startswith("<details><summary>Passages")]
    assert "Passages found (2)" in folded
    assert 'href="https://answers.example/?a=1&amp;b=&quot;2&quot;"' in folded
    assert "web page; A &lt;b&gt;page&lt;/b&gt;; " in folded and "CC BY-SA 4.0" in folded
    assert "code that ran before; count them; <code>snippet 1 of networkx</code>" in folded


def test_a_sources_text_carries_no_markup():
    _, heading = headings(KnowledgeSearched("1", 0, "subtask", "q", (), (HOSTILE,)))
    assert "<script>" not in heading and heading.count("</details>") == 2
    assert "href" not in heading and "<code>javascript:alert(1)</code>" in heading


def test_passages_stand_with_plan_and_solution():
    more = [KnowledgeSearched("plan", 0, "task", "q", (), (CODE,)), proposed("s1", "x"), failed("s1")]
    plan, _, solution = headings(*more, KnowledgeSearched("s1", 1, "error", "q", ("networkx.g",), (PAGE,)))
    assert "count them" in plan and "answers.example" not in plan
    assert "found <code>networkx.g</code>; “A" in solution and "answers.example" in solution


def test_look_ups_are_named_once():
    _, heading = headings(*(LookedUp("1.1", "search_api", "count `them`", "a") for _ in range(2)))
    assert heading.count("*Looked up while writing:* <code>count &#96;them&#96;</code>") == 1


def test_look_up_without_argument_is_its_tool():
    event = LookedUp("1.1", "get_imports", "", "Every name is defined.")
    lines = []
    take = EventLines(lines.append)
    for record in recorded(events(event)):
        take(record)
    assert lines[-1].endswith("Looked up: get_imports") and "<code>get&#95;imports</code>" in headings(event)[-1]


def test_a_search_for_an_unknown_candidate_is_ignored():
    assert headings(KnowledgeSearched("9.9", 1, "error", "q", ("networkx.g",))) == headings()


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        (
            AGAIN,
            "Searched again after 1.1 (explained code): found networkx.f0, networkx.f1, networkx.f2, “count them”.",
        ),
        (KnowledgeSearched("1.1", 1, "error", "q", ()), "Searched again after 1.1 (the error): found nothing."),
    ],
)
def test_the_command_line_reports_such_a_search(search, expected):
    lines = []
    take = EventLines(lines.append)
    for record in recorded(events(search)):
        take(record)
    assert expected in lines[-1]
    assert not any("Searched" in line for line in lines[:-1])
