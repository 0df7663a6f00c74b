"""Any value is summarized in a few lines, whatever it does, and is left unchanged."""

import itertools
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.kernel_agent.summaries import forked_probe, summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, TypeFamily
from exploracoder_jupyter.kernel_agent.summaries.summarizer import MAX_LENGTH, Summarizer, Summary

NOTE = 120
"""A summary may be longer by one note."""


def summarize(value, **formatter):
    (summary,) = Summarizer(**formatter).tell([value])
    assert len(summary.text) <= MAX_LENGTH + NOTE
    assert len(summary.schema) <= MAX_LENGTH + NOTE
    return summary


def forever(*_):
    while True:
        pass


def sleep(*_):
    """Never returns either, and costs no processor time until it is ended."""
    time.sleep(3600)


def bad(*_):
    raise ValueError("bad")


def leave(*_):
    sys.exit("gone")


def lie(result):
    return lambda *_: result


def hostile(name="Hostile", base=object, **members):
    return type(name, (base,), {"__module__": "__main__", **members})


class Evil(str):
    """A module name that is none."""

    partition = __eq__ = split = bad
    __hash__ = str.__hash__


class Meta(type):
    """A metaclass that answers nothing."""

    __getattribute__ = __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __repr__ = bad


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def cyclic():
    value = {"a": []}
    value["a"].append(value)
    return value


HOSTILE = {
    "repr raises": (lambda: hostile(__repr__=bad)(), "its repr raises ValueError: bad"),
    "repr hangs": (lambda: hostile(__repr__=forever)(), "timed out"),
    "repr exits": (lambda: hostile(__repr__=leave)(), "raises SystemExit"),
    "repr is huge": (lambda: hostile(__repr__=lambda self: "x" * 5_000_000)(), "characters]"),
    "repr is odd": (lambda: hostile(__repr__=lie("\ud800\x1b[31m\0"))(), "Hostile: ?\\x1b[31m\\x00"),
    "repr is a lying text": (lambda: hostile(__repr__=lie(hostile(base=str, __len__=sleep)("x")))(), "Hostile"),
    "attributes hang": (lambda: hostile(__getattr__=forever, __getattribute__=forever)(), "Hostile"),
    "length hangs": (lambda: hostile(base=list, __len__=forever, __iter__=forever)([1]), "1 item: int"),
    "iteration never ends": (lambda: hostile(base=dict, __iter__=forever, items=forever)(a=1), "1 item: str to int"),
    "truth hangs": (lambda: hostile(__bool__=forever, __len__=forever)(), "Hostile"),
    "metaclass": (lambda: Meta("Met", (), {})(), ""),
    "class of it": (lambda: Meta("Met", (), {}), "Meta"),
    "module lies": (lambda: type("Named", (), {"__module__": Evil("x.y")})(), "Named"),
    "module is no text": (lambda: type("Named", (), {"__module__": hostile(__getattribute__=bad)()})(), "Named"),
    "llm hangs": (lambda: hostile(_repr_llm_=sleep)(), "timed out"),
    "llm raises": (lambda: hostile(_repr_llm_=bad)(), "raises ValueError"),
    "llm is huge": (lambda: hostile(_repr_llm_=lie("x\n" * 10**4))(), "more cut"),
    "deep": (lambda: deep(100_000), "list: 1 item"),
    "cyclic": (lambda: cyclic(), "dict: 1 item: str to list"),
    "number": (lambda: hostile(base=int, __repr__=forever, __str__=forever, bit_length=forever)(7), "Hostile: 7"),
    "text": (lambda: hostile(base=str, __repr__=forever, __str__=forever)("abc"), "Hostile: 'abc'"),
    "exception": (lambda: hostile(base=Exception, __str__=sleep)("x"), "Hostile"),
}


