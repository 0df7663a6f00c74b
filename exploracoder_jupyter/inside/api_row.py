"""What is said of one public object of a library: its row in the walk's answer.

Objects are never trusted: classes and modules are told by their type, attributes may raise anything, representations
may hold addresses, docstrings may be no text.
"""

from __future__ import annotations

import inspect
import re
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_DOC = 20_000
LONGEST_SIGNATURE = 200


class Found:
    """One public object and the paths it is reachable by."""

    def __init__(self, value: Any, kind: str, doc: str, signature: str) -> None:
        self.value = value  # kept alive: rows are keyed by identity
        self.kind = kind
        self.doc = doc
        self.signature = signature
        self.paths: list[tuple[tuple[int, bool, bool, int], str]] = []

    def row(self) -> dict[str, Any]:
        """The object as it is printed."""
        ordered = [path for _, path in sorted(self.paths)]
        note = attribute(self.value, "__deprecated__")
        return {
            "path": ordered[0],
            "kind": self.kind,
            "signature": self.signature,
            "doc": self.doc[:LONGEST_DOC],
            "aliases": sorted({*ordered[1:], home(self.value)} - {ordered[0], ""}),
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


def is_class(value: Any) -> bool:
    """Whether it is a class, without asking the object (proxies lie)."""
    return issubclass(type(value), type)


def is_module(value: Any) -> bool:
    """Whether it is a module, lazy ones included."""
    return issubclass(type(value), types.ModuleType)


def documentation(value: Any) -> str:
    """The object's own docstring, cleaned; not the one of its type."""
    doc = attribute(value, "__doc__")
    if is_class(value) and not doc:
        doc = attribute(value.__dict__.get("__init__"), "__doc__")
    if not isinstance(doc, str) or (not is_class(value) and doc == attribute(object.__class__, "__doc__")):
        return ""
    return inspect.cleandoc(doc).encode("utf-8", "replace").decode()


def documented_signature(doc: str, name: str) -> str:
    """The signature that opens a docstring, as in `dot(a, b, out=None)`; empty when there is none."""
    head = re.match(rf"(?:\w+\.)*{re.escape(name)}\s*\(", doc)
    depth = 0
    for at in range(head.end() - 1, min(len(doc), 600)) if head else ():
        depth += (doc[at] in "([{") - (doc[at] in ")]}")
        if not depth:
            return " ".join(doc[head.end() - 1 : at + 1].split()) if head else ""
    return ""


def signature(value: Any, doc: str, *, bound: bool = False) -> str:
    """How it is called, without `self`; from its docstring where it cannot be inspected; else empty.

    `bound`: it is a plain function in a class, so its first parameter is filled by the call.
    """
    name = string(value, "__name__")
    written = documented_signature(doc, name if isinstance(name, str) else "")
    try:
        seen = inspect.signature(value)
        text = _render(seen, bound=bound)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return written
    return written if written and text in ("(*args, **kwargs)", "(*args, **kwds)", "(*args)") else text


def _render(seen: inspect.Signature, *, bound: bool) -> str:
    parameters = list(seen.parameters.values())
    first = parameters[0] if parameters else None
    if first and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        parameters = parameters[1:] if bound or first.name in ("self", "cls", "$self") else parameters
    seen = seen.replace(parameters=parameters)
    text = str(seen)
    if len(text) > LONGEST_SIGNATURE:
        bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
        text = str(seen.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"<[^<>]* at 0x[0-9a-fA-F]+>", "...", text)[:2000]
