"""Parses documented examples into statements, and slices them into the parts that lead to one call.

A slice contains what its last statement needs, by definition and use: imports, assignments, and bare method calls on
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
from exploracoder_jupyter.llm.offline.inputs.task_values import evaluate_literal, shape_of
from exploracoder_jupyter.text.python_code import parse_python

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
    tests = _parse_doctests(api.description)
    if tests:
        return (tests,)
    return tuple(block for code in api.examples if (block := _parse_example(code)))


def _parse_doctests(text: str) -> tuple[Statement, ...]:
    if ">>>" not in text:
        return ()
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return ()
    return tuple(
        Statement(node, example.want.strip(), True)
        for example in examples
        if not example.exc_msg and not example.options.get(doctest.SKIP)
        for node in parse_python(example.source).body
    )


def _parse_example(code: str) -> tuple[Statement, ...]:
    return tuple(Statement(node) for node in parse_python(code).body)


def find_slices(block: Sequence[Statement], name: str, *, limit: int = 6) -> list[Slice]:
    """Return slices that end in a statement which calls `name` (any call if it is empty), in order."""
    found: list[Slice] = []
    for index, statement in enumerate(block):
        shows_nothing = statement.from_doctest and not statement.output and isinstance(statement.node, ast.Expr)
        result = (_mutated_variable(statement.node) if shows_nothing else None) or _result_expression(statement.node)
        if result is None or (name and name not in called_names(statement.node)):
            continue
        found.append(_make_slice(block, index, result))
        if len(found) >= limit:
            break
    return found


def _mutated_variable(node: ast.stmt) -> ast.expr | None:
    """Return the variable that a call without output has changed."""
    method = (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    )
    root = _root_name(node.value) if method and isinstance(node, ast.Expr) else None
    return ast.Name(root, ast.Load()) if root else None


def mutates(api: ApiDoc) -> bool:
    """Return whether a method changes its object and returns nothing, according to its documentation."""
    if re.search(r"->\s*None\b", api.signature):
        return True
    calls = [
        s
        for block in example_blocks(api)
        for s in block
        if isinstance(s.node, ast.Expr) and api.name in called_names(s.node)
    ]
    if calls and any(s.output for block in example_blocks(api) for s in block):
        return not any(s.output for s in calls)
    documents_return = re.search(r"\breturns?\b|->", f"{api.signature} {api.description}", re.IGNORECASE)
    return not documents_return and bool(_MUTATOR_NAME.match(api.name))


def _result_expression(node: ast.stmt) -> ast.expr | None:
    """Return the expression whose value the statement stores or displays."""
    if isinstance(node, ast.Expr):
        return _displayed_expression(node.value)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.value
    if isinstance(node, ast.Assert):
        return _displayed_expression(node.test)
    if isinstance(node, ast.For):
        return ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
    return None


def _displayed_expression(node: ast.expr) -> ast.expr | None:
    """Return `x` for `print(x)`, for `x == 3` and for `pprint(x)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "pprint"):
        return node.args[0] if node.args else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return node.left
    return node


def _make_slice(block: Sequence[Statement], end: int, result: ast.expr) -> Slice:
    needed = loaded_names(result)
    statements: list[ast.stmt] = []
    imports: list[ast.stmt] = []
    last = block[end].node
    if isinstance(result, ast.Name) and isinstance(last, ast.Expr) and not isinstance(last.value, ast.Name):
        statements, needed = [last], needed | loaded_names(last)
    for statement in reversed(block[:end]):
        node = statement.node
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            if names & needed:
                imports.insert(0, _filter_import(node, needed))
                needed = needed - names
        elif _is_needed(statement, needed):
            statements.insert(0, node)
            needed = (needed - stored_names(node, whole=True)) | loaded_names(node)
    undefined_names = tuple(sorted(name for name in needed if name not in _BUILTINS))
    return Slice(tuple(statements), result, tuple(imports), undefined_names, _documented_type(block[end].output))


def _filter_import(node: ast.Import | ast.ImportFrom, needed: set[str]) -> ast.stmt:
    """Return the import without the names that are not needed."""
    aliases = [alias for alias in node.names if (alias.asname or alias.name.partition(".")[0]) in needed]
    return ast.Import(aliases) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, aliases, node.level)


def _is_needed(statement: Statement, needed: set[str]) -> bool:
    node = statement.node
    if isinstance(node, ast.Expr):
        root = _root_name(node.value)
        return isinstance(node.value, ast.Call) and root in needed and not statement.output
    if isinstance(node, (ast.For, ast.With)):
        return bool((stored_names(node) | {_root_name(call) or "" for call in _inner_calls(node)}) & needed)
    return bool(stored_names(node) & needed)


def _inner_calls(node: ast.stmt) -> Iterator[ast.expr]:
    return (item.value for item in ast.walk(node) if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call))


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
