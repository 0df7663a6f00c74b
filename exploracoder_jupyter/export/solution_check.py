"""Renders the check of a solution as the last part of a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from textwrap import indent
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Observation, Task
from exploracoder_jupyter.export.plain_python import compiles
from exploracoder_jupyter.pipeline.solving.user_check import readable_code

_ELEMENTWISE: Final = re.compile(
    r"\.(ndarray|DataFrame|Series|\w*Index|LazyFrame|Tensor|\w*Array|DataArray|Dataset|Table|\w+_(?:matrix|array))$"
)
"""Types with element-wise equality: a run compares them by content, but a plain assertion cannot."""
_NAN: Final = re.compile(r"\bnan\b")
"""NaN in the summary of a value: it equals itself only in a run's check."""
_HEAD: Final = 'if __name__ == "__main__":'
_PASSED: Final = 'print("The check passed.")'


def render_main_block(task: Task, observed: Observation) -> str:
    """Render the block that runs the check if the file is run as a script; empty if no check can run there."""
    try:
        code = readable_code(task)
    except (UsageError, RecursionError):  # from a version with other kinds of checks, or a very long expression
        return ""
    by_content = {one.name for one in observed.changes if _ELEMENTWISE.search(one.type) or _NAN.search(one.summary)}
    if not code or not observed.ran or any(_equality_comparisons(code, by_content)):
        return ""
    block, unparsed = _indent(code), _indent(ast.unparse(ast.parse(code)))
    if ast.dump(ast.parse(block)) != ast.dump(ast.parse(unparsed)):  # indentation has changed multi-line strings
        block = unparsed
    return block if compiles(block) else ""


def _indent(code: str) -> str:
    return f"{_HEAD}\n{indent(f'{code.strip(chr(10))}{chr(10)}{_PASSED}', '    ')}"


def _equality_comparisons(code: str, names: Container[str]) -> Iterator[ast.Compare]:
    """Yield asserted comparisons, or parts of assertions, that compare one of these names itself for equality."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert):
            yield from (part for part in _iter_comparisons(node.test) if _compares(part, names))


def _iter_comparisons(test: ast.expr) -> Iterator[ast.Compare]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _iter_comparisons(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _iter_comparisons(test.operand)
    elif isinstance(test, ast.Compare):
        yield test


def _compares(node: ast.Compare, names: Container[str]) -> bool:
    sides = (node.left, *node.comparators)
    equality = any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
    return equality and any(isinstance(side, ast.Name) and side.id in names for side in sides)
