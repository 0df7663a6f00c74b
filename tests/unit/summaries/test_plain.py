"""Values of the interpreter and of its standard library, by their structure; what can be read once stays unread."""

import asyncio
import enum
import io
import re
from collections import Counter, defaultdict, deque, namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path, PurePosixPath

import pytest

from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry, value_text
from tests.unit.summaries.described import summarize


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


Point = namedtuple("Point", "x tags")
ROWS = [{"id": number, "tags": ["a"]} for number in range(100)]


def counting(limit):
    yield from range(limit)


async def waiting():
    pass


async def streaming():
    yield 1


EXPECTED = {
    "int": (-3, "int: -3", "int"),
    "huge int": (-(2**40_000), "int: -(about 12,042 digits)", "int"),
    "none": (None, "NoneType: None", "NoneType"),
    "nan": (float("nan"), "float: nan", "float"),
    "str": ("a\n'b'", "str: \"a\\n'b'\"", "str: 5 characters"),
    "bytes": (b"ab\0", "bytes: 3 bytes\n  begins b'ab\\x00'", "bytes: 3 bytes"),
    "range": (range(0, 10, 3), "range: range(0, 10, 3)", "range"),
    "list": (
        list(range(100)),
        "list: 100 items: int\n  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 88 more]\n  min 0, max 99, mean 49.5",
        "list: 100 items: int",
    ),
    "large list": (
        [0.5] * 100_000,
        f"list: 100,000 items: float (as 100 of them are)\n  [{'0.5, ' * 12}... 99,988 more]\n"
        "  min 0.5, max 0.5, mean 0.5 (of 20,000 of them)",
        "list: 100,000 items: float (as 100 of them are)",
    ),
    "mixed": ((1, "a", None, 2.0, b""), "tuple: 5 items: int | str | NoneType | ...\n  (1, 'a', None, 2.0, b'')", None),
    "not numbers": ([1, float("nan"), 2, 3, 4], "list: 5 items: int | float\n  [1, nan, 2, 3, 4]", None),
    "set": ({1}, "set: 1 item: int\n  {1}", "set: 1 item: int"),
    "deque": (deque([1], maxlen=4), "collections.deque: 1 item: int, room for 4\n  {1}", None),
    "pairs": ([(1, "a"), (2, "b")], "list: 2 items: tuple(int, str)\n  [(1, 'a'), (2, 'b')]", None),
    "dict": (
        {"name": "Ann", "rows": ROWS},
        "dict: 2 items: str to str | list of dict(id: int, tags: list of str)\n"
        "  'name': 'Ann'\n  'rows': list of 100 dict(id: int, tags: list of str)",
        "dict: 2 items: str to str | list of dict(id: int, tags: list of str)",
    ),
    "one record": ([{"secret": 1}], "list: 1 item: dict of str to int\n  [{'secret': 1}]", None),
    "unlike records": ([{"a": 1}, {"b": 1}], "list: 2 items: dict of str to int\n  [{'a': 1}, {'b': 1}]", None),
    "default": (
        defaultdict(list, a=[1]),
        "collections.defaultdict: 1 item: str to list of int, default list()\n  'a': [1]",
        None,
    ),
    "counter": (Counter("abb"), "collections.Counter: 2 items: str to int\n  'b': 2\n  'a': 1", None),
    "named": (
        Point(1, ["a"]),
        f"{__name__}.Point: named tuple, 2 fields\n  x: 1\n  tags: ['a']",
        f"{__name__}.Point: named tuple, 2 fields\n  x: int\n  tags: list of 1 str",
    ),
    "enum": (Colour.BLUE, f"{__name__}.Colour: BLUE = 'b'\n  one of 2: RED, BLUE", None),
    "datetime": (datetime(2026, 1, 2, tzinfo=UTC), "datetime.datetime: 2026-01-02 00:00:00+00:00", "datetime.datetime"),
    "decimal": (Decimal("1.50"), "decimal.Decimal: 1.50", "decimal.Decimal"),
    "pattern": (re.compile("(?P<a>x)"), "re.Pattern: re.compile('(?P<a>x)')", "re.Pattern"),
    "match": (re.match("(x)", "xy"), "re.Match: <re.Match object; span=(0, 1), match='x'>", "re.Match"),
    "pure path": (PurePosixPath("/x"), "pathlib.PurePosixPath: '/x', not looked up", None),
    "iterator": (map(str, [1]), "map", "map"),
}


@pytest.mark.parametrize("value, text, schema", EXPECTED.values(), ids=EXPECTED)
def test_values_are_described(value, text, schema):
    summary = summarize(value)
    assert summary.text == text
    assert schema is None or summary.schema == schema


