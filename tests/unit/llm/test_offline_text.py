"""What the offline model reads in a task: clauses, values with roles, target names."""

import pytest

from exploracoder_jupyter.llm.offline.drafts import find_conversions
from exploracoder_jupyter.llm.offline.goals import find_callables
from exploracoder_jupyter.llm.offline.task import find_targets, find_values, split_clauses

GRAPH = (
    "Given the edges ('a','b',4), ('b','c',1), ('a','c',7), build a weighted graph and compute the "
    "shortest path length from 'a' to 'c'; store it in `length`"
)


def test_data_stays_with_the_clause_that_it_introduces():
    first, second = split_clauses(GRAPH, limit=8)
    assert first.startswith("Given the edges ('a','b',4)") and first.endswith("build a weighted graph")
    assert second == "compute the shortest path length from 'a' to 'c' and store it in `length`"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Sort [3, 1] and store the list in `xs`.", 1),
        ("Parse '1; and then 2' then split it. Count the words.", 3),
        ("Fit a model on X = [[1], [2]], y = [1, 2] and predict for 4", 2),
        ("Split `a and join b` into words", 1),
    ],
)
def test_clauses_end_at_sentences_and_verbs(text, count):
    assert len(split_clauses(text, limit=8)) == count


def test_a_sequence_of_tuples_is_one_value_too():
    values = find_values(GRAPH)
    group = next(value for value in values if value.members)
    assert group.code == "[('a','b',4), ('b','c',1), ('a','c',7)]"
    assert group.shape == "list[tuple[str,str,int]]"
    assert len(group.members) == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("store it in `length`", ("length",)),
        ("compute the mean of `data` as `m` and keep the rest in `rest`", ("m", "rest")),
        ("Add the numbers in the list", ()),
    ],
)
def test_target_names(text, names):
    found = find_targets(text)
    assert tuple(name for name in found if name != "data") == names


def test_a_formula_is_a_text_with_subtracted_side():
    codes = [value.code for value in find_values("Solve x**2 - 5*x + 6 = 0 and y**2 = 4 for y")]
    assert codes[:2] == ["'x**2 - 5*x + 6'", "'y**2 - (4)'"]
    assert not find_values("Draw the edges well-known to me in a dark-blue")


def test_a_groups_aggregation_stays_with_the_grouping():
    assert len(split_clauses("Group df by city and compute the mean of temp; store it in `m`", limit=8)) == 1
    assert len(split_clauses("Load the words, group them by length and count each group", limit=8)) == 2
    assert len(split_clauses("Group df by city and draw the result", limit=8)) == 2


def test_given_names_and_two_lists_joined_by_and():
    x, y = find_values("Fit X = [[1], [2]], y = [2, 4]")
    assert (x.name, y.name) == ("X", "y")
    assert [value.code for value in find_values("multiply [[1]] and [[2]]")] == ["[[1]]", "[[2]]"]


def test_wording_suggests_what_to_do_with_a_result():
    def best(text, type_):
        found = find_conversions(text, type_)
        return min(found, key=found.__getitem__)

    assert best("store them as lists", "list[tuple[int,int]]") == "[list(item) for item in {x}]"
    assert best("store it", "generator") == "list({x})"
    assert best("store it", "int") == "{x}"
    assert find_callables("keep numbers greater than 3") == ("lambda x: x > 3",)


def test_lists_after_a_plural_are_a_sequence():
    assert "[['a', 1], ['b', 2]]" in [value.code for value in find_values("the rows ['a', 1] and ['b', 2]")]
