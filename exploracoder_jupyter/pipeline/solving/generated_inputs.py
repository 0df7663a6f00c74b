"""The reply to `invent`: test inputs, without assertions.

A model's expectations of a program are not reliable, so an assertion about an input becomes a display of the program's
actual result.
"""

from __future__ import annotations

import ast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.reply_fragments import strip_markdown
from exploracoder_jupyter.pipeline.prompting.reply_parsing import encodable, parse_code

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


@heuristic("removing assertions", lambda code: None)
def strip_assertions(code: str) -> str | None:
    """Replace assertions in the code by displays; `None` if it is not valid Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    stripper = _Stripper()
    tree.body = [stripper.visit(node) for node in tree.body]
    if not stripper.shown:
        return code
    for node in tree.body[:-1]:
        if isinstance(node, ast.Expr) and node in stripper.shown:
            node.value = ast.Call(ast.Name("print", ast.Load()), [node.value], [])
    return ast.unparse(ast.fix_missing_locations(tree))


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
        self.shown: list[ast.Expr] = []

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
        self.shown.append(ast.Expr(value))
        return self.shown[-1]


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
