"""Selection by evidence, in its documented order."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Candidate, Change, ErrorInfo, Experience, Observation, Subtask
from exploracoder_jupyter.pipeline.exploring.candidate_selection import select
from exploracoder_jupyter.pipeline.exploring.output_similarity import is_informative, outputs_agree

TASK = Subtask("1", "count")


def tried(number, text="", *, code="x", ran=True, apis=()):
    error = None if ran else ErrorInfo("ValueError", "no")
    observation = Observation("ok" if ran else "error", text=text, error=error)
    return Experience(TASK, Candidate(f"1.{number}", "1", code), observation, apis)


def chosen(*experiences, recommended=()):
    best, selection = select(experiences, recommended)
    assert selection.candidate == best.candidate.id
    return best.candidate.id, selection.reasons


def test_what_ran_beats_what_failed():
    assert chosen(tried(1, ran=False), tried(2))[0] == "1.2"


def test_agreement_beats_a_lone_answer_that_came_first():
    best, reasons = chosen(tried(1, "17"), tried(2, "length 4"), tried(3, "4"))
    assert best == "1.2"
    assert "gives the same as 1 other" in reasons


def test_a_lone_fact_does_not_agree_with_every_richer_output():
    poor, rich, alike = tried(1, "5"), tried(2, "5 nodes, 7 edges, 'a', 'b'"), tried(3, "nodes 5 edges 7 'a' 'b' True")
    assert not outputs_agree(poor, rich)
    assert outputs_agree(rich, alike)
    assert chosen(poor, rich, alike)[0] == "1.2"


def test_information_beats_silence():
    assert chosen(tried(1, ""), tried(2, "[]"), tried(3, "7 beans"))[0] == "1.3"


def test_recommended_apis_decide_between_equals_then_brevity():
    assert chosen(tried(1, "4"), tried(2, "4", apis=("m.f",)), recommended=["m.f"])[0] == "1.2"
    assert chosen(tried(1, "4", code="long code"), tried(2, "4", code="s"))[0] == "1.2"


def test_assertions_that_held_decide_between_equals():
    best, reasons = chosen(tried(1, "4"), tried(2, "4", code="n = 4\nassert n > 0"))
    assert best == "1.2"
    assert "its own assertion passed" in reasons
    empty = ["assert True", "assert 1 < 2", "def f(n):\n    assert n", "# assert n > 0"]
    for code in empty:
        assert chosen(tried(1, "4", code="n"), tried(2, "4", code=code))[0] == "1.1"
    assert chosen(tried(1, "4"), tried(2, "4"), tried(3, "9", code="assert n"))[0] == "1.1"


def test_an_assertion_that_failed_speaks_for_nothing():
    assert chosen(tried(1, "4", code="assert n", ran=False), tried(2, ""))[0] == "1.2"


def test_the_first_among_equals_and_a_reason_when_none_ran():
    best, reasons = chosen(tried(1, ran=False), tried(2, ran=False))
    assert best == "1.1"
    assert reasons[0] == "none ran"


def test_addresses_are_no_facts():
    one, other = tried(1, "<Graph at 0x7f0011223344>"), tried(2, "<Graph at 0x7f5566778899>")
    assert outputs_agree(one, other)
    assert not outputs_agree(tried(1, "a"), tried(2, "b"))


@pytest.mark.parametrize("other", ["[3, 2, 1, 0]", "3", "[[0, 1, 2, 3]]", "list [3, 2, 1, 0]"])
def test_other_values_are_not_the_same(other):
    assert not outputs_agree(tried(1, "[0, 1, 2, 3]"), tried(2, other))


@pytest.mark.parametrize("other", ["list [0, 1, 2, 3]", "(0, 1, 2, 3)", "[0.0, 1.0, 2.0, 3.0]"])
def test_values_are_the_same_however_they_are_written(other):
    assert outputs_agree(tried(1, "[0, 1, 2, 3]"), tried(2, other))


def test_another_kind_of_thing_in_the_same_name_is_not_the_same():
    graph = holding(1, "Graph Graph with 5 nodes and 4 edges", G="networkx.Graph")
    module = holding(2, "module <module 'networkx' from 'x'>", G="module", nx="module")
    count = holding(3, "int 5", G="int", G_="networkx.Graph")
    assert not any(outputs_agree(graph, other) for other in (module, count))
    assert "gives the same" not in " ".join(chosen(graph, module, count)[1])
    assert outputs_agree(graph, holding(4, "Graph Graph with 5 nodes and 4 edges", G="networkx.Graph", n="int"))


def test_results_of_other_types_are_the_same_only_as_equal_values():
    graph, table = holding(1, "5 nodes 4 edges", g="networkx.Graph"), holding(2, "5 nodes 4 edges!", t="m.Table")
    assert not outputs_agree(graph, table)
    assert outputs_agree(holding(1, "5", g="networkx.Graph"), holding(2, "5", n="int"))


def holding(number, text, **types):
    experience = tried(number, text)
    return replace(experience, observation=replace(experience.observation, names=tuple(types.items())))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None\n",
        "[]",
        " {} ",
        "dict {}",
        "Graph Graph with 0 nodes and 0 edges",
        "networkx.Graph: undirected, 0 nodes, 0 edges",
        "pandas.DataFrame: 0 rows x 1 columns, 132 bytes\n  a: float64",
        "DataFrame Empty DataFrame\nColumns: [a]\nIndex: []",
        "numpy.ndarray: shape (0,), dtype float64, 0 bytes, empty",
        "module <module 'networkx' from '/lib/networkx/__init__.py'>",
    ],
)
def test_empty_outputs_inform_of_nothing(text):
    assert not is_informative(text)
    assert not outputs_agree(tried(1, text), tried(2, text))


@pytest.mark.parametrize("text", ["0", "[0]", "10 rows", "DataFrame    a\n0  1", "list: empty\nint: 4"])
def test_little_is_more_than_nothing(text):
    assert is_informative(text)


def bound(number, summary, *, type_="list", text=""):
    """A candidate that binds a value, and may print something."""
    experience = tried(number, text)
    changes = (Change("math", "new", "module", "module: math 3.1"), Change(f"n{number}", "new", type_, summary))
    return replace(experience, observation=replace(experience.observation, changes=changes))


def test_what_binds_a_value_informs_as_what_prints_it():
    best, reasons = chosen(tried(1), bound(2, "list: 2 items\n  [4, 7]"))
    assert best == "1.2"
    assert "informative output" in reasons


def test_what_is_bound_agrees_with_what_is_printed():
    assert outputs_agree(bound(1, "int: 17"), tried(2, "17"))
    assert outputs_agree(bound(1, "int: 17"), bound(2, "int: 17"))
    assert not outputs_agree(bound(1, "int: 17"), bound(2, "int: 18"))


def test_what_is_printed_counts_before_what_is_bound():
    assert not outputs_agree(bound(1, "int: 17", text="18"), tried(2, "17"))


def test_modules_functions_and_none_are_no_results():
    silent = [bound(number, "x 17", type_=type_) for number, type_ in enumerate(("function", "NoneType", "type"))]
    assert not outputs_agree(silent[0], silent[1])
    assert chosen(*silent)[1][-1] == "no informative output"
