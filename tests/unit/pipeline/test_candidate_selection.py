"""Selection by evidence, in its documented order."""

from dataclasses import replace

import pytest

from exploracoder_jupyter.core.types import Candidate, Change, ErrorInfo, Experience, Observation, Subtask
from exploracoder_jupyter.pipeline.exploring.selection import find_objection, is_informative, outputs_agree, select

TASK = Subtask("1", "count")


def tried(number, text="", *, code="x", ran=True, apis=()):
    error = None if ran else ErrorInfo("ValueError", "no")
    observation = Observation("ok" if ran else "error", text=text, error=error)
    return Experience(TASK, Candidate(f"1.{number}", "1", code), observation, apis)


def chosen(*experiences, recommended=(), task=""):
    best, selection = select(experiences, recommended, task)
    assert selection.candidate == best.candidate.id
    return best.candidate.id, selection.reasons


@pytest.mark.parametrize(
    ("tries", "best"),
    [
        ((tried(1, ran=False), tried(2)), "1.2"),
        ((tried(1, code="assert n", ran=False), tried(2, "")), "1.2"),
        ((tried(1, ran=False), tried(2, ran=False)), "1.1"),
        ((tried(1, "17"), tried(2, "length 4"), tried(3, "4")), "1.2"),
        ((tried(1, ""), tried(2, "[]"), tried(3, "7 beans")), "1.3"),
        ((tried(1, "4"), tried(2, "4", apis=("m.f",))), "1.2"),
        ((tried(1, "4", code="long code"), tried(2, "4", code="s")), "1.2"),
    ],
    ids=["ran", "assertion that failed", "first", "agreement", "information", "recommended", "brevity"],
)
def test_evidence_decides_in_its_order(tries, best):
    assert chosen(*tries, recommended=["m.f"])[0] == best


def test_a_lone_fact_does_not_agree_with_everything():
    poor, rich, alike = tried(1, "5"), tried(2, "5 nodes, 7 edges, 'a', 'b'"), tried(3, "nodes 5 edges 7 'a' 'b' True")
    assert not outputs_agree(poor, rich)
    assert outputs_agree(rich, alike)
    assert chosen(poor, rich, alike)[0] == "1.2"


def test_passed_assertions_decide_between_equals():
    best, reasons = chosen(tried(1, "4"), tried(2, "4", code="n = 4\nassert n > 0"))
    assert best == "1.2"
    assert len(reasons) == 1
    empty = ["assert True", "assert 1 < 2", "def f(n):\n    assert n", "# assert n > 0"]
    for code in empty:
        assert chosen(tried(1, "4", code="n"), tried(2, "4", code=code))[0] == "1.1"
    assert chosen(tried(1, "4"), tried(2, "4"), tried(3, "9", code="assert n"))[0] == "1.1"


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


def test_different_things_of_one_name_disagree():
    graph = holding(1, "Graph Graph with 5 nodes and 4 edges", G="networkx.Graph")
    module = holding(2, "module <module 'networkx' from 'x'>", G="module", nx="module")
    count = holding(3, "int 5", G="int", G_="networkx.Graph")
    assert not any(outputs_agree(graph, other) for other in (module, count))
    assert "other" not in " ".join(chosen(graph, module, count)[1]).split()
    assert outputs_agree(graph, holding(4, "Graph Graph with 5 nodes and 4 edges", G="networkx.Graph", n="int"))


def test_results_of_other_types_must_be_equal():
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


def test_what_is_bound_agrees_with_what_is_printed():
    assert outputs_agree(bound(1, "int: 17"), tried(2, "17"))
    assert outputs_agree(bound(1, "int: 17"), bound(2, "int: 17"))
    assert not outputs_agree(bound(1, "int: 17"), bound(2, "int: 18"))


def test_what_is_printed_counts_before_what_is_bound():
    assert not outputs_agree(bound(1, "int: 17", text="18"), tried(2, "17"))


