"""The check of a solution as the last part of a script."""

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

_NO_TRUTH: Final = re.compile(
    r"\.(ndarray|DataFrame|Series|\w*Index|LazyFrame|Tensor|\w*Array|DataArray|Dataset|Table|\w+_(?:matrix|array))$"
)
"""Types whose equality is one of their elements: a run compares them by content, a plain assertion cannot."""
_NAN: Final = re.compile(r"\bnan\b")
"""In what a value was seen to hold: it equals itself in a run's check alone."""
_HEAD: Final = 'if __name__ == "__main__":'
_PASSED: Final = 'print("The check passed.")'


def main_block(task: Task, observed: Observation) -> str:
    """What runs the check where the script is run as such; empty where there is none that a script can run."""
    code = _readable(task)
    by_content = {one.name for one in observed.changes if _NO_TRUTH.search(one.type) or _NAN.search(one.summary)}
    if not code or not observed.ran or any(_compared(code, by_content)):
        return ""
    block = _block(code)
    return block if compiles(block) else ""


def _readable(task: Task) -> str | None:
    try:
        return readable_code(task)
    except (UsageError, RecursionError):  # of a version that knew other checks, or a very long expression
        return None


def _block(code: str) -> str:
    """The code indented; written anew where lines stand within texts, which moving them to the right would change."""
    block, unparsed = _indented(code), _indented(ast.unparse(ast.parse(code)))
    return block if ast.dump(ast.parse(block)) == ast.dump(ast.parse(unparsed)) else unparsed


def _indented(code: str) -> str:
    return f"{_HEAD}\n{indent(f'{code.strip(chr(10))}{chr(10)}{_PASSED}', '    ')}"


def _compared(code: str, names: Container[str]) -> Iterator[ast.Compare]:
    """Comparisons of one of these names itself for equality, as what is asserted or a part of it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert):
            yield from (part for part in _truths(node.test) if _is_about(part, names))


def _truths(test: ast.expr) -> Iterator[ast.Compare]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _truths(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _truths(test.operand)
    elif isinstance(test, ast.Compare):
        yield test


def _is_about(node: ast.Compare, names: Container[str]) -> bool:
    sides = (node.left, *node.comparators)
    equality = any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
    return equality and any(isinstance(side, ast.Name) and side.id in names for side in sides)
