"""Derives the state from experience: existing variables, their types and attributes, and the code that created them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Experience
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.inputs.example_slices import (
    called_names,
    contains_value,
    is_print,
    slice_backwards,
)
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.word_matching import name_stems

_NON_DATA_TYPES = frozenset("module type function builtin_function_or_method method ABCMeta EnumType NoneType".split())  # noqa: SIM905


def state_variables(experience: Sequence[Experience]) -> tuple[Value, ...]:
    """Return the variables of the state, the latest result first, numbered -1, -2, ..."""
    found: dict[str, Value] = {}
    for item in reversed([item for item in experience if item.observation.ran]):
        last = result_name(item)
        names = sorted(item.observation.names, key=lambda pair: pair[0] != last)
        for name, type_ in names:
            if type_.rpartition(".")[2] not in _NON_DATA_TYPES and name not in found and not name.startswith("_"):
                number = -1 - len(found)
                shape = type_.removeprefix("builtins.")
                roles = (*name_stems(name), *name_stems(shape.rpartition(".")[2]))
                found[name] = Value(number, name, shape, roles)
    return tuple(found.values())


def result_name(item: Experience) -> str:
    """Return the variable that a snippet assigned last."""
    for node in reversed(parse_python(item.candidate.code).body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    return ""


def explored_program(experience: Sequence[Experience], values: Sequence[Value]) -> Draft:
    """Combine the code that ran, without prints; the result is its last variable, or empty if nothing ran."""
    ran = [item for item in experience if item.observation.ran]
    nodes = [node for item in ran for node in _writable_body(item.candidate.code) if not is_print(node)]
    body = [node for node in nodes if not isinstance(node, (ast.Import, ast.ImportFrom))]
    imports = tuple(dict.fromkeys(ast.unparse(node) for node in nodes if node not in body))
    result, last = next(((name, item) for item in reversed(ran) if (name := _last_nonempty_result(item))), ("", None))
    lines = tuple(ast.unparse(node) for node in body)
    used = frozenset(i for value in values if contains_value("\n".join(lines), value) for i in value.covered_ids)
    types = dict(last.observation.names) if last else {}
    type_ = types.get(result, "").removeprefix("builtins.")
    paths = tuple(dict.fromkeys(path for item in ran for path in item.apis))
    return Draft(imports, lines, result, paths, used, 0.0, type_, tuple(sorted(called_names(ast.Module(body, [])))))


def _last_nonempty_result(item: Experience) -> str:
    empty = {name for name, type_ in item.observation.names if type_.endswith("NoneType")}
    name = result_name(item)
    others = [name for name, type_ in item.observation.names if type_.rpartition(".")[2] not in _NON_DATA_TYPES]
    return name if name not in empty else next(iter(others), "")


def prune(code: str, targets: Sequence[str]) -> str:
    """Remove what no target needs; empty if the code cannot be parsed or unparsed."""
    try:
        body = slice_backwards(_writable_body(code), set(targets))[0]
        imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
        top = "\n".join(dict.fromkeys(ast.unparse(node) for node in imports))
        rest = "\n".join(ast.unparse(node) for node in body if node not in imports)
    except RecursionError:
        return ""
    return f"{top}\n\n{rest}".strip("\n")


def _writable_body(code: str) -> list[ast.stmt]:
    """Return the statements; none if they cannot be written again, like a hexadecimal number of too many digits."""
    tree = parse_python(code)
    try:
        ast.unparse(tree)
    except (ValueError, RecursionError):
        return []
    return tree.body
