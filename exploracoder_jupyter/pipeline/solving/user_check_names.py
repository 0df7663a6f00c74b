"""Finds names that a check reads but the task does not mention: a solution would bind them only by chance."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from symtable import SymbolTable, symtable

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.solving.user_check import check_source

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ALIASES = {"np", "pd", "plt", "nx", "pl", "xr", "sns", "tf", "torch", "scipy", "numpy", "pandas", "pytest"}
"""Names by which libraries are commonly imported."""


def unmentioned_names(task: Task) -> tuple[str, ...]:
    """Return names that the task's check reads, but that neither the check binds nor the task mentions.

    Excludes the user's variables that the task may use, the function that the solution defines, builtins and modules.
    Empty if there is no check, or none that can be parsed.
    """
    with suppress(UsageError, SyntaxError, ValueError, RecursionError, MemoryError):
        code = check_source(task)
        mentioned = {*_IDENTIFIER.findall(task.text), *task.uses, task.solution_name, *_module_names(task)}
        free = _free_names(symtable(code, "check", "exec")) - set(dir(builtins)) - mentioned
        uses = list(_name_uses(ast.parse(code)))
        order = dict.fromkeys(name for name, _ in uses)
        return tuple(name for name in order if name in free and not _is_module(name, uses))
    return ()


def missing_names_notice(task: Task) -> str:
    """Return a notice about these names and how to fix the task; empty if there are none."""
    names = [f"`{name}`" for name in unmentioned_names(task)]
    if not names:
        return ""
    which = f"the name {names[0]}" if len(names) == 1 else f"the names {', '.join(names[:-1])} and {names[-1]}"
    return (
        f"The check uses {which}, which the task does not mention: the model is only given the name"
        f"{'' if len(names) == 1 else 's'}, so a solution may pass only by chance. Say in the task what belongs there,"
        f" for example: “store it in {names[0]}”."
    )


def _free_names(table: SymbolTable) -> set[str]:
    """Return the global names that are read in this scope or below it and bound in none of them."""
    tables = list(_all_scopes(table))
    symbols = [(symbol, one is table) for one in tables for symbol in one.get_symbols()]
    read = {one.get_name() for one, outer in symbols if one.is_referenced() and (outer or one.is_global())}
    bound = {
        one.get_name()
        for one, outer in symbols
        if (outer or one.is_declared_global()) and (one.is_assigned() or one.is_imported() or one.is_namespace())
    }
    return read - bound - {"__name__", "__file__", "__doc__"}


def _all_scopes(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _all_scopes(child)


def _name_uses(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield each name that is read, in text order, and whether it is read only for an attribute."""
    found = [
        (child.lineno, child.col_offset, child.id, isinstance(node, ast.Attribute))
        for node in ast.walk(tree)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
    ]
    yield from ((name, dotted) for _, _, name, dotted in sorted(found))


def _is_module(name: str, uses: list[tuple[str, bool]]) -> bool:
    """Whether the name is that of a well-known module and is used like one."""
    return name in {*sys.stdlib_module_names, *_ALIASES} and all(dotted for used, dotted in uses if used == name)


def _module_names(task: Task) -> Iterator[str]:
    for library in task.libraries:
        yield from (library, library.replace("-", "_"), library.partition(".")[0])
