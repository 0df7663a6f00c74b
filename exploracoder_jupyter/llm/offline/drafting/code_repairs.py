"""Mechanical repairs of code that failed, read off its error message."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from exploracoder_jupyter.core.types import ApiDoc, ErrorInfo
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import Pool
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import parameters

Repair = Callable[[str, ErrorInfo, Sequence[ApiDoc], Pool], Iterator[str]]


def repaired(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool, *, sure: bool = False) -> list[str]:
    """Mended versions of the code, the likeliest first; each parses and differs from it.

    `sure` leaves out what the error does not say, only suggests.
    """
    if not _parses(code):
        return []
    repairs = _REPAIRS[:_SURE] if sure else _REPAIRS
    try:
        found = [mended for repair in repairs for mended in repair(code, error, apis, pool)]
    except RecursionError:  # the code parses, and is nested too deeply to be written again
        return []
    return [mended for mended in dict.fromkeys(found) if mended != code and _parses(mended)]


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _missing_import(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    match = re.search(r"name '(\w+)' is not defined", error.message)
    if not match:
        return
    name = match.group(1)
    for api in apis[:5]:
        line = pool.import_for(name, api)
        if line:
            yield f"{line}\n{code}"
            return
    if name in sys.stdlib_module_names:
        yield f"import {name}\n{code}"


def _unknown_keyword(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    match = re.search(
        r"unexpected keyword argument '(\w+)'|'(\w+)' is an invalid keyword|got an unexpected .*?'(\w+)'", error.message
    )
    if not match:
        return
    bad = next(group for group in match.groups() if group)
    known = [p.name for api in apis for p in parameters(api) if f"{api.name}(" in code]
    for near in difflib.get_close_matches(bad, known, n=1, cutoff=0.6):
        yield _edited(code, bad, partial(_renamed, near))
    yield _edited(code, bad, lambda keyword: None)


def _renamed(name: str, keyword: ast.keyword) -> ast.keyword:
    return ast.keyword(name, keyword.value)


def _edited(code: str, name: str, change: Callable[[ast.keyword], ast.keyword | None]) -> str:
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        changed = [change(k) if k.arg == name else k for k in call.keywords]
        call.keywords = [keyword for keyword in changed if keyword is not None]
    return ast.unparse(tree)


def _unknown_attribute(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    """The nearest attribute: what Python itself suggests, then what the documentation knows."""
    match = re.search(r"has no attribute '(\w+)'", error.message)
    if not match:
        return
    bad = match.group(1)
    suggested = re.findall(r"Did you mean:? '\.?(\w+)'", f"{error.message} {error.traceback}")
    near = difflib.get_close_matches(bad, [api.name for api in (*apis, *pool.apis.values())], n=2, cutoff=0.6)
    for name in dict.fromkeys([*suggested, *near]):
        yield re.sub(rf"\.{bad}\b", f".{name}", code)
    if "'list' object" in error.message or "'tuple' object" in error.message:
        yield from _arrays(code)


def _called_or_not(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    """`obj.attr()` where `attr` is no method."""
    if not re.search(r"object is not callable", error.message):
        return
    for match in re.finditer(r"(\.\w+)\(\)", code):
        yield code[: match.start()] + match.group(1) + code[match.end() :]


def _containers(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    """Arguments of another container: tuples for lists, arrays for lists, sets for lists, lists for scalars."""
    if error.name not in ("TypeError", "ValueError", "AttributeError", "IndexError") or "NoneType" in error.message:
        return
    if "unhashable" in error.message or "tuple" in error.message:
        yield _literals(code, ast.List, lambda node: ast.Tuple(node.elts, ast.Load()))
    if "array" in error.message or "shape" in error.message or "dimension" in error.message:
        yield from _arrays(code)
    if "not iterable" in error.message or "Expected 2D" in error.message or "sequence" in error.message:
        yield _arguments(code, lambda node: ast.List([node], ast.Load()))
    if "set" in error.message:
        yield _literals(code, ast.List, lambda node: ast.Set(node.elts))
    if "list" in error.message:
        yield _literals(code, ast.Tuple, lambda node: ast.List(node.elts, ast.Load()))


def _arrays(code: str) -> Iterator[str]:
    yield "import numpy as np\n" + _literals(code, ast.List, lambda node: _numpy_call(node))


def _numpy_call(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), "array", ast.Load()), [node], [])


class _Outermost(ast.NodeTransformer):
    def __init__(self, kind: type, change: Callable[[ast.expr], ast.expr]) -> None:
        self._kind, self._change = kind, change

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, self._kind) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return self._change(node)  # type: ignore[arg-type]
        return self.generic_visit(node)


def _literals(code: str, kind: type, change: Callable[..., ast.expr]) -> str:
    """The code with its outermost literals of one kind changed."""
    return ast.unparse(ast.fix_missing_locations(_Outermost(kind, change).visit(ast.parse(code))))


def _arguments(code: str, change: Callable[[ast.expr], ast.expr]) -> str:
    """The code with the constants among its arguments changed."""
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        call.args = [change(a) if isinstance(a, (ast.Constant, ast.List)) else a for a in call.args]
    return ast.unparse(ast.fix_missing_locations(tree))


def _wrong_order(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    """The first two arguments of a documented call swapped."""
    if error.name not in ("TypeError", "AttributeError", "ValueError"):
        return
    names = {api.name for api in apis}
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) >= 2):
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if last in names:
            call.args[:2] = [call.args[1], call.args[0]]
            yield ast.unparse(tree)
            return


def _too_many(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    """`takes 1 positional argument but 3 were given`: arguments gathered in a list, then keyword arguments dropped."""
    if not re.search(r"takes .*positional argument.* given", error.message):
        return
    names = {api.name for api in apis}
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) >= 2):
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if last in names:
            call.args = [ast.List(call.args, ast.Load())]
            yield ast.unparse(ast.fix_missing_locations(tree))
            return


def _iterators(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: Pool) -> Iterator[str]:
    """A result that is an iterator where a container is needed."""
    if not re.search(
        r"(generator|iterator|map|filter|zip|dict_\w+)' object (is not subscriptable|has no len)|no len\(\)",
        error.message,
    ):
        return
    body = ast.parse(code).body
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            node.value = ast.Call(ast.Name("list", ast.Load()), [node.value], [])
    yield "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)


_SURE = 5
"""How many of the repairs follow from what the error says."""
_REPAIRS: tuple[Repair, ...] = (
    _missing_import,
    _unknown_keyword,
    _unknown_attribute,
    _called_or_not,
    _iterators,
    _too_many,
    _containers,
    _wrong_order,
)
