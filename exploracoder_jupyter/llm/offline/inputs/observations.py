"""What runs showed: variables with their types and members, and the code that created them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from exploracoder_jupyter.core.types import Experience
from exploracoder_jupyter.llm.offline.inputs.code_names import loaded_names, stored_names
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
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


def explored_code(experience: Sequence[Experience]) -> tuple[str, str]:
    """Return the snippets that ran as one program without prints, and the variable of its last result."""
    ran = [item for item in experience if item.observation.ran]
    nodes = [node for item in ran for node in _writable_body(item.candidate.code) if not _is_print(node)]
    empty = {name for item in ran for name, type_ in item.observation.names if type_.endswith("NoneType")}
    result = next((name for item in reversed(ran) if (name := result_name(item)) and name not in empty), "")
    return _unparse(nodes), result


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


def _is_print(node: ast.stmt) -> bool:
    """Return whether a statement is a call of `print`."""
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


_MEMBERS = re.compile(r"^  (properties|methods): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Observed:
    """The type of a result, and its public members; methods end in `()`."""

    type: str = ""
    members: tuple[str, ...] = ()


def observe_results(experience: Sequence[Experience], attempts: Sequence[Experience] = ()) -> dict[str, Observed]:
    """Return what is known of results, by their canonical code; of the state's variables also by their names."""
    found: dict[str, Observed] = {}
    explored = ""
    for item in experience:
        if item.observation.ran:
            explored = f"{explored}\n{item.candidate.code}"
            found |= _observe(explored, item, by_name=True)
    for item in attempts:
        found |= _observe(item.candidate.code, item)
    return found


def _observe(code: str, item: Experience, *, by_name: bool = False) -> dict[str, Observed]:
    found: dict[str, Observed] = {}
    summaries = {change.name: change.summary for change in item.observation.changes}
    for name, type_ in item.observation.names:
        if type_.rpartition(".")[2] not in _NON_DATA_TYPES and not name.startswith("_"):
            seen = Observed(type_.removeprefix("builtins."), _parse_members(summaries.get(name, "")))
            found[canonical_code(f"{code}\n_ = {name}")] = seen
            if by_name:
                found[name] = seen
    return found


def _parse_members(summary: str) -> tuple[str, ...]:
    lines = dict(_MEMBERS.findall(summary))
    methods = re.findall(r"(?:^|, )(\w+)\(", lines.get("methods", ""))
    properties = re.findall(r"\w+", lines.get("properties", ""))
    fields = re.findall(r"^  (\w+)(?: = |: )" if "named tuple" in summary else r"^  (\w+) = ", summary, re.MULTILINE)
    return (*fields, *properties, *(f"{name}()" for name in methods))


@lru_cache(maxsize=4096)
def canonical_code(code: str) -> str:
    """Return what computes `_`, with variables numbered instead of named; the same for equal computations."""
    body = [node for node in parse_python(prune(code, ["_"])).body if not _is_print(node)]
    if len(body) >= 2 and _is_alias(body[-1], body[-2]):
        body[-2].targets = body[-1].targets  # type: ignore[attr-defined]
        body.pop()
    tree = ast.Module(body, [])
    names = dict.fromkeys(name for node in body for name in sorted(stored_names(node)))
    numbers = {name: f"v{number}" for number, name in enumerate(names) if name != "_"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = numbers.get(node.id, node.id)
    return "\n".join(ast.unparse(node) for node in body if not isinstance(node, (ast.Import, ast.ImportFrom)))


def _is_alias(last: ast.stmt, before: ast.stmt) -> bool:
    """Return whether the last statement only renames what the one before it assigns."""
    if not (isinstance(last, ast.Assign) and isinstance(before, ast.Assign) and isinstance(last.value, ast.Name)):
        return False
    return [ast.unparse(target) for target in before.targets] == [last.value.id]
