"""What is said of one public object of a library: its row in the walk's answer.

Objects are never trusted: classes and modules are told by their type, attributes may raise anything, representations
may hold addresses, docstrings may be no text.
"""

from __future__ import annotations

import inspect
import re
import types

from exploracoder_jupyter.kernel_agent.introspection.call_signatures import Called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Rank = tuple[int, int, bool, bool, int]  # the smaller the better

LONGEST_DOC = 20_000
DEPRECATED = re.compile(r"^\.\. deprecated::[^\n]*\n?(?:[ \t]+[^\n]*\n?|[ \t]*\n)*", re.MULTILINE)
"""In the docstring of an `__init__`: it is not the class that is deprecated."""
LISTED, UNLISTED, RELATED, HELD = range(4)
"""How public a path is: it is listed; it is meant for users though it is not; it is got from calls or named in
documentation; some module holds the object for its own use.
"""
MOST_HELD = 5


class Found:
    """One public object and the paths it is reachable by."""

    def __init__(self, value: Any, kind: str, doc: str, called: Called) -> None:
        self.value = value  # kept alive: rows are keyed by identity
        self.kind = kind
        self.doc = doc
        self.called = called
        self.paths: list[tuple[Rank, str]] = []
        self.pinned = ""
        """The path under which its members were listed, which it therefore keeps."""

    @property
    def path(self) -> str:
        """The path that names it."""
        return self.pinned or min(self.paths)[1]

    def row(self, others: Iterable[str], weigh: Callable[[str], int]) -> dict[str, Any]:
        """The object as it is printed; `others` are paths by which it is known besides.

        Of equally good paths the heavier one names it.
        """
        ranked = sorted(self.paths, key=lambda one: (*one[0][:4], -weigh(one[1]), one[0][4], one[1]))
        named = list(dict.fromkeys(filter(None, [self.pinned, *(path for rank, path in ranked if rank[0] < HELD)])))
        held = [path for rank, path in ranked if rank[0] == HELD]
        note = attribute(self.value, "__deprecated__")
        aliases = {*named[1:], *others, home(self.value)} - {named[0], ""}
        return {
            "path": named[0],
            "kind": self.kind,
            "signature": self.called.signature,
            "parameters": self.called.parameters,
            "returns": self.called.returns,
            "doc": self.doc[:LONGEST_DOC],
            "aliases": sorted(aliases),
            "held": sorted(held, key=len)[:MOST_HELD],
            "deprecated": note if isinstance(note, str) else None,
        }


def attribute(value: Any, name: str) -> Any:
    """An attribute of any object; None when there is none or getting it fails, whatever it raises."""
    try:
        return getattr(value, name, None)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def string(value: Any, name: str) -> str | None:
    """An attribute that is a string, or None: some objects answer any name with an object of their own kind."""
    found = attribute(value, name)
    return found if isinstance(found, str) else None


def home(value: Any) -> str:
    """Where an object says it is defined, as types and tracebacks print it; empty when it does not say."""
    module, name = string(value, "__module__"), string(value, "__qualname__")
    if not (isinstance(module, str) and isinstance(name, str)) or "<" in name:
        return ""
    return f"{module}.{name}" if module else ""


def public(path: str) -> bool:
    """Whether no part of a dotted path is marked as private."""
    return not path.startswith("_") and "._" not in path


def is_class(value: Any) -> bool:
    """Whether it is a class, without asking the object (proxies lie)."""
    return issubclass(type(value), type)


def is_module(value: Any) -> bool:
    """Whether it is a module, lazy ones included."""
    return issubclass(type(value), types.ModuleType)


def documentation(value: Any) -> str:
    """The object's own docstring, cleaned; not the one of its type. A class has that of its `__init__` with it."""
    doc = _written(attribute(value, "__doc__"))
    if not is_class(value):
        return "" if doc == _written(type.__doc__) else doc
    inner = DEPRECATED.sub("", _written(attribute(value.__dict__.get("__init__"), "__doc__")))
    if inner in doc or inner.startswith("Initialize self."):
        return doc
    return f"{doc}\n\n{inner}".strip()


def _written(doc: Any) -> str:
    return inspect.cleandoc(doc).encode("utf-8", "replace").decode() if isinstance(doc, str) else ""
