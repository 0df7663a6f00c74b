"""Parses the reply to `invent`: test inputs as JSON, or as fenced Python blocks below headings, without assertions.

A model's expectations of a program are not reliable, so an assertion about an input becomes a display of the program's
actual result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.reply_fragments import split_fenced, strip_markdown
from exploracoder_jupyter.pipeline.prompting.reply_parsing import (
    encodable,
    parse_code,
    parse_json,
    raise_unreadable,
    without_thinking,
)

_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|\*\*|(?:test|input|case)\b[ \t]*|\d+[.):])[ \t]*(?P<title>.*)$", re.I | re.M
)
_BEFORE, _AFTER = re.compile(r"\bbefore\b", re.I), re.compile(r"\bafter\b", re.I)
_NUMBERING = re.compile(r"^(?:(?:test|input|case)\b\s*)*\d*\s*[.:)-]*\s*", re.I)
_PYTHON = ("python", "py", "python3", "ipython")
_MOST_TITLE = 120


class InputReply(BaseModel):
    """One input within an `InventReply`."""

    model_config = ConfigDict(populate_by_name=True, json_schema_extra={"required": ["title", "before", "after"]})

    title: str = Field("", validation_alias=AliasChoices("title", "name", "description"))
    before: str = Field("", validation_alias=AliasChoices("before", "setup", "given", "input"))
    after: str = Field("", validation_alias=AliasChoices("after", "call", "run", "show", "code"))

    @field_validator("title", mode="before")
    @classmethod
    def _one_line(cls, value: object) -> str:
        return encodable(strip_markdown(str(value or "")))[:_MOST_TITLE]

    @field_validator("before", "after", mode="before")
    @classmethod
    def _code(cls, value: object) -> object:
        text = "\n".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(text, str):
            return "" if text is None else text
        return parse_code(text) if "```" in text else encodable(text).strip("\n")


class InventReply(BaseModel):
    """Reply to `invent`."""

    tests: list[InputReply] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class StrippedCode:
    """Code without assertions."""

    code: str
    stripped: bool
    """Whether assertions were removed."""


@heuristic("reading a reply", raise_unreadable)
def parse_inputs(text: str) -> InventReply:
    """Parse the inputs of a reply.

    Raises:
        ReplyError: it contains none.
    """
    blocks = list(_blocks(without_thinking(text)))
    if blocks:
        return InventReply(tests=blocks)
    try:
        return parse_json(text, InventReply)
    except RecursionError as error:
        raise ReplyError("the reply is nested too deep.") from error


@heuristic("removing assertions", lambda code: None)
def strip_assertions(code: str) -> StrippedCode | None:
    """Replace assertions in the code by displays; `None` if it is not valid Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    stripper = _Stripper()
    tree.body = [stripper.visit(node) for node in tree.body]
    if not stripper.stripped:
        return StrippedCode(code, stripped=False)
    last = len(tree.body) - 1
    tree.body = [_as_print(node) if at < last and node in stripper.shown else node for at, node in enumerate(tree.body)]
    return StrippedCode(ast.unparse(ast.fix_missing_locations(tree)), stripped=True)


@heuristic("displaying a result", lambda code: code)
def display_last_value(code: str) -> str:
    """Make the code display its last value: a name that is assigned last is shown."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    target = (
        last.targets[0] if isinstance(last, ast.Assign) else last.target if isinstance(last, ast.AnnAssign) else None
    )
    return f"{code}\n{target.id}" if isinstance(target, ast.Name) else code


class _Stripper(ast.NodeTransformer):
    """Replaces assertions by the values that they are about."""

    def __init__(self) -> None:
        self.stripped = False
        self.shown: list[ast.AST] = []

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Replace `assert f(1) == 2` by `f(1)`."""
        return self._show(_asserted_value(node.test))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replace `assert_equal(f(1), 2)` by `f(1)` too."""
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2].startswith("assert") and call.args:
            return self._show(call.args[0])
        return node

    def _show(self, value: ast.expr) -> ast.Expr:
        self.stripped = True
        shown = ast.Expr(value)
        self.shown.append(shown)
        return shown


def _asserted_value(test: ast.expr) -> ast.expr:
    """Return what an assertion is about: of a comparison, the side that calls or names something."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asserted_value(test.operand)
    if isinstance(test, ast.BoolOp):
        return _asserted_value(test.values[0])
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        return next(
            (side for side in sides if any(isinstance(n, ast.Call | ast.Name) for n in ast.walk(side))), sides[0]
        )
    return test


def _as_print(node: ast.stmt) -> ast.stmt:
    assert isinstance(node, ast.Expr)
    return ast.Expr(ast.Call(ast.Name("print", ast.Load()), [node.value], []))


def _blocks(text: str) -> Iterator[InputReply]:
    """Yield inputs from Python blocks: each heading begins a new one, and so does a block labeled to run before."""
    section: list[tuple[str, str]] = []
    title = ""
    for lead, block in split_fenced(text):
        if block.language not in _PYTHON or not block.body.strip():
            continue
        found = [name for heading in _HEADING.finditer(lead) if (name := _clean_title(heading["title"]))]
        label = "after" if _AFTER.search(lead) else "before" if _BEFORE.search(lead) else ""
        if section and (found or label == "before"):
            yield from _inputs(title, section)
            section, title = [], ""
        title = found[0] if found else title
        section.append((label, block.body.strip("\n")))
    yield from _inputs(title, section)


def _inputs(title: str, section: list[tuple[str, str]]) -> Iterator[InputReply]:
    """Interpret the blocks of one section: of two, the first runs before the program; more are one input each."""
    codes = [code for _, code in section]
    if any(label for label, _ in section):
        before = [code for label, code in section if label == "before"]
        after = [code for label, code in section if label != "before"]
        yield InputReply(title=title, before="\n".join(before), after="\n".join(after))
    elif len(codes) == 2:
        yield InputReply(title=title, before=codes[0], after=codes[1])
    else:
        yield from (InputReply(title=title, after=code) for code in codes)


def _clean_title(text: str) -> str:
    """Return the words of a heading; empty if it only labels code that runs before or after."""
    title = _NUMBERING.sub("", strip_markdown(text).strip("*:# "))
    return "" if _BEFORE.match(title) or _AFTER.match(title) else title
