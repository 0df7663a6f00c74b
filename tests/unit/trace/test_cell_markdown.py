"""How a heading describes the candidates, in one line."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from exploracoder_jupyter.core.events import CandidateSelected, RunFinished, SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.core.types import Selection, Usage, Verdict
from exploracoder_jupyter.export.html import generated_html
from exploracoder_jupyter.text.characters import fenced
from exploracoder_jupyter.trace.markdown import cost_table, html, patch_markdown, prose
from tests.unit.factories import failed, finished, planned, proposed, ran, started
from tests.unit.texts import formulas
from tests.unit.trace.views import viewed, with_role


def heading(observed, *, code="x"):
    begun = (started(), planned("Write a file"), SubtaskStarted("1", ()), proposed(observed.candidate, code))
    return first_source("subtask", *begun, observed)


def wrote(observed, *files):
    return replace(observed, observation=replace(observed.observation, files=files))


@pytest.mark.parametrize(
    ("observed", "files", "words"),
    [
        (ran, (), "Tried: **1.1** ran."),
        (ran, ("out.csv",), "Tried: **1.1** ran, wrote <code>out.csv</code>."),
        (ran, ("out/a.csv", "out/b.csv", "c.png"), "Tried: **1.1** ran, wrote <code>out/a.csv</code> and 2 more."),
        (failed, ("out.csv",), "failed (KeyError: 'x'), wrote <code>out.csv</code>."),
        (ran, ("<b>x</b>",), "wrote <code>&lt;b&gt;x&lt;/b&gt;</code>"),
    ],
)
def test_files_of_a_candidate_are_one_clause(observed, files, words):
    assert words in heading(wrote(observed("1.1"), *files))


FORMULAS = [
    "$\\style{cursor:url(//host/x),auto}{x}$",
    "$$\\style{cursor:url(//host/x),auto}{x}$$",
    "\\(\\style{cursor:url(//host/x),auto}{x}\\)",
    "\\begin{equation}\\style{cursor:url(//host/x),auto}{x}\\end{equation}",
    "&#36;&bsol;style{cursor:url(//host/x),auto}{x}&dollar;",
]


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("escaped", [prose, html])
def test_formulas_in_foreign_text_stay_text(escaped, text):
    """A front end looks for formulas in the page, after entities have been decoded."""
    markup = generated_html(escaped(text))
    assert unescape(re.sub(r"<[^>]*>", "", markup)).strip() == text
    assert not formulas(markup)


@pytest.mark.parametrize(
    "line",
    ["```", "  ```", " ````", "\t```", "+```\n</pre><img src=x>", " ``` ~~~", "`" * 30, "~~~", "  ~~~~", "`````\r# x"],
)
def test_patches_stay_inside_their_fence(line):
    patch = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n {line}\n+# Outside <img src=x>\n"
    fence, *after = MarkdownIt("commonmark").parse(patch_markdown(patch))
    assert (fence.type, fence.info, fence.content) == ("fence", "diff", patch.replace("\r", "\n"))
    assert [token.type for token in after] == ["paragraph_open", "inline", "paragraph_close"]


@given(st.lists(st.sampled_from(["`", "~", " ", "\n", "\t", "\r", ">", "- ", "a", "    "]), max_size=40).map("".join))
def test_whatever_is_fenced_stays_inside(code):
    [fence] = MarkdownIt("commonmark").parse(fenced(code, "py`thon"))
    assert fence.info == "python"
    assert fence.content.rstrip("\n") == re.sub(r"\r\n?", "\n", code).rstrip("\n")


def first_source(role, *events):
    """The text of the first cell of this role."""
    return with_role(viewed(events), role)[0]["source"]


def test_a_failed_check_differs_from_a_crash():
    missed, crashed = failed("s1", "AssertionError", "m == 4"), failed("s2", "KeyError", "'x'")
    missed = replace(missed, observation=replace(missed.observation, unmet="check"))
    events = (started(), planned("a"), proposed("s1", "m = 3"), missed, proposed("s2", "{}['x']"), crashed)
    source = first_source("subtask", *events)
    assert "**s1** ran, but its check failed (AssertionError: m == 4)" in source
    assert "**s2** failed (KeyError: 'x')" in source


def test_a_kept_failure_is_not_carried_forward():
    kept = Selection("1", "1.1", ("none ran", "its failure is kept as experience"))
    events = (started(), planned("a"), SubtaskStarted("1", ()), proposed("1.1", "x"), failed("1.1"))
    source = first_source("subtask", *events, CandidateSelected(kept), SubtaskFinished("1", "failed", "KeyError: 'x'"))
    assert "✗ **None ran**; the failure of candidate 1.1 is kept as experience." in source
    assert "carried forward" not in source


def test_steps_are_named_as_people_call_them():
    names = {"introduce": "introduction", "recommend": "APIs", "recommend_global": "APIs for the solution"}
    end = replace(finished(), usage_by_step=dict.fromkeys((*names, "invent", "judge", "plan"), Usage(1)))
    summary = first_source("summary", started(), planned("a"), end)
    rows = [line.split("|")[1].strip() for line in summary.splitlines() if line.startswith("| ")]
    assert rows == [
        "Step",
        "introduction",
        "plan",
        "APIs",
        "APIs for the solution",
        "test inputs",
        "judging",
        "**all**",
    ]
    saved = replace(end, usage_by_step=dict(sorted(end.usage_by_step.items())))
    assert first_source("summary", started(), planned("a"), saved) == summary


def test_the_offline_model_is_sent_requests():
    plan = first_source("plan", started(model="offline"), planned("a"), finished())
    assert "Cost: 5 requests, " in plan


def test_the_cost_table_shows_money_if_any():
    usage = Usage(2, 500, 100, 7.5, 9, cached_tokens=300, cost=0.0125, currency="EUR")
    steps = {"plan": usage, "execute": Usage(executions=9)}
    head, line, *rows = cost_table(RunFinished(Verdict("solved", "It ran."), None, usage, steps)).splitlines()
    assert head.endswith("| Cached tokens | Cost (EUR) |")
    assert [row.rpartition("| 7.5 ")[2] for row in (rows[0], rows[-1])] == ["| 300 | 0.0125 |"] * 2
    assert {row.count("|") for row in (head, line, *rows)} == {9}
    plain = cost_table(RunFinished(Verdict("solved", "It ran."), None, Usage(2, 500), {"plan": Usage(2, 500)}))
    assert "Cost" not in plain and "Cached" not in plain
