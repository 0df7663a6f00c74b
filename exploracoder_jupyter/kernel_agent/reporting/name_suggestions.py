"""Suggests names similar to a missing one, as lines: `networkx.Graph.add_edge(u, v, **attr): Add an edge.`

Candidates come from what exists: a type's classes and an instance's own dictionary, a module, the namespace of the
cells, the columns of a frame. If arguments did not match, the callee's signature is suggested. No attribute access.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from types import ModuleType
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.failing_code import (
    MISSING,
    UserFrame,
    failing_nodes,
    resolve,
    values_in_expression,
)
from exploracoder_jupyter.kernel_agent.reporting.name_similarity import most_similar
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import class_dict, mro, path_of, type_path
from exploracoder_jupyter.kernel_agent.reporting.signature_hints import describe_object, is_callable, unwrap_function
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry

_MAX_SUGGESTIONS = 5
_MAX_MEMBERS = 60
_MAX_KEYS = 2_000
_MAX_KEY_LENGTH = 60
_MAX_COLUMNS = 30
_MAX_TABLES = 2
_DATA_FRAMES = ("pandas.DataFrame", "polars.DataFrame", "polars.dataframe.frame.DataFrame")
_ARGUMENT_ERROR = re.compile(r"\w+\(\) (?:got |missing |takes )|takes no (?:keyword )?arguments|keyword argument")


def suggest_names(error: BaseException, user_frame: UserFrame | None, namespace: Mapping[str, Any]) -> list[str]:
    """Return at most five lines on what may have been meant; `user_frame` is the user's innermost frame."""
    match error:
        case AttributeError():
            return _suggest_attributes(error)
        case NameError():
            return _suggest_variables(error, user_frame, namespace)
        case ImportError():
            return _suggest_module_members(error)
        case TypeError() if user_frame:
            return _suggest_signature(error, user_frame)
        case LookupError() if user_frame:
            return [f"column {name!r}" for name in _suggest_columns(error, user_frame)]
        case _:
            return []


def suggest_keys(error: BaseException, user_frame: UserFrame | None) -> list[str]:
    """Return similar keys of the dictionaries in the failing expression. Keys are user data."""
    if not user_frame or not isinstance(error, LookupError):
        return []
    values = [value for _, value in values_in_expression(user_frame)]
    return [key for value in values if type(value) is dict for key in _similar_keys(error, user_frame, value)][
        :_MAX_SUGGESTIONS
    ]


def list_members(error: BaseException) -> str:
    """Return the public names of the object that lacks an attribute, on one line; empty for another error."""
    owner = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
    if owner is None:
        return ""
    available, path = _attributes(owner)
    names = sorted(name for name in available if type(name) is str and not name.startswith("_"))
    more = f", and {len(names) - _MAX_MEMBERS} more" if len(names) > _MAX_MEMBERS else ""
    return f"{path} has: {', '.join(names[:_MAX_MEMBERS])}{more}" if names else ""


def list_columns(user_frame: UserFrame | None) -> list[str]:
    """Return a line for each table in the failing expression, with the names and types of its columns."""
    lines = []
    for name, table in _tables(user_frame) if user_frame else ():
        columns = [
            f"{str(key)[:_MAX_KEY_LENGTH]} {dtype}" for key, dtype in zip(table.columns, table.dtypes, strict=False)
        ]
        more = f" and {len(columns) - _MAX_COLUMNS} more" if len(columns) > _MAX_COLUMNS else ""
        lines.append(f"Columns of {name[:_MAX_KEY_LENGTH]}: {', '.join(columns[:_MAX_COLUMNS])}{more}")
    return lines[:_MAX_TABLES]


def _suggest_attributes(error: AttributeError) -> list[str]:
    owner, missing = getattr(error, "obj", None), getattr(error, "name", None)
    return _suggestions(missing, *_attributes(owner)) if isinstance(missing, str) and owner is not None else []


