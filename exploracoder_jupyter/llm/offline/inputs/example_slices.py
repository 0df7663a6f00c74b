"""Documented examples as statements, and the slices of them that lead to one call.

A slice holds what the last statement needs, by definition and use: imports, assignments, and bare method calls on
variables that it needs, unless the documentation shows that such a call only displays something.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.task_values import evaluate, shape_of

_CHANGING = re.compile(
    r"(?:add|append|insert|update|remove|discard|extend|push|set|put|clear|sort|reverse|register|del)(?:_|$)"
)
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an example."""

    node: ast.stmt
    want: str = ""
    """What the documentation says it prints."""
    tested: bool = False
    """Whether it comes from a doctest, where what shows nothing gives nothing."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Statements that lead to a result, and its expression."""

    statements: tuple[ast.stmt, ...]
    result: ast.expr
    imports: tuple[ast.stmt, ...]
    free: tuple[str, ...]
    """Names it uses and does not define."""
    type: str
    """The shape of the documented result, if it is shown."""


@lru_cache(maxsize=4096)
def samples(api: ApiDoc) -> tuple[tuple[Statement, ...], ...]:
    """The API's examples: with their outputs where the docstring has doctests."""
    tests = _doctests(api.description)
    if tests:
        return (tests,)
    return tuple(block for code in api.examples if (block := _parsed(code)))


def _doctests(text: str) -> tuple[Statement, ...]:
    if ">>>" not in text:
        return ()
    try:
        found = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return ()
    return tuple(
        Statement(node, item.want.strip(), True) for item in found if not item.exc_msg for node in _nodes(item.source)
    )


def _parsed(code: str) -> tuple[Statement, ...]:
    return tuple(Statement(node) for node in _nodes(code))


def _nodes(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def slices(block: Sequence[Statement], name: str, *, most: int = 6) -> list[Slice]:
    """Slices that end in a statement which calls `name` (any call if it is empty), the first ones first."""
    found: list[Slice] = []
    for index, statement in enumerate(block):
        silent = statement.tested and not statement.want and isinstance(statement.node, ast.Expr)
        result = (_changed(statement.node) if silent else None) or _result(statement.node)
        if result is None or (name and name not in called(statement.node)):
            continue
        found.append(_slice(block, index, result))
        if len(found) >= most:
            break
    return found


def _changed(node: ast.stmt) -> ast.expr | None:
    """The variable that a call which shows nothing has changed."""
    method = (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    )
    root = _root(node.value) if method and isinstance(node, ast.Expr) else None
    return ast.Name(root, ast.Load()) if root else None


def mutates(api: ApiDoc) -> bool:
    """Whether a method changes its object and returns nothing, as far as its documentation shows."""
    if re.search(r"->\s*None\b", api.signature):
        return True
    calls = [s for block in samples(api) for s in block if isinstance(s.node, ast.Expr) and api.name in called(s.node)]
    if calls and any(s.want for block in samples(api) for s in block):
        return not any(s.want for s in calls)
    said = re.search(r"\breturns?\b|->", f"{api.signature} {api.description}", re.IGNORECASE)
    return not said and bool(_CHANGING.match(api.name))


def _result(node: ast.stmt) -> ast.expr | None:
    """The expression whose value a statement is about."""
    if isinstance(node, ast.Expr):
        return _shown(node.value)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.value
    if isinstance(node, ast.Assert):
        return _shown(node.test)
    if isinstance(node, ast.For):
        return ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
    return None


def _shown(node: ast.expr) -> ast.expr | None:
    """`x` of `print(x)`, of `x == 3` and of `pprint(x)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "pprint"):
        return node.args[0] if node.args else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return node.left
    return node


def _slice(block: Sequence[Statement], end: int, result: ast.expr) -> Slice:
    needed = loads(result)
    kept: list[ast.stmt] = []
    imports: list[ast.stmt] = []
    last = block[end].node
    if isinstance(result, ast.Name) and isinstance(last, ast.Expr) and not isinstance(last.value, ast.Name):
        kept, needed = [last], needed | loads(last)
    for statement in reversed(block[:end]):
        node = statement.node
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if names & needed:
                imports.insert(0, _only(node, needed))
                needed = needed - names
        elif _matters(statement, needed):
            kept.insert(0, node)
            needed = (needed - stores(node, whole=True)) | loads(node)
    free = tuple(sorted(name for name in needed if name not in _BUILTINS))
    return Slice(tuple(kept), result, tuple(imports), free, _documented_type(block[end].want))


def _only(node: ast.Import | ast.ImportFrom, needed: set[str]) -> ast.stmt:
    """The import without the names that nothing needs."""
    kept = [alias for alias in node.names if (alias.asname or alias.name.partition(".")[0]) in needed]
    return ast.Import(kept) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, kept, node.level)


def _matters(statement: Statement, needed: set[str]) -> bool:
    node = statement.node
    if isinstance(node, ast.Expr):
        root = _root(node.value)
        return isinstance(node.value, ast.Call) and root in needed and not statement.want
    if isinstance(node, (ast.For, ast.With)):
        return bool((stores(node) | {_root(call) or "" for call in _inner_calls(node)}) & needed)
    return bool(stores(node) & needed)


def _inner_calls(node: ast.stmt) -> Iterator[ast.expr]:
    return (item.value for item in ast.walk(node) if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call))


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def loads(node: ast.AST) -> set[str]:
    """Names that a piece of code reads, those bound inside it left out."""
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
    inner = {arg.arg for item in ast.walk(node) if isinstance(item, ast.arguments) for arg in item.args}
    bound = {
        name.id
        for item in ast.walk(node)
        if isinstance(item, (ast.comprehension, ast.For))
        for name in ast.walk(item.target)
        if isinstance(name, ast.Name)
    }
    return found - inner - bound


def stores(node: ast.stmt, *, whole: bool = False) -> set[str]:
    """Names that a statement binds, or changes by item or attribute (`whole`: binds only)."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    if isinstance(node, (ast.Assign, ast.AugAssign)) and not whole:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {root for target in targets if (root := _root(target))}
    return found - loads(node) if whole and isinstance(node, ast.AugAssign) else found


def called(node: ast.AST) -> set[str]:
    """Last names of what a piece of code calls or reads as an attribute."""
    found = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return found | {
        item.func.id for item in ast.walk(node) if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)
    }


def _documented_type(want: str) -> str:
    """The shape of a printed result; a class name for `Name(...)` and `<module.Name object ...>`."""
    if not want:
        return ""
    value = evaluate(want)
    if value != want or want[:1] in "'\"":
        return shape_of(value)
    head = want.lstrip("<").partition("(")[0].split(" ")[0].split("\n")[0]
    return head if head.replace(".", "").isidentifier() else ""
