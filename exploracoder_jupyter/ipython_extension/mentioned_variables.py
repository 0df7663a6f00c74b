"""Finds the variables of this kernel that a task mentions, or that a solution would replace.

They are found in prose and in code. Private names, IPython's own names and imported objects are left out: a program
imports the latter itself.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter
from symtable import Symbol, symtable

from exploracoder_jupyter.core.given_variables import classify_mention
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path

MAX_NAMES = 20
_IDENTIFIER = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A whole identifier that is not an attribute."""
_module_of_class = type.__dict__["__module__"].__get__
"""Bypasses a metaclass that overrides `__module__`."""
_module_of_function = attrgetter("__module__")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def find_mentioned(
    task: str, check: str | None, namespace: Mapping[str, object], *, hidden: Mapping[str, object]
) -> list[str]:
    """Return the names of variables in the task or in the code of its check, in the order of the text, at most 20.

    `hidden` is what IPython itself has put into the namespace. No method of a value is called.
    """
    found = dict.fromkeys([*_IDENTIFIER.findall(task), *_names_in_check(check or "")])
    return [name for name in found if name in namespace and _is_users(name, namespace[name], hidden)][:MAX_NAMES]


def describe_variables(
    task: str, check: str | None, uses: Iterable[str], namespace: Mapping[str, object], *, hidden: Mapping[str, object]
) -> list[UserVariable]:
    """Return the variables that the user names with `--use`, and those that the task or its check mention.

    A bare word that may be plain English counts as given only if its value is not a built-in one: data, most likely.
    """
    mentioned = find_mentioned(task, None, namespace, hidden=hidden)
    uses = [name for name in uses if name in namespace]
    names = dict.fromkeys([*uses, *mentioned, *find_mentioned("", check, namespace, hidden=hidden)])
    return [
        UserVariable(name, type_path(namespace[name]), _is_given(task, name, namespace[name], name in mentioned, uses))
        for name in names
    ]


def _is_given(task: str, name: str, value: object, mentioned: bool, uses: Collection[str]) -> bool:
    if not mentioned:
        return name in uses
    mention, is_data = classify_mention(task, name), _module_of_class(type(value)) != "builtins"
    return mention == "given" or (mention == "perhaps" and (name in uses or is_data))


def find_replaced(code: str, namespace: Mapping[str, object], *, hidden: Mapping[str, object]) -> list[str]:
    """Return the names of the user's variables that the code would bind anew at its top level, in alphabetical order.

    Empty if the code is not plain Python. No method of a value is called.
    """
    return sorted(name for name in bound_names(code) if name in namespace and _is_users(name, namespace[name], hidden))


def bound_names(code: str) -> set[str]:
    """Return the global names that the code binds or deletes, also in a function by `global`.

    Empty if the code is not plain Python.
    """
    try:
        module = symtable(code, "solution", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = {one.get_name() for one in module.get_symbols() if _is_bound(one)}
    inner = [*module.get_children()]
    while inner:
        table = inner.pop()
        inner += table.get_children()
        found |= {one.get_name() for one in table.get_symbols() if one.is_global() and _is_bound(one)}
    return found


def _is_bound(symbol: Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _names_in_check(check: str) -> Iterable[str]:
    """Return the names that the check reads and does not bind itself; every identifier if it is not Python."""
    try:
        tree = ast.parse(check)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _IDENTIFIER.findall(check)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return [node.id for node in names if node.id not in bound]


def _is_users(name: str, value: object, hidden: Mapping[str, object]) -> bool:
    if name.startswith("_") or (name in hidden and hidden[name] is value):
        return False
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        return False
    if kind in _FUNCTIONS or issubclass(kind, type):
        get_module = _module_of_class if issubclass(kind, type) else _module_of_function
        return bool(get_module(value) == "__main__")
    return True