@pytest.mark.parametrize("make, expected", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_value_costs_a_line(make, expected):
    text = summarize(make()).text  # that it ends at all is half of it
    assert expected in text


def test_a_hanging_value_spares_the_others():
    hang, plain = hostile(__repr__=sleep)(), [1, 2]
    summaries = [summary.text.splitlines()[0] for summary in Summarizer().tell([plain, hang, 3, hang, plain])]
    assert summaries == ["list: 2 items: int", "Hostile", "int: 3", "Hostile", "list: 2 items: int"]


class Counts:
    """Counts how often it is shown, and prints."""

    seen = 0

    def __repr__(self):
        self.seen += 1
        type(self).seen += 1
        sys.stdout.write("printed")
        return "told"


def test_nothing_is_changed_printed_or_kept(capfd):
    value, numbers = Counts(), iter(range(3))
    assert summarize(value).text.startswith(f"{__name__}.Counts: told")
    summarize(numbers)
    assert (value.__dict__, Counts.seen, list(numbers)) == ({}, 0, [0, 1, 2])
    references = sys.getrefcount(value)
    summarize(value)
    assert sys.getrefcount(value) == references
    assert capfd.readouterr() == ("", "")


def test_fully_built_in_values_need_no_process(monkeypatch):
    monkeypatch.setattr(forked_probe, "possible", lambda: False)
    assert [summarize(value).text for value in (1, None, "abc")] == ["int: 1", "NoneType: None", "str: 'abc'"]
    assert summarize(sys) == ("module: sys", "module: sys")
    assert summarize({"a": [(1, 2.5)], "b": {3}}).text.endswith("  'a': [(1, 2.5)]\n  'b': {3}")


def test_without_a_process_only_types_are_named(monkeypatch):
    monkeypatch.setattr(forked_probe, "possible", lambda: False)
    assert summarize(hostile(__repr__=forever)()) == Summary("Hostile", "Hostile")
    assert summarize([1, object()]) == Summary("list", "list")


def test_a_class_describes_itself_and_its_type():
    summary = summarize(hostile(_repr_llm_=lie("two lines\n  of data"))())
    assert summary == Summary("Hostile: two lines\n    of data", "Hostile")


class Formatter:
    """As IPython's, as far as it is asked."""

    def __init__(self, **printers):
        self.printers = printers

    def lookup_by_type(self, kind):
        return self.printers[kind.__name__]


def test_what_is_registered_comes_before_what_is_known():
    formatter = Formatter(
        list=lambda value: f"{len(value)} things", int=lambda value: ("a number", {"meta": 1}), set=bad, dict=lie(None)
    )
    assert summarize([1, 2], formatter=formatter) == Summary("list: 2 things", "list")
    assert summarize(5, formatter=formatter).text == "int: a number"
    assert summarize((1,), formatter=formatter).text == "tuple: 1 item: int\n  (1,)"
    assert summarize({1}, formatter=formatter).text == "set\n  (to tell more raises ValueError)"
    assert summarize({}, formatter=formatter).text == "dict: empty"


@pytest.fixture
def family(monkeypatch):
    """Register a describer of `Known` objects."""

    def register(describe, **more):
        kinds = {f"{__name__.partition('.')[0]}.Known": describe}
        one = TypeFamily(kinds, **more)
        monkeypatch.setitem(summarizer_registry._BY_NAME, next(iter(kinds)), one)

    return register


class Known:
    """Of a type that a family knows."""


def test_facts_before_a_fault_count(family):
    def describe(value, look):
        yield Fact("first")
        yield Fact("data", shows=True, schema="shape")
        yield Fact("secret", shows=True)
        raise KeyError("x")

    family(describe)
    head, note = f"{__name__}.Known: first\n", "\n  (to tell more raises KeyError)"
    assert summarize(Known()) == (f"{head}  data\n  secret{note}", f"{head}  shape{note}")


def test_facts_before_a_hang_count(family):
    family(lambda value, look: itertools.chain([Fact("first")], iter(sleep, None)))
    assert summarize(Known()).text == f"{__name__}.Known: first\n  (summary timed out)"


def test_what_a_fork_lacks_is_described_here(family):
    looked = []

    def describe(value, look):
        looked.append(look.short(Counts()))
        yield Fact("seen")

    family(describe, in_process=True)
    assert summarize(Known()).text == f"{__name__}.Known: seen"
    assert (len(looked), Counts.seen) == (1, 0)


def test_what_is_left_out_is_counted(family):
    family(lambda value, look: (Fact(f"{number} {'x' * 50}") for number in range(100)))
    lines = summarize(Known()).text.splitlines()
    whole = sum(line.endswith("x" * 50) for line in lines)
    assert lines[-1] == f"  ... {100 - whole} more cut"


def test_a_describer_that_never_ends_is_not_counted(family):
    family(lambda value, look: itertools.repeat(Fact("x" * 100)))
    assert summarize(Known()).text.endswith("... more cut")


SECRET = "s3cret"
VALUES = {
    "text": SECRET,
    "bytes": SECRET.encode(),
    "list": [SECRET],
    "dict": {SECRET: SECRET, "other": {SECRET: 1}},
    "record": [{"name": SECRET}, {"name": SECRET}],
    "dicts in records": [{"a": {SECRET: 1}}, {"a": {SECRET: 2}}],
    "object": SimpleNamespace(field=SECRET),
    "repr": hostile(__repr__=lie(SECRET))(),
    "default": lambda value=SECRET: value,
    "exception": ValueError(SECRET),
    "generator": (SECRET for _ in [SECRET]),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_schema_holds_no_data(value):
    assert SECRET not in summarize(value).schema


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text() | st.binary()
keys = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner) | st.sets(keys) | st.frozensets(keys)
    ),
    max_leaves=50,
)


@given(st.lists(nested, max_size=5))
def test_any_nesting_is_described_within_bounds(values):
    before = repr(values)
    summaries = Summarizer().tell(values)
    assert repr(values) == before
    assert len(summaries) == len(values)
    for summary in summaries:
        assert len(summary.text) <= MAX_LENGTH and len(summary.schema) <= MAX_LENGTH
        assert summary.text.encode() and "to tell more" not in summary.text
