"""Mechanical repairs of failed code, based on the error message."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from exploracoder_jupyter.core.types import ApiDoc, ErrorInfo
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import parse_parameters

Repair = Callable[[str, ErrorInfo, Sequence[ApiDoc], DocumentationPool], Iterator[str]]


def repair_code(
    code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool, *, certain: bool = False
) -> list[str]:
    """Return repaired versions of the code, the most likely first; each parses and differs from the original.

    `certain` limits the repairs to those that follow from the error, without those that it only suggests.
    """
    if not _parses(code):
        return []
    repairs = _REPAIRS[:_CERTAIN_REPAIRS] if certain else _REPAIRS
    try:
        found = [repaired_code for repair in repairs for repaired_code in repair(code, error, apis, pool)]
    except RecursionError:  # the code parses, but is nested too deeply to be unparsed
        return []
    return [repaired_code for repaired_code in dict.fromkeys(found) if repaired_code != code and _parses(repaired_code)]


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _add_missing_import(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
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


def _fix_unknown_keyword(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
    match = re.search(
        r"unexpected keyword argument '(\w+)'|'(\w+)' is an invalid keyword|got an unexpected .*?'(\w+)'", error.message
    )
    if not match:
        return
    unknown = next(group for group in match.groups() if group)
    known_names = [p.name for api in apis for p in parse_parameters(api) if f"{api.name}(" in code]
    for similar in difflib.get_close_matches(unknown, known_names, n=1, cutoff=0.6):
        yield _edit_keyword(code, unknown, partial(_rename_keyword, similar))
    yield _edit_keyword(code, unknown, lambda keyword: None)


def _rename_keyword(name: str, keyword: ast.keyword) -> ast.keyword:
    return ast.keyword(name, keyword.value)


def _edit_keyword(code: str, name: str, edit: Callable[[ast.keyword], ast.keyword | None]) -> str:
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        changed = [edit(keyword) if keyword.arg == name else keyword for keyword in call.keywords]
        call.keywords = [keyword for keyword in changed if keyword is not None]
    return ast.unparse(tree)


def _fix_unknown_attribute(
    code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool
) -> Iterator[str]:
    """Try the nearest attributes: first Python's own suggestion, then names from the documentation."""
    match = re.search(r"has no attribute '(\w+)'", error.message)
    if not match:
        return
    unknown = match.group(1)
    suggested = re.findall(r"Did you mean:? '\.?(\w+)'", f"{error.message} {error.traceback}")
    similar = difflib.get_close_matches(unknown, [api.name for api in (*apis, *pool.apis.values())], n=2, cutoff=0.6)
    for name in dict.fromkeys([*suggested, *similar]):
        yield re.sub(rf"\.{unknown}\b", f".{name}", code)
    if "'list' object" in error.message or "'tuple' object" in error.message:
        yield from _convert_to_arrays(code)


def _remove_call(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
    """Remove the call from `obj.attr()` if `attr` is not a method."""
    if not re.search(r"object is not callable", error.message):
        return
    for match in re.finditer(r"(\.\w+)\(\)", code):
        yield code[: match.start()] + match.group(1) + code[match.end() :]


def _change_containers(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
    """Change the type of container arguments: lists to tuples, arrays or sets, tuples to lists, scalars to lists."""
    if error.name not in ("TypeError", "ValueError", "AttributeError", "IndexError") or "NoneType" in error.message:
        return
    if "unhashable" in error.message or "tuple" in error.message:
        yield _edit_literals(code, ast.List, lambda node: ast.Tuple(node.elts, ast.Load()))
    if "array" in error.message or "shape" in error.message or "dimension" in error.message:
        yield from _convert_to_arrays(code)
    if "not iterable" in error.message or "Expected 2D" in error.message or "sequence" in error.message:
        yield _edit_arguments(code, lambda node: ast.List([node], ast.Load()))
    if "set" in error.message:
        yield _edit_literals(code, ast.List, lambda node: ast.Set(node.elts))
    if "list" in error.message:
        yield _edit_literals(code, ast.Tuple, lambda node: ast.List(node.elts, ast.Load()))


def _convert_to_arrays(code: str) -> Iterator[str]:
    yield "import numpy as np\n" + _edit_literals(code, ast.List, lambda node: _numpy_call(node))


def _numpy_call(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), "array", ast.Load()), [node], [])


class _EditOutermost(ast.NodeTransformer):
    def __init__(self, kind: type, edit: Callable[[ast.expr], ast.expr]) -> None:
        self._kind, self._change = kind, edit

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, self._kind) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return self._change(node)  # type: ignore[arg-type]
        return self.generic_visit(node)


def _edit_literals(code: str, kind: type, edit: Callable[..., ast.expr]) -> str:
    """Edit the outermost literals of one kind."""
    return ast.unparse(ast.fix_missing_locations(_EditOutermost(kind, edit).visit(ast.parse(code))))


def _edit_arguments(code: str, edit: Callable[[ast.expr], ast.expr]) -> str:
    """Edit the constants and lists among the arguments of calls."""
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        call.args = [
            edit(argument) if isinstance(argument, (ast.Constant, ast.List)) else argument for argument in call.args
        ]
    return ast.unparse(ast.fix_missing_locations(tree))


def _swap_arguments(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
    """Swap the first two arguments of a documented call."""
    if error.name not in ("TypeError", "AttributeError", "ValueError"):
        return
    names = {api.name for api in apis}
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) >= 2):
        function_name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if function_name in names:
            call.args[:2] = [call.args[1], call.args[0]]
            yield ast.unparse(tree)
            return


def _reduce_arguments(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
    """Put the arguments in a list, for `takes 1 positional argument but 3 were given`."""
    if not re.search(r"takes .*positional argument.* given", error.message):
        return
    names = {api.name for api in apis}
    tree = ast.parse(code)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) >= 2):
        function_name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if function_name in names:
            call.args = [ast.List(call.args, ast.Load())]
            yield ast.unparse(ast.fix_missing_locations(tree))
            return


def _convert_iterators(code: str, error: ErrorInfo, apis: Sequence[ApiDoc], pool: DocumentationPool) -> Iterator[str]:
    """Convert results that are iterators to lists, where a container is needed."""
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


_CERTAIN_REPAIRS = 5
"""How many of the first repairs follow from the error itself."""
_REPAIRS: tuple[Repair, ...] = (
    _add_missing_import,
    _fix_unknown_keyword,
    _fix_unknown_attribute,
    _remove_call,
    _convert_iterators,
    _reduce_arguments,
    _change_containers,
    _swap_arguments,
)
