"""What experience tells: the variables that exist, their types and attributes, and the code that made them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import Experience
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.inputs.example_slices import called, loads, stores
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, evaluate, shape_of
from exploracoder_jupyter.llm.offline.inputs.word_matching import parts

_NO_DATA = ("module", "type", "function", "builtin_function_or_method", "method", "ABCMeta", "EnumType", "NoneType")
_MEMBERS = re.compile(r"^  (properties|methods): (.*)$", re.MULTILINE)


def variables(experience: Sequence[Experience]) -> tuple[Value, ...]:
    """The variables of the state, the latest result first; numbered -1, -2, ..."""
    found: dict[str, Value] = {}
    for item in reversed([item for item in experience if item.observation.ran]):
        last = result_of(item)
        names = sorted(item.observation.names, key=lambda pair: pair[0] != last)
        for name, type_ in names:
            if type_.rpartition(".")[2] not in _NO_DATA and name not in found and not name.startswith("_"):
                number = -1 - len(found)
                plain = shown_shape(item) if name == last else ""
                plain = plain or type_.removeprefix("builtins.")
                roles = (*parts(name), *parts(plain.rpartition(".")[2]))
                found[name] = Value(number, name, plain, roles)
    return tuple(found.values())


def attributes(experience: Sequence[Experience]) -> dict[str, tuple[str, ...]]:
    """The public properties and methods of results, as they were told; methods end in `()`."""
    ran = [item for item in experience if item.observation.ran]
    told = [(change, result_of(item)) for item in ran for change in item.observation.changes]
    found = {change.name: _members(change.summary) for change, result in told if change.name == result}
    return {name: members for name, members in found.items() if members}


def _members(summary: str) -> tuple[str, ...]:
    lines = dict(_MEMBERS.findall(summary))
    methods = re.findall(r"(?:^|, )(\w+)\(", lines.get("methods", ""))
    return (*re.findall(r"\w+", lines.get("properties", "")), *(f"{name}()" for name in methods))


def shown_shape(item: Experience) -> str:
    """The shape of a result that was printed in full as a literal; empty when it was not."""
    type_, _, value = item.observation.text.strip().partition(" ")
    shape = shape_of(evaluate(value)) if value else ""
    return shape if shape.partition("[")[0] == type_ and type_ != "str" else ""


def result_of(item: Experience) -> str:
    """The variable that a snippet assigned last."""
    for node in reversed(_body(item.candidate.code)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    return ""


@dataclass(frozen=True, slots=True)
class Explored:
    """The selected snippets as one program."""

    draft: Draft
    result: str
    """Its last variable; empty when nothing ran."""


def program(experience: Sequence[Experience], values: Sequence[Value]) -> Explored:
    """The code of what ran, cleaned: imports on top, no prints, nothing that the last result does not need."""
    ran = [item for item in experience if item.observation.ran]
    nodes = [node for item in ran for node in _body(item.candidate.code)]
    imports = [ast.unparse(node) for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    body = [node for node in nodes if not isinstance(node, (ast.Import, ast.ImportFrom)) and not _prints(node)]
    result = next((name for item in reversed(ran) if (name := _kept_result(item))), "")
    code = "\n".join(ast.unparse(node) for node in body)
    used = frozenset(i for value in values if _holds(code, value) for i in value.covers)
    paths = tuple(dict.fromkeys(path for item in ran for path in item.apis))
    names = tuple(sorted(called(ast.Module(body, []))))
    lines = tuple(ast.unparse(node) for node in body)
    type_ = next((type_ for item in reversed(ran) for name, type_ in item.observation.names if name == result), "")
    last = next((item for item in reversed(ran) if result_of(item) == result), None)
    type_ = (shown_shape(last) if last else "") or type_
    draft = Draft(
        tuple(dict.fromkeys(imports)), lines, result, paths, used, 0.0, type_.removeprefix("builtins."), names
    )
    return Explored(draft, result)


def _kept_result(item: Experience) -> str:
    """The last variable of a snippet that holds something."""
    empty = {name for name, type_ in item.observation.names if type_.endswith("NoneType")}
    name = result_of(item)
    others = [name for name, type_ in item.observation.names if type_.rpartition(".")[2] not in _NO_DATA]
    return name if name not in empty else next(iter(others), "")


def alive(draft: Draft, values: Sequence[Value], keep: Sequence[str] = ()) -> Draft:
    """The draft without what its result does not need; what that used and called no longer counts."""
    code = pruned(replace(draft, imports=()).code("_"), ["_", *keep])
    live = ast.parse(code)
    names = called(live)
    return replace(
        draft,
        statements=tuple(ast.unparse(node) for node in live.body if "_" not in stores(node)),
        used=frozenset(i for value in values if _holds(code, value) for i in value.covers),
        paths=tuple(path for path in draft.paths if path.rpartition(".")[2] in names),
        names=tuple(sorted(names)),
    )


def pruned(code: str, targets: Sequence[str]) -> str:
    """The code without assignments and imports that no target needs; none where it cannot be parsed and written."""
    try:
        return _pruned(_body(code), targets)
    except RecursionError:
        return ""


def _pruned(body: Sequence[ast.stmt], targets: Sequence[str]) -> str:
    needed = set(targets)
    kept: list[ast.stmt] = []
    for node in reversed(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if not names & needed:
                continue
        elif isinstance(node, ast.Assign):
            if not stores(node) & needed:
                continue
            needed -= stores(node, whole=True)
        elif isinstance(node, ast.Expr) and not loads(node) & needed:
            continue
        kept.insert(0, node)
        needed |= loads(node)
    return _written(kept)


def _written(body: Sequence[ast.stmt]) -> str:
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    rest = [node for node in body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    top = "\n".join(dict.fromkeys(ast.unparse(node) for node in imports))
    return f"{top}\n\n{chr(10).join(ast.unparse(node) for node in rest)}".strip("\n")


def _holds(code: str, value: Value) -> bool:
    try:
        wanted = ast.dump(ast.parse(value.code, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(ast.dump(node) == wanted for node in ast.walk(ast.parse(code)) if isinstance(node, ast.expr))


def _prints(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"


def _body(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
