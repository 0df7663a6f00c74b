"""Functions, classes, objects of classes that nothing else is known of, and IPython's display objects."""

import abc
import functools
import json
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

import attrs
import pydantic
import pytest
from IPython.display import HTML, JSON, SVG, Image, Markdown

from tests.unit.summaries.described import summarize

HERE = __name__


@dataclass
class Order:
    """An order."""

    number: int
    lines: list = field(default_factory=list)
    _private: int = 0

    def total(self, rate: float = 0.5, *extra, strict: bool = True) -> float:
        return 0

    @classmethod
    def empty(cls):
        return cls(0)


@dataclass(slots=True)
class Slotted:
    size: int


@attrs.define
class Shape:
    sides: int


class Model(pydantic.BaseModel):
    name: str
    size: int = 3


class Plain:
    shared = 1

    def __init__(self):
        self.count, self.inner, self._hidden = 3, {"a": [1]}, 0

    @property
    def costly(self):
        raise AssertionError

    @functools.cached_property
    def kept(self):
        raise AssertionError

    def go(self, on: "Order"):
        """Go."""


class Shown(Plain):
    def __repr__(self):
        return "Shown(\n    3)"


def test_dataclasses():
    text, schema = summarize(Order(7, [1, 2]))
    assert text.splitlines() == [
        f"{HERE}.Order: dataclass, 2 fields",
        "  number = 7",
        "  lines = [1, 2]",
        "  methods: total(rate: float = ..., *extra, strict: bool = ...) -> float, empty()",
    ]
    assert schema.splitlines()[1:3] == ["  number: int", "  lines: list of 2 int"]


@pytest.mark.parametrize(
    "value, text",
    [
        (Slotted(2), "Slotted: dataclass, 1 field\n  size = 2"),
        (Shape(4), "Shape: attrs class, 1 field\n  sides = 4"),
        (Model(name="a"), "Model: pydantic model, 2 fields\n  name = 'a'\n  size = 3"),
    ],
)
def test_classes_of_fields(value, text):
    assert summarize(value).text == f"{HERE}.{text}"


def test_attributes_are_read_where_they_are_stored_and_properties_only_named():
    text, schema = summarize(Plain())
    assert text.splitlines() == [
        f"{HERE}.Plain: 2 attributes",
        "  count = 3",
        "  inner = {'a': [1]}",
        "  properties: costly, kept",
        "  methods: go(on: Order)",
    ]
    assert schema.splitlines()[1:3] == ["  count: int", "  inner: dict of 1 str to list of int"]


def test_a_text_of_its_own_comes_first():
    text, schema = summarize(Shown())
    assert text.splitlines()[0] == f"{HERE}.Shown: Shown( 3)"
    assert schema.splitlines()[0] == f"{HERE}.Shown"


def add(left: int, right: "list[int]" = (1, 2), *, key=None) -> int:
    """Add.

    In detail.
    """


FUNCTIONS = {
    "function": (
        add,
        f"function: {HERE}.add(left: int, right: list[int] = (1, 2), *, key=None) -> int\n  Add.",
        f"function: {HERE}.add(left: int, right: list[int] = ..., *, key=...) -> int\n  Add.",
    ),
    "method": (Plain().go, f"method: {HERE}.Plain.go(on: Order)\n  Go.", None),
    "built in": (len, "builtin_function_or_method: len(obj, /)\n  Return the number of items in a container.", None),
    "partial": (functools.partial(add, 1, key="k"), None, "functools.partial: of add\n  given: int, key"),
}


