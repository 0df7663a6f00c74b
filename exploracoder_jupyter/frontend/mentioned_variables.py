"""Which variables of this kernel a task speaks of, so that a model can be told that they are there.

Names only, found in words and code alike. Not told: what is private, what IPython put there, and what was imported: a
program imports that itself.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterable, Mapping
from operator import attrgetter

MAX_NAMES = 20
"""Names that are told."""

_IDENTIFIER = re.compile(r"(?<![\w.])[^\W\d]\w*")
"""A whole identifier that is no attribute."""
_module_of_class = type.__dict__["__module__"].__get__
"""Whatever a metaclass says of it."""
_module_of_function = attrgetter("__module__")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def find_mentioned(
    task: str, check: str | None, namespace: Mapping[str, object], *, hidden: Mapping[str, object]
) -> list[str]:
    """The names of variables that the task, or the code of its check, has in it; in the order of the text, at most 20.

    `hidden`: what IPython itself has put into the namespace. No method of a value runs.
    """
    found = dict.fromkeys([*_IDENTIFIER.findall(task), *_read_by(check or "")])
    return [name for name in found if name in namespace and _is_users(name, namespace[name], hidden)][:MAX_NAMES]


def _read_by(check: str) -> Iterable[str]:
    """Names that the check reads and does not bind itself; of a check that is no Python, every identifier."""
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
        look = _module_of_class if issubclass(kind, type) else _module_of_function
        return bool(look(value) == "__main__")
    return True