def _attributes(owner: Any) -> tuple[Mapping[str, Any], str]:
    """Return what a module, a class or an object has, without `object`'s own, and the path that it is known by."""
    if issubclass(type(owner), ModuleType):
        return owner.__dict__, str(owner.__dict__.get("__name__", ""))
    is_class = issubclass(type(owner), type)
    available: dict[str, Any] = {}
    for cls in mro(owner if is_class else type(owner))[-2::-1]:
        available.update(class_dict(cls))
    with suppress(AttributeError):
        available.update({} if is_class else object.__getattribute__(owner, "__dict__"))
    return available, path_of(owner) if is_class else type_path(owner)


def _suggest_variables(error: NameError, user_frame: UserFrame | None, namespace: Mapping[str, Any]) -> list[str]:
    missing = getattr(error, "name", None)
    if not isinstance(missing, str):
        return []
    available = {**vars(builtins), **namespace, **(user_frame.frame.f_locals if user_frame else {})}
    top_level = {name.partition(".")[0] for name in list(sys.modules)}
    modules = {missing} & top_level or most_similar(missing, top_level, 2)
    unimported = [f"{name}: module, not imported" for name in modules if name not in available]
    return [*_suggestions(missing, available, ""), *unimported][:_MAX_SUGGESTIONS]


def _suggest_module_members(error: ImportError) -> list[str]:
    path = error.name or ""
    found = re.match(r"cannot import name '(\w+)'", error.msg or "")
    owner, missing = (path, found[1]) if found else path.rpartition(".")[::2]
    module = sys.modules.get(owner)
    available = dict(module.__dict__) if type(module) is ModuleType else {}
    prefix = f"{owner}." if owner else ""
    submodules = (name.removeprefix(prefix) for name in list(sys.modules) if name.startswith(prefix))
    available |= {name: sys.modules[prefix + name] for name in submodules if name and "." not in name}
    return _suggestions(missing, available, owner)


def _suggest_signature(error: TypeError, user_frame: UserFrame) -> list[str]:
    if not _ARGUMENT_ERROR.search(str(error.args[0]) if error.args else ""):
        return []
    call = next((node for node in failing_nodes(user_frame) if isinstance(node, ast.Call)), None)
    callee = unwrap_function(resolve(call.func, user_frame.frame)) if call else MISSING
    return [describe_object(path_of(callee), callee)] if callee is not MISSING and is_callable(callee) else []


def _suggest_columns(error: BaseException, user_frame: UserFrame) -> list[str]:
    found = [key for _, table in _tables(user_frame) for key in _similar_keys(error, user_frame, table.columns)]
    return list(dict.fromkeys(found))[:_MAX_SUGGESTIONS]


def _tables(user_frame: UserFrame) -> list[tuple[str, Any]]:
    values = [(name, value) for name, value in values_in_expression(user_frame) if type_path(value) in _DATA_FRAMES]
    known = [(name, value, summarizer_registry.find(value)) for name, value in values]
    return [(name, value) for name, value, entry in known if entry and entry.own]


def _similar_keys(error: BaseException, user_frame: UserFrame, keys: Any) -> list[str]:
    """Return the keys similar to a missing one, which is taken from the error's text or the expression."""
    texts = [key for key in islice(keys, _MAX_KEYS) if type(key) is str]
    constants = [node.value for node in failing_nodes(user_frame) if isinstance(node, ast.Constant)]
    named = [text[:_MAX_KEY_LENGTH] for text in (*error.args[:1], *constants) if type(text) is str]
    missing = [key for key in dict.fromkeys(named) if key not in texts]
    similar = (name[:_MAX_KEY_LENGTH] for key in missing for name in most_similar(key, texts, _MAX_SUGGESTIONS))
    return list(dict.fromkeys(similar))


def _suggestions(missing: str, available: Mapping[str, Any], owner: str) -> list[str]:
    names = [name for name in available if type(name) is str and name != missing]
    return [
        describe_object(f"{owner}.{name}" if owner else name, available[name])
        for name in most_similar(missing, names, _MAX_SUGGESTIONS)
    ]