@pytest.mark.parametrize("value, text, schema", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(value, text, schema):
    summary = summarize(value)
    assert text is None or summary.text == text
    assert schema is None or summary.schema == schema


def test_classes():
    text = summarize(Order).text
    assert text.splitlines() == [
        f"type: {HERE}.Order(number: int, lines: list = ..., _private: int = ...) -> None",
        "  An order.",
        "  fields: number: int, lines: list, _private: int",
        "  methods: total(rate: float = ..., *extra, strict: bool = ...) -> float, empty()",
    ]
    assert summarize(Shown).text.splitlines()[0] == f"type: {HERE}.Shown(), based on {HERE}.Plain"
    assert summarize(json.JSONDecoder).text.startswith("type: json.JSONDecoder(*, object_hook=...")


def test_a_documentation_that_contains_values_is_not_shown():
    made = dataclass(type("Made", (), {"__annotations__": {"key": str}, "key": "s3cret"}))
    text, schema = summarize(made)
    assert "s3cret" not in text + schema


def chosen(
    way: 'Literal["s3cret"]', size: "Annotated[int, -98761]" = 0, kind: Literal["s3cret"] = "s3cret"
) -> "Literal['s3cret, it\\'s', b's3cret']":
    """Choose."""


def test_constants_in_annotations_are_no_part_of_the_schema():
    assert summarize(chosen).schema.splitlines()[0] == (
        f"function: {HERE}.chosen(way: Literal[...], size: Annotated[int, ...] = ..., kind: Literal = ...)"
        " -> Literal[..., ...]"
    )


def test_modules_by_name_and_version():
    assert summarize(pydantic).text == f"module: pydantic {pydantic.__version__}"


def test_exceptions_with_their_cause():
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        assert summarize(error) == ("ValueError: outer\n  caused by KeyError", "ValueError\n  caused by KeyError")
    assert summarize(OSError(2, "gone")).text == "FileNotFoundError: [Errno 2] gone"
    assert summarize(ValueError()).text == "ValueError: no message"


class Declared(Protocol):
    def promised(self) -> int: ...


class Base:
    def left_open(self):
        raise NotImplementedError

    @abc.abstractmethod
    def to_be_written(self):
        """By others."""

    def inherited(self):
        return 1


class Complete(Declared, Base):
    def own(self):
        return 2


def test_methods_that_are_only_declared_do_not_belong_to_the_object():
    summary = summarize(Complete())
    assert "methods: own(), inherited()" in summary.text
    assert not any(name in summary.text for name in ("promised", "left_open", "to_be_written"))


@pytest.mark.parametrize(
    "shown, expected",
    [
        (HTML("<b>seven</b> &amp; <i>eight</i>"), "HTML: 31 characters\n  seven & eight"),
        (SVG("<svg><text>seven</text></svg>"), "SVG: 29 characters\n  seven"),
        (Markdown("*seven*"), "Markdown: 7 characters\n  *seven*"),
        (Image(url="http://localhost/seven"), "Image: 'http://localhost/sev"),
        (JSON({"seven": 1}), "JSON: {'seven': 1}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_displayed_content_is_described_without_markup(shown, expected):
    text, schema = summarize(shown)
    assert expected in text and "seven" not in schema


class Report:
    """An object whose `repr` says nothing and whose HTML says all."""

    def __init__(self, markup):
        self.source = [1, 2]
        self.markup = markup

    def _repr_html_(self):
        if self.markup is None:
            raise ValueError
        return self.markup


def test_what_an_object_shows_as_html_is_told():
    markup = (
        "<style>td {color: red}</style><h2>Sales <b>by</b> month</h2><table><tr><th>Month</th><th>Units</th></tr>\n"
        "<tr><td>Jan &amp; Feb</td><td> 8</td></tr></table><script>more()</script>"
    )
    summary = summarize(Report(markup))
    assert "  shows:\n    Sales by month\n    Month | Units\n    Jan & Feb | 8\n  source" in summary.text
    assert "Sales" not in summary.schema and "red" not in summary.text.partition("  source")[0]
    assert "Month | Units\n  Jan & Feb | 8" in summarize(HTML(markup)).text


@pytest.mark.parametrize("markup", [None, 7, "", "<p> </p>"])
def test_an_object_without_visible_html_is_told_as_before(markup):
    text = summarize(Report(markup)).text
    assert "shows:" not in text and "source = [1, 2]" in text
