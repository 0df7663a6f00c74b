"""Finds the user's variables that a check compares the result with (goldens), and copies them.

They are copied before the program runs and restored before the check does, so that a program cannot pass by changing
one or assigning to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from exploracoder_jupyter.core.types import Task

SNAPSHOT_NAME = "_explora_kept"
"""Name of the variable of the copies, by name."""
_SNAPSHOT = """
def {kept}(names):
    import copy, types
    copies, known, failed = {{}}, {{}}, []
    for name in names:
        if name not in globals():
            continue
        value = copies[name] = globals()[name]
        if isinstance(value, types.ModuleType):
            continue
        try:
            copies[name] = copy.deepcopy(value, known)
        except Exception as error:
            failed.append(f"{{name}} ({{type(error).__name__}})")
    globals()["{kept}"] = copies
    if failed:
        raise TypeError("no copy could be made of " + ", ".join(failed))
{kept}({names!r})
"""


def find_goldens(code: str, task: Task) -> tuple[str, ...]:
    """Return the user's variables that the check compares results with, except those that the task itself mentions."""
    users = {name for name in task.uses if not re.search(rf"\b{re.escape(name)}\b", task.text)}
    users.discard(task.solution_name or "")
    found: set[str] = set()
    for given, wanted in _comparisons(ast.parse(code)):
        right, left = names_of(wanted) & users, names_of(given) & users
        if right and names_of(given) - right:
            found |= right
        elif left and not right and names_of(wanted):
            found |= left
    return tuple(sorted(found))


def snapshot_code(names: tuple[str, ...]) -> str:
    """Return code that copies these variables; it raises TypeError after copying the others if one cannot be copied."""
    return _SNAPSHOT.format(kept=SNAPSHOT_NAME, names=names)


def _comparisons(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield both sides of every comparison: of operators, and of calls that take both."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node.left, node.comparators[0]
        elif isinstance(node, ast.Call):
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            sides = [side for side in (*owner, *node.args) if names_of(side)]
            if len(sides) > 1:
                yield sides[-2], sides[-1]


def names_of(node: ast.AST) -> set[str]:
    """Return the names that occur in the code."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
