"""Finds the earlier cells that a cell needs to run in a fresh session, and the names that would be missing.

Syntactic: a name that a cell reads is looked up in the earlier cells that bind it or were observed to change it.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Experience

ALWAYS_DEFINED: Final = frozenset({*dir(builtins), "display", "get_ipython", "__name__", "__file__"})
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Names(NamedTuple):
    """Names at module level."""

    read: frozenset[str]
    bound: frozenset[str]


def slice_dependencies(cells: Sequence[Experience]) -> str:
    """Return the code of the last cell preceded by that of the cells it needs, in order, without repeated imports."""
    last = cells[-1].candidate.code
    included, missing = [last], set(unbound_names(last) or ())
    for item in reversed(cells[:-1]):
        code = item.candidate.code
        if missing & {*names_in(code).bound, *(change.name for change in item.observation.changes)}:
            missing |= unbound_names(code) or set()
            included = [code, *(other for other in included if other != code)]
    return "\n\n".join(_drop_repeated_imports(included))


def join_cells(cells: Sequence[Experience]) -> str:
    """Return the code of all cells that ran as one program, without repeated imports."""
    return "\n\n".join(_drop_repeated_imports([item.candidate.code for item in cells if item.observation.ran]))


def unbound_names(code: str) -> set[str] | None:
    """Return the names that the code reads before binding them; `None` if it cannot be parsed."""
    try:
        body = [(statement, names_in(ast.unparse(statement))) for statement in ast.parse(code).body]
    except _UNREADABLE:
        return None
    known, missing = set(ALWAYS_DEFINED), set[str]()
    for statement, names in body:
        reads_first = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        missing |= names.read - known - (set() if reads_first else names.bound)
        known |= names.bound
    return missing


def same_statements(code: str, other: str) -> bool:
    """Whether both codes have the same statements, in any order."""
    with suppress(ValueError, RecursionError):  # a number with too many digits, or code that is nested too deeply
        one, another = ({ast.dump(node) for node in parse_python(text).body} for text in (code, other))
        return bool(one) and one == another
    return False


def names_in(code: str) -> Names:
    """Return the names that the code reads and binds at module level; none if it cannot be parsed."""
    try:
        table = symtable.symtable(code, "cell", "exec")
    except _UNREADABLE:
        return Names(frozenset(), frozenset())
    bound = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    changed = {node.target for node in ast.walk(ast.parse(code)) if isinstance(node, ast.AugAssign)}
    added = {target.id for target in changed if isinstance(target, ast.Name)} & bound
    return Names(frozenset({*_read_names(table), *added}), frozenset(bound))


def _read_names(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    yield from (one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global()))
    for inner in table.get_children():
        yield from _read_names(inner)


def _drop_repeated_imports(codes: Iterable[str]) -> Iterator[str]:
    """Yield the codes without top-level imports that an earlier one contains."""
    seen: set[str] = set()
    for code in codes:
        lines, body = code.splitlines(), parse_python(code).body
        used = [line for node in body for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)]
        for node in (node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))):
            if ast.dump(node) in seen and used.count(node.lineno) == 1:  # it has its lines to itself
                lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
            seen.add(ast.dump(node))
        if text := "\n".join(lines).strip("\n"):
            yield text
