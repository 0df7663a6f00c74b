"""How a cell is described to a model: the most informative first, within a budget, never silently cut."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies

from exploracoder_jupyter.core.types import Candidate, Change, ErrorInfo, Experience, Observation, Subtask
from exploracoder_jupyter.pipeline.prompting.documentation import mask_marks, quote, shorten, shorten_code
from exploracoder_jupyter.pipeline.prompting.observations import MOST_CHARACTERS, format_cells, strip_costs

REPORT = "KeyError: 'x'\n  line 1 of the cell: d['x']"
FAILED = Observation(
    "error",
    text="so far",
    error=ErrorInfo("KeyError", "'x'", "long traceback", REPORT, nearest=("Graph.nodes: property", "Graph.edges")),
    seconds=0.2,
    names=(("d", "dict"),),
    changes=(Change("d", "new", "dict", "dict: empty"),),
    warnings=("FutureWarning: use len",),
)
FRAME = "pandas.DataFrame: 3 rows x 2 columns\n  price: int64"
RAN = Observation(
    "ok",
    text="done",
    seconds=2.34,
    changes=(
        Change("df", "mutated", "pandas.DataFrame", FRAME, "", "2 x 2"),
        Change("n", "new", "int", "int: 3"),
        Change("f", "rebound", "function"),
    ),
    warnings=("FutureWarning: use len", "UserWarning: slow"),
    logs=("WARNING lib: odd",),
    files=("out.csv", "plots/a.png"),
    memory=120_000_000,
)


def describe(*observations, most=20_000, code="x"):
    cells = [
        Experience(Subtask("1", "count"), Candidate(f"1.{number}", "1", code), observation)
        for number, observation in enumerate(observations)
    ]
    return "\n\n".join(format_cells(cells, most))


def lines(observation, **more):
    return describe(observation, **more).splitlines()[4:]


def test_a_cell_that_ran_is_described_fully():
    assert lines(RAN) == [
        "It ran.",
        "Output:",
        "done",
        "Names now:",
        "- df (mutated, before: 2 x 2): pandas.DataFrame: 3 rows x 2 columns",
        "  price: int64",
        "- n (new): int: 3",
        "- f (rebound): function",
        "Warnings:",
        "- FutureWarning: use len",
        "- UserWarning: slow",
        "Files written: out.csv, plots/a.png",
        "Logged:",
        "- WARNING lib: odd",
        "It took 2.3 s and grew by 120 MB.",
    ]


def test_a_failed_cell_begins_with_its_report():
    assert lines(FAILED) == [
        "It failed (error).",
        "Error:",
        *REPORT.splitlines(),
        "Did you mean:",
        "- Graph.nodes: property",
        "- Graph.edges",
        "Output:",
        "so far",
        "Warnings:",
        "- FutureWarning: use len",
    ]


def test_a_shown_and_bound_value_is_described_once():
    text = describe(replace(RAN, text=f"hello\n{FRAME}"))
    assert text.count("3 rows x 2 columns") == 1
    assert "- df (mutated, before: 2 x 2): pandas.DataFrame, as shown above" in text


def test_a_message_missing_in_the_report_is_shown():
    error = ErrorInfo("Timeout", "did not end within 3 s", report="KeyboardInterrupt\n  line 2 of the cell: wait()")
    observation = Observation("timeout", error=error, note="did not end within 3 s")
    assert lines(observation)[1:] == [
        "Error:",
        "Timeout: did not end within 3 s",
        "KeyboardInterrupt",
        "  line 2 of the cell: wait()",
    ]


MANY = replace(
    FAILED,
    status="ok",
    error=None,
    text="t" * 9000,
    changes=tuple(Change(f"n{i}", "new", "list", f"list: of {i}\n" + "item " * 200) for i in range(50)),
    warnings=tuple(f"UserWarning: {i} " + "w" * 200 for i in range(20)),
    logs=tuple(f"log {i} " + "l" * 200 for i in range(20)),
    files=tuple(f"file{i}.csv" for i in range(500)),
)
LONG = {
    "an output": (replace(RAN, text="t" * 9000), "characters left out"),
    "a report": (replace(FAILED, error=replace(FAILED.error, report=REPORT + "r" * 9000)), "characters left out"),
    "changes": (replace(MANY, text=""), "more: n"),
    "warnings": (MANY, "- and 19 more"),
    "files": (MANY, "Files written: file0.csv"),
}


@pytest.mark.parametrize(("observation", "expected"), LONG.values(), ids=LONG)
def test_an_observation_has_a_budget_and_notes_cuts(observation, expected):
    text = describe(observation, most=100_000)
    assert expected in text
    assert len(text) < MOST_CHARACTERS * 1.2


def test_values_that_do_not_fit_are_shortened():
    text = describe(replace(MANY, text="", warnings=(), logs=(), files=()))
    assert "- n0 (new): list: of 0\nitem item" in text
    assert "[more cut]" in text
    assert "more: n" in text


def test_short_cells_leave_their_room_to_long_ones():
    long = replace(RAN, text="t" * 3000)
    text = describe(RAN, RAN, long, most=5000)
    assert "characters left out" not in text
    assert "characters left out" in describe(long, long, long, most=5000)


@pytest.mark.parametrize(("sizes", "most"), [([3900], 4500), ([2600] * 4, 12_000), ([100, 3000], 3900), ([3300], 3700)])
def test_what_fits_is_shown_whole(sizes, most):
    cells = [replace(RAN, text="\n".join(f"{n}: row" for n in range(size // 9))) for size in sizes]
    whole = describe(*cells, most=10**6)
    assert len(whole) <= most
    assert describe(*cells, most=most) == whole


@given(strategies.lists(strategies.integers(1, 5000), min_size=1, max_size=6), strategies.integers(700, 9000))
def test_cells_are_cut_only_if_together_too_long(sizes, most):
    cells = [replace(RAN, text="t" * size) for size in sizes]
    whole, text = describe(*cells, most=10**6), describe(*cells, most=most)
    if len(whole) <= most:
        assert text == whole
    else:
        assert len(text) <= max(most, 700 * len(sizes)) * 1.2


@given(strategies.text("ab \n", max_size=400), strategies.integers(10, 200))
def test_a_gap_is_longer_than_its_note(text, most):
    short = shorten(text, most)
    assert len(short) <= max(len(text), most)
    assert short == text or len(text) > most


def test_code_is_cut_between_lines():
    code = "\n".join(f"value_{n} = compute({n})  # {'x' * (n % 40)}" for n in range(400))
    text = describe(RAN, most=2000, code=code)
    shown = [line for line in text.splitlines() if "value_" in line]
    assert 10 < len(shown) < 100
    assert set(shown) <= set(code.splitlines())
    assert "lines left out" in text
    assert "price: int64" in text


def test_many_cells_keep_within_their_budget():
    assert len(describe(*[MANY] * 8, most=9000, code="c = 1\n" * 500)) < 13_000


def test_prompts_of_equal_runs_differ_in_measurements_only():
    """A slower run says what an experiment took; its quotation then has another mark."""
    slow = quote(describe(RAN))
    fast = quote(describe(replace(RAN, seconds=0.2, memory=0)))
    assert slow != fast
    first, second = (mask_marks(strip_costs(text)).split() for text in (slow, fast))
    assert first == second and "done" in first


COLUMNS = "pandas.DataFrame: 2 rows x 2 columns\n  a: int64\n"
TABLE = f"{COLUMNS}  all rows:\n    a | b\n    1 | x\n    2 | y\n  a: int64, mean 1.5"


@pytest.mark.parametrize(
    ("type_", "summary", "printed", "left"),
    [
        ("pandas.DataFrame", TABLE, "   a  b\n0  1  x\n1  2  y", ["a: int64, mean 1.5"]),
        ("dict", "dict: 2 items\n  'a': 1\n  'b': [1, 2]", "{'a': 1, 'b': [1, 2]}", []),
        ("list", "list: 3 items: int\n  [1, 2, 3]", "found [1, 2, 3]", []),
        ("int", "int: 17", "count: 17", []),
        ("str", "str: 'hello'", "hello", []),
    ],
)
def test_what_was_printed_is_not_summarized_beside_it(type_, summary, printed, left):
    shown = lines(Observation("ok", text=printed, changes=(Change("x", "new", type_, summary),)))
    head, *facts = shown[shown.index("Names now:") + 1 :]
    assert "as shown above" in head and [fact.strip() for fact in facts] == left


@pytest.mark.parametrize("printed", ["170 beans", "(2, 2)", ""])
def test_what_was_not_printed_is_summarized(printed):
    changes = (Change("n", "new", "int", "int: 17"), Change("t", "new", "pandas.DataFrame", TABLE))
    text = describe(Observation("ok", text=printed, changes=changes))
    assert "int: 17" in text and "    2 | y" in text


GRAMMAR = "query ::= term | query 'and' term\nterm  ::= field ':' value\nfield ::= letter+"


def test_a_grammar_is_cut_after_prose():
    prose = "\n\n".join(f"Paragraph {n}. {'It is a language. ' * 15}" for n in range(60))
    text = describe(Observation("ok", text=f"{prose}\n\n{GRAMMAR}\n\n{prose}"))
    assert GRAMMAR in text and "characters left out" in text
    assert len(text) < MOST_CHARACTERS * 1.2


@pytest.mark.parametrize("most", [80, 120, 160])
def test_code_is_cut_between_statements(most):
    calls = [f"value{number} = make(\n    {number},\n)" for number in range(20)]
    lines = shorten_code("\n".join(calls), most).splitlines()
    [cut] = [place for place, line in enumerate(lines) if line.startswith("# ...")]
    assert lines[cut - 1] == ")" and (cut + 1 == len(lines) or lines[cut + 1].startswith("value"))
