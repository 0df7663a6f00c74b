"""Derives the state from experience: existing variables, their types and attributes, and the code that created them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import Experience
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.inputs.example_slices import called_names, loaded_names, stored_names
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, evaluate_literal, shape_of
from exploracoder_jupyter.llm.offline.inputs.word_matching import name_stems
from exploracoder_jupyter.text.python_code import parse_python

_NON_DATA_TYPES = (
    "module",
    "type",
    "function",
    "builtin_function_or_method",
    "method",
    "ABCMeta",
    "EnumType",
    "NoneType",
)
_MEMBERS = re.compile(r"^  (properties|methods): (.*)$", re.MULTILINE)


def state_variables(experience: Sequence[Experience]) -> tuple[Value, ...]:
    """Return the variables of the state, the latest result first, numbered -1, -2, ..."""
    found: dict[str, Value] = {}
    for item in reversed([item for item in experience if item.observation.ran]):
        last = result_name(item)
        names = sorted(item.observation.names, key=lambda pair: pair[0] != last)
        for name, type_ in names:
            if type_.rpartition(".")[2] not in _NON_DATA_TYPES and name not in found and not name.startswith("_"):
                number = -1 - len(found)
                shape = printed_shape(item) if name == last else ""
                shape = shape or type_.removeprefix("builtins.")
                roles = (*name_stems(name), *name_stems(shape.rpartition(".")[2]))
                found[name] = Value(number, name, shape, roles)
    return tuple(found.values())


def observed_attributes(experience: Sequence[Experience]) -> dict[str, tuple[str, ...]]:
    """Return the public properties and methods of results, as listed in their summaries; methods end in `()`."""
    ran = [item for item in experience if item.observation.ran]
    changes = [(change, result_name(item)) for item in ran for change in item.observation.changes]
    found = {change.name: _parse_members(change.summary) for change, result in changes if change.name == result}
    return {name: members for name, members in found.items() if members}


def _parse_members(summary: str) -> tuple[str, ...]:
    lines = dict(_MEMBERS.findall(summary))
    methods = re.findall(r"(?:^|, )(\w+)\(", lines.get("methods", ""))
    return (*re.findall(r"\w+", lines.get("properties", "")), *(f"{name}()" for name in methods))


def printed_shape(item: Experience) -> str:
    """Return the shape of a result that was printed in full as a literal; empty if it was not."""
    type_, _, value = item.observation.text.strip().partition(" ")
    shape = shape_of(evaluate_literal(value)) if value else ""
    return shape if shape.partition("[")[0] == type_ and type_ != "str" else ""


def result_name(item: Experience) -> str:
    """Return the variable that a snippet assigned last."""
    for node in reversed(parse_python(item.candidate.code).body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    return ""


@dataclass(frozen=True, slots=True)
class ExploredProgram:
    """The selected snippets as one program."""

    draft: Draft
    result: str
    """Its last variable; empty if nothing ran."""


def explored_program(experience: Sequence[Experience], values: Sequence[Value]) -> ExploredProgram:
    """Combine the code that ran: imports first, without prints."""
    ran = [item for item in experience if item.observation.ran]
    nodes = [node for item in ran for node in _writable_body(item.candidate.code)]
    imports = [ast.unparse(node) for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    body = [node for node in nodes if not isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_print(node)]
    result = next((name for item in reversed(ran) if (name := _last_nonempty_result(item))), "")
    code = "\n".join(ast.unparse(node) for node in body)
    used = frozenset(i for value in values if _contains_value(code, value) for i in value.covered_ids)
    paths = tuple(dict.fromkeys(path for item in ran for path in item.apis))
    names = tuple(sorted(called_names(ast.Module(body, []))))
    lines = tuple(ast.unparse(node) for node in body)
    type_ = next((type_ for item in reversed(ran) for name, type_ in item.observation.names if name == result), "")
    last = next((item for item in reversed(ran) if result_name(item) == result), None)
    type_ = (printed_shape(last) if last else "") or type_
    draft = Draft(
        tuple(dict.fromkeys(imports)), lines, result, paths, used, 0.0, type_.removeprefix("builtins."), names
    )
    return ExploredProgram(draft, result)


def _last_nonempty_result(item: Experience) -> str:
    """Return the last variable of a snippet that is not None."""
    empty = {name for name, type_ in item.observation.names if type_.endswith("NoneType")}
    name = result_name(item)
    others = [name for name, type_ in item.observation.names if type_.rpartition(".")[2] not in _NON_DATA_TYPES]
    return name if name not in empty else next(iter(others), "")


def drop_unused(draft: Draft, values: Sequence[Value], keep: Sequence[str] = ()) -> Draft:
    """Remove what the draft's result does not need, along with the values and APIs that only that code used."""
    code = prune(replace(draft, imports=()).code("_"), ["_", *keep])
    live = ast.parse(code)
    names = called_names(live)
    return replace(
        draft,
        statements=tuple(ast.unparse(node) for node in live.body if "_" not in stored_names(node)),
        used=frozenset(i for value in values if _contains_value(code, value) for i in value.covered_ids),
        paths=tuple(path for path in draft.paths if path.rpartition(".")[2] in names),
        names=tuple(sorted(names)),
    )


def prune(code: str, targets: Sequence[str]) -> str:
    """Remove assignments and imports that no target needs; empty if the code cannot be parsed or unparsed."""
    try:
        return _prune_statements(_writable_body(code), targets)
    except RecursionError:
        return ""


def _prune_statements(body: Sequence[ast.stmt], targets: Sequence[str]) -> str:
    needed = set(targets)
    kept: list[ast.stmt] = []
    for node in reversed(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if not names & needed:
                continue
        elif isinstance(node, ast.Assign):
            if not stored_names(node) & needed:
                continue
            needed -= stored_names(node, whole=True)
        elif isinstance(node, ast.Expr) and not loaded_names(node) & needed:
            continue
        kept.insert(0, node)
        needed |= loaded_names(node)
    return _unparse(kept)


def _unparse(body: Sequence[ast.stmt]) -> str:
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    rest = [node for node in body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    top = "\n".join(dict.fromkeys(ast.unparse(node) for node in imports))
    return f"{top}\n\n{chr(10).join(ast.unparse(node) for node in rest)}".strip("\n")


def _contains_value(code: str, value: Value) -> bool:
    try:
        expected = ast.dump(ast.parse(value.code, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(ast.dump(node) == expected for node in ast.walk(ast.parse(code)) if isinstance(node, ast.expr))


def _is_print(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"


def _writable_body(code: str) -> list[ast.stmt]:
    """Return the statements; none if they cannot be written again, like a hexadecimal number of too many digits."""
    tree = parse_python(code)
    try:
        ast.unparse(tree)
    except (ValueError, RecursionError):
        return []
    return tree.body
