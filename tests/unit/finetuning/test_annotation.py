"""Samples, calls, queries and filters of annotated code."""

from exploracoder_jupyter.core.types import ScoredApi
from exploracoder_jupyter.finetuning.annotation import (
    AnnotatedSample,
    annotate,
    ask_queries,
    find_calls,
    queries,
    unsuitable,
)
from exploracoder_jupyter.finetuning.corpus import BenchmarkOverlap, Sample, SourceText, find_aliases, split_samples
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline.prompting.lookup_notation import find_lookups, find_request, strip_lookups
from tests.unit.world import FewApis, api

KNOWLEDGE = FewApis(
    [
        api("tables.read", "Load a table from a file."),
        api("tables.Table", "Rows under named columns.", kind="class"),
        api("tables.Table.sort_by", "Order the rows by one column.", kind="method"),
        api("tables.join", "Combine two tables on a shared column."),
        api("tables.plot", "Draw it."),
    ]
)
FILE = '''
import tables as tb
from tables import join
import os

@os.cache
def largest(path, column):
    """Find the rows with the largest values.

    >>> rows = tb.read("x.csv")
    >>> connect()  # doctest: +SKIP
    >>> tb.read("")
    Traceback (most recent call last):
    ValueError: no name
    >>> rows.first()
    1

    Columns can be joined from elsewhere:

    >>> join(rows, rows)
    """
    # keep the original order for equal values
    rows = tb.read(path)
    return rows
'''


def _calls(code):
    return [(call.api.path, code[call.start :].split("(")[0]) for call in find_calls(code, KNOWLEDGE.lookup)]


async def _annotated(sample, library=KNOWLEDGE, search=None):
    calls = find_calls(sample.code, library.lookup)

    async def choose(sample, calls):
        return [[*queries(sample, call, alone=len(calls) == 1)] for call in calls]

    return await annotate(
        sample, calls, path="a.py", licence="MIT", search=search or library.search, choose_queries=choose
    )


def test_a_documented_function_is_a_sample_with_imports():
    function = split_samples(SourceText("a.py", FILE, "MIT"), {})[0]
    assert (function.task, function.name) == ("Find the rows with the largest values.", "largest")
    assert function.code.splitlines()[:3] == [
        "import tables as tb",
        "def largest(path, column):",
        "    # keep the original order for equal values",
    ]
    assert "os" not in function.code and '"""' not in function.code


def test_docstring_examples_are_a_sample_with_comments():
    aliases = find_aliases([FILE, "import other as tb"] * 2 + [FILE])
    examples = split_samples(SourceText("a.py", FILE, "MIT"), aliases)[1]
    assert examples.code == (
        'import tables as tb\nrows = tb.read("x.csv")\nrows.first()\n'
        "# Columns can be joined from elsewhere\njoin(rows, rows)"
    )


def test_relative_imports_become_absolute():
    source = SourceText(
        "p/q/a.py", 'from ..b import c\ndef f():\n    """Add the values up."""\n    return c()\n', "", "p.q.a"
    )
    assert split_samples(source, {})[0].code.startswith("from p.b import c\n")
    assert split_samples(SourceText("a.py", "def f(:", "MIT"), {}) is None


def test_calls_are_found_through_aliases_and_objects():
    code = "import tables as tb\nfrom tables import join as j\nt = tb.Table()\n"
    code += "é = t.sort_by('é'); j(t, t)\nt = 1\nt.sort_by(2)\n"
    assert _calls(code) == [("tables.Table", "tb.Table"), ("tables.Table.sort_by", "t.sort_by"), ("tables.join", "j")]
    others = "import tables\nread(1)\nraise tables.join(tables.read(2))\ntables.read(3)"  # not the exception, one call
    assert _calls(others) == [("tables.read", "tables.read")]


def test_a_query_is_the_comment_without_the_name():
    code = "import tables\n# use tables.join() to put both tables together\ntables.join(a, b)"
    call = find_calls(code, KNOWLEDGE.lookup)[0]
    found = [query.text for query in queries(Sample("Puts two things together.", code, ""), call, alone=True)]
    assert found == [
        "use to put both tables together",
        "Puts two things together",
        "Combine two tables on a shared column",
    ]
    code = "import tables\n# x = tables.plot(y)\ntables.plot(z)"  # commented-out code, and too few words
    assert [*queries(Sample("Draw.", code, ""), find_calls(code, KNOWLEDGE.lookup)[0], alone=True)] == []


async def test_a_row_without_lookups_is_the_original():
    sample = Sample("Show a file.", "import tables\nx = tables.read('a')\nprint(x)", "line 1")
    row = await _annotated(sample)
    assert isinstance(row, AnnotatedSample) and row.plain_code == sample.code
    assert [(call.api, call.rank) for call in row.calls] == [("tables.read", 1)]
    lookup = find_lookups(row.code)[0]
    assert lookup.query == "Load a table from a file"
    assert lookup.answer.splitlines()[0] == "tables.read(x): Load a table from a file."
    assert row.code[lookup.answer_span[1] :].startswith("tables.read('a')")


async def test_a_call_that_search_misses_is_left_out():
    async def misses(query, k):
        return [ScoredApi(KNOWLEDGE.apis[-1], 1.0)]

    wrong = [
        await _annotated(Sample("Show a file.", f"import tables\ntables.read({n})", ""), search=misses)
        for n in range(100)
    ]
    kept = [row for row in wrong if isinstance(row, AnnotatedSample)]
    assert set(wrong) - set(kept) == {"not found by the search"}
    assert 0 < len(kept) < 25 and {call.rank for row in kept for call in row.calls} == {0}


def test_unsuitable_samples():
    task, code = "Add all values.", "a\nb"
    assert unsuitable(Sample(task, code, "")) is None and unsuitable(Sample("", code, "")) == "no description"
    for code, reason in (
        ("a", "too short"),
        ("a\n" * 4000, "too long"),
        ("a\n'<API>APISearch('", "mentions the notation"),
    ):
        assert unsuitable(Sample(task, code, "")) == reason


def test_a_sample_shared_with_a_problem_is_recognized():
    problem = "frame = load('a.csv')\nresult = frame.group('x').sum().sort_by('y').head(3)\n"
    overlap = BenchmarkOverlap([problem])
    assert f"import b\n{problem.splitlines()[1]}" in overlap
    assert "frame = load('a.csv')" not in overlap and problem not in BenchmarkOverlap([])


async def test_a_model_words_queries_without_the_name():
    code = "import tables\nt = tables.read(1)\ntables.join(t, t)"
    calls = find_calls(code, KNOWLEDGE.lookup)
    reply = '{"queries": [{"call": 1, "query": "open a stored table"}, {"call": 2, "query": "tables.join"}]}'
    model = ScriptedModel([reply, "no JSON"])
    chosen = await ask_queries(model, Sample("Join a table.", code, ""), calls)
    assert [[query.text for query in one] for one in chosen] == [["open a stored table"], []]
    assert await ask_queries(model, Sample("Join a table.", code, ""), calls) == [[], []]


def test_an_invented_answer_is_not_in_the_request():
    text = "x = <API>APISearch(sum (all) rows)->made_up</API>made_up(<API>APISearch(more)->"
    request = find_request(text)
    written = "x = <API>APISearch(sum (all) rows)->"
    assert (request.written, request.query, request.code) == (written, "sum (all) rows", "x = ")
    assert strip_lookups(text) == "x = made_up(<API>APISearch(more)->"
    assert find_request("def f(x)->int: ...") is None
