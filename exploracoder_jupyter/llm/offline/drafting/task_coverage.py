"""What a program has to use of its task before it may be proposed as the solution.

A wrong program may pass a check that tests little, such as a length. With such a check, only programs are proposed that
use every value of the task, serve each of its clauses and contain no data of an example.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from exploracoder_jupyter.llm.offline.inputs.example_slices import called_names, contains_value
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.word_matching import name_stems
from exploracoder_jupyter.text.python_code import parse_python

_SIZES_AND_TYPES = frozenset({"len", "shape", "size", "ndim", "dims", "count", "type", "isinstance", "hasattr"})

_TRIVIAL = frozenset({0, 1, None, ""})
"""Values that wrong results often have, too."""


def proves_result(check: str | None) -> bool:
    """Return whether a check compares a value with one that it states, rather than a size, a type, a part or a sign."""
    tree = parse_python(check or "")
    if not tree.body:
        return bool(check and check.strip())  # no Python: pairs of input and output, which are compared
    return any(_compares_value(node) for node in ast.walk(tree) if isinstance(node, ast.Compare))


def _compares_value(node: ast.Compare) -> bool:
    is_equality = all(isinstance(operator, ast.Eq) for operator in node.ops)
    is_interval = len(node.ops) > 1 and not any(isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops)
    is_distance = isinstance(node.left, ast.Call) and ast.unparse(node.left.func) == "abs"
    values = {item.value for item in ast.walk(node) if isinstance(item, ast.Constant)} - _TRIVIAL
    return (is_equality or is_interval or is_distance) and bool(values) and not _SIZES_AND_TYPES & called_names(node)


def uses_any(code: str, values: Sequence[Value]) -> bool:
    """Return whether a program uses a value of the task, if the task has any."""
    return not values or any(contains_value(code, value) for value in values)


def uses_all(code: str, values: Sequence[Value]) -> bool:
    """Return whether a program uses every value of the task."""
    return all(contains_value(code, value) for value in values if not value.members)


def has_foreign_data(code: str, values: Sequence[Value], words: Iterable[str]) -> bool:
    """Return whether a program contains a number or a text that the task neither states nor describes."""
    stated = {item for value in values for item in _constants(value.code)}
    known = frozenset(words)
    return any(
        item not in stated and not (isinstance(item, str) and item and known.issuperset(name_stems(item)))
        for item in _constants(code)
    )


def _constants(code: str) -> list[object]:
    nodes = (node for node in ast.walk(parse_python(code)) if isinstance(node, ast.Constant))
    return [node.value for node in nodes if node.value is not None and not isinstance(node.value, bool)]


def count_steps(code: str) -> int:
    """Return how many different functions, methods and attributes a program uses, conversions aside."""
    return len(called_names(parse_python(code)) - {"list", "tuple", "set", "dict", "str", "float", "int"})