def test_a_long_text_is_described_by_its_ends():
    text, schema = summarize("begin\n" + "x" * 10_000 + "end")
    assert text.startswith("str: 10,009 characters, 2 lines\n  begins 'begin\\nxxx")
    assert text.endswith("xxxend'")
    assert schema == "str: 10,009 characters, 2 lines"


def test_a_large_mapping_is_described_in_two_lines():
    text, schema = summarize(dict.fromkeys(range(1000), 0))
    head, line = text.splitlines()
    assert head == schema == "dict: 1,000 items: int to int (as 100 of them are)"
    assert line.startswith("  0: 0, 1: 0, 2: 0") and line.endswith(" more")


def test_generators_are_not_advanced():
    generator = counting(3)
    next(generator)
    text, schema = summarize(generator)
    assert text.startswith("generator: of counting, not read, at line ") and text.endswith("\n  variables: limit=3")
    assert schema.endswith("\n  variables: limit")
    assert list(generator) == [1, 2]
    assert summarize(generator).text == "generator: of counting, finished"


def test_coroutines_and_asynchronous_generators_are_not_run():
    coroutine = waiting()
    assert summarize(coroutine).text.startswith("coroutine: of waiting, not read, at line ")
    asyncio.run(coroutine)
    assert summarize(coroutine).text == "coroutine: of waiting, finished"
    assert summarize(streaming()).text.startswith("async_generator: of streaming, not read")


def test_files_keep_position_and_buffered_data(tmp_path):
    path = tmp_path / "f"
    with path.open("w+", encoding="utf-8") as file:
        file.write("held back")
        text, schema = summarize(file)
        assert text == f"_io.TextIOWrapper: {str(path)!r}, open, mode 'w+', encoding utf-8"
        assert schema == "_io.TextIOWrapper: open, mode 'w+', encoding utf-8"
        assert path.read_text() == ""
    assert summarize(file).schema.startswith("_io.TextIOWrapper: closed")
    with path.open("rb") as file:
        file.read(4)
        assert summarize(file).text.endswith("at byte 4")
        assert file.read() == b" back"


@pytest.mark.parametrize("make", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_files_in_memory(make):
    file = make("abc")
    file.read(1)
    text, schema = summarize(file)
    assert "in memory, 3 " in text and "at 1" in text and "begins" in text
    assert "abc" not in schema
    assert file.tell() == 1
    file.close()
    assert summarize(file).text.endswith("in memory, closed")


def test_paths_say_what_lies_there(tmp_path):
    (tmp_path / "f").write_text("abc")
    kind = f"pathlib.{type(Path()).__name__}"
    assert summarize(tmp_path).text == f"{kind}: {str(tmp_path)!r}, a folder"
    assert summarize(tmp_path / "f").schema == f"{kind}: a file of 3 bytes"
    assert summarize(tmp_path / "no").text == f"{kind}: {str(tmp_path / 'no')!r}, does not exist"


STRUCTURES = {
    "scalar": (1, "int"),
    "empty": ([], "empty list"),
    "nested": ([[[[[1]]]]], "list of 1 list of list of list of list"),
    "records": ([{"a": [{"b": 1}] * 2}] * 2, "list of 2 dict(a: list of dict(b: int))"),
    "wide": ([{f"f{number}": 1 for number in range(99)}] * 2, None),
}


@pytest.mark.parametrize("value, expected", STRUCTURES.values(), ids=STRUCTURES)
def test_structure(value, expected):
    structure = value_text.describe_structure(value)
    assert structure == expected if expected else structure.endswith("f11: int, ...)")


CHANGES = {
    "list grows": ([1], lambda value: value.append(2), "1 item", "2 items"),
    "item is replaced": ([1, 2], lambda value: value.__setitem__(0, 3), "2 items", "2 items"),
    "value is replaced": ({"a": 1}, lambda value: value.update(a=2), "1 item", "1 item"),
    "long list grows": ([0] * 5000, lambda value: value.pop(), "5,000 items", "4,999 items"),
    "deque": (deque([1]), lambda value: value.clear(), "1 item", "0 items"),
    "counter": (Counter("a"), lambda value: value.update("a"), "1 item", "1 item"),
    "bytes": (bytearray(b"ab"), lambda value: value.__setitem__(0, 0), "2 bytes", "2 bytes"),
}


@pytest.mark.parametrize("value, change, before, after", CHANGES.values(), ids=CHANGES)
def test_changes_are_seen(value, change, before, after):
    known = summarizer_registry.find(value)
    first, shape = known.measure(value), known.shape(value)
    assert known.measure(value) == first
    change(value)
    assert known.measure(value) != first
    assert (shape, known.shape(value)) == (before, after)