@pytest.mark.parametrize(
    ("one", "other"),
    [("nodes: 34", "triangles: 34"), ("rows = 3", "columns = 3"), ("34 nodes\n5 edges", "34 cliques\n5 cycles")],
)
def test_few_small_differently_named_numbers_do_not_agree(one, other):
    assert not outputs_agree(tried(1, one), tried(2, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("34", "nodes: 34"), ("n_nodes = 34", "34 nodes"), ("edge mean: 3.14159", "average weight: 3.14159")],
)
def test_the_same_quantity_in_other_words_is_agreement(one, other):
    assert outputs_agree(tried(1, one), tried(2, other))


def test_names_distinguish_what_is_bound_without_words():
    def counted(number, name):
        change = Change(name, "new", "int", "int: 3")
        experience = tried(number, "3")
        return replace(experience, observation=replace(experience.observation, changes=(change,)))

    assert not outputs_agree(counted(1, "n_rows"), counted(2, "n_columns"))
    assert outputs_agree(counted(1, "n_rows"), counted(2, "rowCount"))


@pytest.mark.parametrize(
    "text", ["area(3, 4) is 12.5", "`area(3, 4)` -> 12.5", "For 3 by 4 it returns 12.5, as a float."]
)
def test_the_group_with_the_stated_result_wins(text):
    tries = tried(1, "7.5"), tried(2, "7.5"), tried(3, "7.5"), tried(4, "area 12.5"), tried(5, "12.5", code="long code")
    best, [reason] = chosen(*tries, task=text)
    assert best == "1.4" and "states" in reason
    assert chosen(*tries)[0] == "1.1"


def test_a_result_written_in_code_is_not_computed():
    tries = tried(1, "7.5"), tried(2, "12.5", code="print(12.5)")
    assert chosen(*tries, task="area(3, 4) is 12.5")[0] == "1.1"


NO_EFFECT = "UserWarning: Pandas doesn't allow columns to be created via a new attribute name - see"


def with_warning(number, warning, text="   a\n0  1"):
    experience = tried(number, text)
    return replace(experience, observation=replace(experience.observation, warnings=(warning,)))


def test_a_cell_that_only_warned_comes_last():
    lone = with_warning(1, NO_EFFECT), with_warning(2, NO_EFFECT), tried(3, "[4]", code="much longer code")
    assert chosen(*lone)[0] == "1.3"
    assert "no effect" in chosen(*lone[:2])[1][0]
    assert chosen(with_warning(1, "FutureWarning: use len"), tried(2, "4", code="much longer code"))[0] == "1.1"


def sized(number, title, summary, text=""):
    change = Change("found", "new", summary.partition(":")[0], summary, summary)
    subtask = replace(TASK, title=title)
    return Experience(subtask, Candidate(f"1.{number}", "1", "x"), Observation("ok", text=text, changes=(change,)))


@pytest.mark.parametrize(
    "title",
    ["Select the two rows with the largest area", "Find the 2 nearest entries of the table", "Keep two items."],
)
def test_a_wrong_number_of_rows_contradicts(title):
    one = sized(1, title, "pandas.DataFrame: 1 rows x 3 columns")
    two = sized(2, title, "pandas.DataFrame: 2 rows x 3 columns", text="something longer")
    assert chosen(one, two)[0] == "1.2"
    assert find_objection(one) and not find_objection(two)


@pytest.mark.parametrize(
    "title",
    [
        "Find the mean of the two rows",
        "Select the row with the largest area from the two rows",
        "Select the rows that are among the 2 items",
        "Keep at least 2 rows",
        "Select the largest rows",
        "Find the 2 rows and return the 5 items",
    ],
)
def test_an_unrelated_number_is_harmless(title):
    assert not find_objection(sized(1, title, "list: 1 items: int"))


@pytest.mark.parametrize(
    ("summary", "text"), [("list: 2 items: int", ""), ("int: 4", ""), ("list: 1 items: int", "2 rows")]
)
def test_a_possibly_right_result_meets_no_objection(summary, text):
    assert not find_objection(sized(1, "Select the two rows with the largest area", summary, text))
