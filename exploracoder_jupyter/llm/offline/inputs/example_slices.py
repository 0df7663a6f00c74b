"""Parses documented examples into statements, and slices them into the parts that lead to one call.

A slice contains what its last statement needs, by definition and use: imports, assignments, and bare method calls on
variables that it needs, unless the documentation shows that such a call only displays something.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, evaluate_literal, shape_of

_MUTATOR_NAME = re.compile(
    r"(?:add|append|insert|update|remove|discard|extend|push|set|put|clear|sort|reverse|register|del)(?:_|$)"
)
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an example."""

    node: ast.stmt
    output: str = ""
    """The output that the documentation shows for it."""
    from_doctest: bool = False
    """Whether it comes from a doctest, where an expression without output evaluates to None."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Statements that lead to a result, and the result's expression."""

    statements: tuple[ast.stmt, ...]
    result: ast.expr
    imports: tuple[ast.stmt, ...]
    undefined_names: tuple[str, ...]
    """Names that it uses and does not define."""
    type: str
    """The shape of the documented result, if it is shown."""


@lru_cache(maxsize=4096)
def example_blocks(api: ApiDoc) -> tuple[tuple[Statement, ...], ...]:
    """Return the API's examples: with their outputs where the docstring has doctests."""
    examples: list[doctest.Example] = []
    with suppress(ValueError):
        examples = doctest.DocTestParser().get_examples(api.description) if ">>>" in api.description else []
    tests = tuple(
        Statement(node, example.want.strip(), True)
        for example in examples
        if not example.exc_msg and not example.options.get(doctest.SKIP)
        for node in parse_python(example.source).body
    )
    if tests:
        return (tests,)
    blocks = (tuple(Statement(node) for node in parse_python(code).body) for code in api.examples)
    return tuple(filter(None, blocks))


@lru_cache(maxsize=4096)
def find_slices(block: tuple[Statement, ...], name: str, *, limit: int = 6) -> tuple[Slice, ...]:
    """Return slices that end in a statement which calls `name` (any call if it is empty), in order."""
    found: list[Slice] = []
    for index, statement in enumerate(block):
        shows_nothing = statement.from_doctest and not statement.output
        result = (_mutated_variable(statement.node) if shows_nothing else None) or _result_expression(statement.node)
        if result is not None and (not name or name in called_names(statement.node)):
            found.append(_make_slice(block, index, result))
    return tuple(found[:limit])


def _mutated_variable(node: ast.stmt) -> ast.expr | None:
    call = node.value if isinstance(node, ast.Expr) else None
    is_method = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    root = _root_name(call) if call is not None and is_method else None
    return ast.Name(root, ast.Load()) if root else None


def mutates(api: ApiDoc) -> bool:
    """Return whether a method changes its object and returns nothing, according to its documentation."""
    if re.search(r"->\s*None\b", api.signature):
        return True
    shown = [statement for block in example_blocks(api) for statement in block]
    calls = [one for one in shown if isinstance(one.node, ast.Expr) and api.name in called_names(one.node)]
    if calls and any(one.output for one in shown):
        return not any(one.output for one in calls)
    documents_return = re.search(r"\breturns?\b|->", f"{api.signature} {api.description}", re.IGNORECASE)
    return not documents_return and bool(_MUTATOR_NAME.match(api.name))


def _result_expression(node: ast.stmt) -> ast.expr | None:
    match node:
        case ast.Expr(ast.Call(ast.Name("print" | "pprint"), args)):
            return args[0] if args else None
        case ast.Expr(ast.Compare(shown, [ast.Eq()])) | ast.Assert(ast.Compare(shown, [ast.Eq()])):
            return shown
        case ast.Expr(shown) | ast.Assign([_], shown) | ast.Assert(shown):
            return shown
        case ast.For():
            return ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
    return None


def _make_slice(block: Sequence[Statement], end: int, result: ast.expr) -> Slice:
    last = block[end].node
    changes_result = (
        isinstance(result, ast.Name) and isinstance(last, ast.Expr) and not isinstance(last.value, ast.Name)
    )
    tail = [last] if changes_result else []
    shown = [item.node for item in block[:end] if isinstance(item.node, ast.Expr) and item.output]
    before = [item.node for item in block[:end] if item.node not in shown]
    nodes, needed = slice_backwards(before, loaded_names(result).union(*(loaded_names(node) for node in tail)))
    imports = tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
    statements = tuple(node for node in (*nodes, *tail) if node not in imports)
    return Slice(statements, result, imports, tuple(sorted(needed - _BUILTINS)), _documented_type(block[end].output))


def slice_backwards(nodes: Sequence[ast.stmt], needed: set[str]) -> tuple[list[ast.stmt], set[str]]:
    """Return the statements that define or change the names, and the names that they read and do not define."""
    kept: list[ast.stmt] = []
    for node in reversed(nodes):
        if _affects(node, needed):
            kept.insert(0, node)
            needed = (needed - stored_names(node, whole=True)) | loaded_names(node)
    return kept, needed


def _affects(node: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement binds one of the names, or calls something with it."""
    if isinstance(node, ast.Assign):
        return bool(stored_names(node) & names)
    calls = [item for item in ast.walk(node) if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call)]
    called_with = {name for call in calls if not is_print(call) for name in loaded_names(call)}
    return bool((stored_names(node) | called_with) & names)


def is_print(node: ast.AST) -> bool:
    """Return whether a statement only prints."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(("print(", "pprint("))


def _root_name(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def loaded_names(node: ast.AST) -> set[str]:
    """Return the names that a piece of code reads, except those bound inside it."""
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
    parameter_names = {arg.arg for item in ast.walk(node) if isinstance(item, ast.arguments) for arg in item.args}
    bound = {
        name.id
        for item in ast.walk(node)
        if isinstance(item, (ast.comprehension, ast.For))
        for name in ast.walk(item.target)
        if isinstance(name, ast.Name)
    }
    return found - parameter_names - bound


def stored_names(node: ast.stmt, *, whole: bool = False) -> set[str]:
    """Return the names that a statement binds, or changes by item or attribute (`whole`: binds only)."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    if isinstance(node, (ast.Assign, ast.AugAssign)) and not whole:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {root for target in targets if (root := _root_name(target))}
    return found - loaded_names(node) if whole and isinstance(node, ast.AugAssign) else found


def called_names(node: ast.AST) -> set[str]:
    """Return the last names of what a piece of code calls or reads as an attribute."""
    found = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return found | {
        item.func.id for item in ast.walk(node) if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)
    }


def _documented_type(output: str) -> str:
    """Return the shape of a printed result; a class name for `Name(...)` and `<module.Name object ...>`."""
    if not output:
        return ""
    value = evaluate_literal(output)
    if value != output or output[:1] in "'\"":
        return shape_of(value)
    head = output.lstrip("<").partition("(")[0].split(" ")[0].split("\n")[0]
    return head if head.replace(".", "").isidentifier() else ""


def contains_value(code: str, value: Value) -> bool:
    """Return whether a value occurs in a program as the same literal or name."""
    expected = [ast.dump(node.value) for node in parse_python(value.code).body if isinstance(node, ast.Expr)]
    nodes = (node for node in ast.walk(parse_python(code)) if isinstance(node, ast.expr))
    return any(ast.dump(node) in expected for node in nodes)
