"""Names like the one that an exception says is missing, as lines: `networkx.Graph.add_edge(u, v, **attr): Add an edge.`

They come from what is there: a type's classes and an instance's own dictionary, a module, the namespace of the cells,
the columns of a frame; where the arguments did not fit, it is the callee's own signature. No attribute is asked for.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.callable_lines import function_in, is_callable, line_on, path_of
from exploracoder_jupyter.kernel_agent.reporting.failing_frames import Place
from exploracoder_jupyter.kernel_agent.reporting.failing_values import NOTHING, nodes_at, resolve, values_at
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.reporting.similar_names import nearest
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry

_MOST = 5
_MOST_KEYS = 2_000
_LONGEST_KEY = 60
_FRAMES = ("pandas.DataFrame", "polars.DataFrame", "polars.dataframe.frame.DataFrame")
_ARGUMENTS = re.compile(r"\w+\(\) (?:got |missing |takes )|takes no (?:keyword )?arguments|keyword argument")
_bases = type.__dict__["__mro__"].__get__
_own = type.__dict__["__dict__"].__get__


def like_missing(error: BaseException, place: Place | None, namespace: Mapping[str, Any]) -> list[str]:
    """At most five lines on what may have been meant; `place` is the user's innermost frame."""
    match error:
        case AttributeError():
            return _attributes(error)
        case NameError():
            return _names(error, place, namespace)
        case ImportError():
            return _modules(error)
        case TypeError() if place:
            return _callees(error, place)
        case LookupError() if place:
            return [f"column {name!r}" for name in _columns(error, place)]
        case _:
            return []


def keys_like_missing(error: BaseException, place: Place | None) -> list[str]:
    """Keys of the dictionaries in the failing expression that are like the missing one. They are data."""
    if not place or not isinstance(error, LookupError):
        return []
    found = [_like(error, place, value) for _, value in values_at(place) if type(value) is dict]
    return [key for keys in found for key in keys][:_MOST]


def _attributes(error: AttributeError) -> list[str]:
    owner, wanted = getattr(error, "obj", None), getattr(error, "name", None)
    if not isinstance(wanted, str) or owner is None:
        return []
    if issubclass(type(owner), ModuleType):
        return _told(wanted, owner.__dict__, str(owner.__dict__.get("__name__", "")))
    is_class = issubclass(type(owner), type)
    held: dict[str, Any] = {}
    for cls in reversed(_bases(owner if is_class else type(owner))):
        held.update({name: value for name, value in _own(cls).items() if cls is not object})
    with suppress(AttributeError):
        held.update({} if is_class else object.__getattribute__(owner, "__dict__"))
    return _told(wanted, held, path_of(owner) if is_class else type_path(owner))


def _names(error: NameError, place: Place | None, namespace: Mapping[str, Any]) -> list[str]:
    wanted = getattr(error, "name", None)
    if not isinstance(wanted, str):
        return []
    held = {**vars(builtins), **namespace, **(place.frame.f_locals if place else {})}
    modules = {wanted} & sys.modules.keys() or nearest(
        wanted, {name.partition(".")[0] for name in list(sys.modules)}, 2
    )
    return (_told(wanted, held, "") + [f"{name}: module, not imported" for name in modules if name not in held])[:_MOST]


def _modules(error: ImportError) -> list[str]:
    path = error.name or ""
    found = re.match(r"cannot import name '(\w+)'", error.msg or "")
    owner, wanted = (path, found[1]) if found else path.rpartition(".")[::2]
    module = sys.modules.get(owner)
    held = dict(module.__dict__) if type(module) is ModuleType else {}
    start = f"{owner}." if owner else ""
    below = (name.removeprefix(start) for name in list(sys.modules) if name.startswith(start))
    held |= {name: sys.modules[start + name] for name in below if name and "." not in name}
    return _told(wanted, held, owner)


def _callees(error: TypeError, place: Place) -> list[str]:
    if not _ARGUMENTS.search(str(error.args[0]) if error.args else ""):
        return []
    call = next((node for node in nodes_at(place) if isinstance(node, ast.Call)), None)
    callee = function_in(resolve(call.func, place.frame)) if call else NOTHING
    return [line_on(path_of(callee), callee)] if callee is not NOTHING and is_callable(callee) else []


def _columns(error: BaseException, place: Place) -> list[str]:
    found = [_like(error, place, value.columns) for _, value in values_at(place) if _is_frame(value)]
    return list(dict.fromkeys(name for names in found for name in names))[:_MOST]


def _is_frame(value: Any) -> bool:
    known = summarizer_registry.find(value)
    return bool(known and known.own and type_path(value) in _FRAMES)


def _like(error: BaseException, place: Place, keys: Any) -> list[str]:
    """Of these keys the texts that are like one that is missing: what the error says, or the expression holds."""
    texts = [key for key, _ in zip(keys, range(_MOST_KEYS), strict=False) if type(key) is str]
    held = set(texts)
    wanted = [key for key in dict.fromkeys(_wanted(error, place)) if key not in held]
    return list(dict.fromkeys(name[:_LONGEST_KEY] for key in wanted for name in nearest(key, texts, _MOST)))


def _wanted(error: BaseException, place: Place) -> Iterator[str]:
    if error.args and type(error.args[0]) is str:
        yield error.args[0][:_LONGEST_KEY]
    for node in nodes_at(place):
        if isinstance(node, ast.Constant) and type(node.value) is str:
            yield node.value[:_LONGEST_KEY]


def _told(wanted: str, held: Mapping[str, Any], owner: str) -> list[str]:
    names = [name for name in held if type(name) is str and name != wanted]
    return [line_on(f"{owner}.{name}" if owner else name, held[name]) for name in nearest(wanted, names, _MOST)]
