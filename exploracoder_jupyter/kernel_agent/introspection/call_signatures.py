"""How a public object is called: as introspection tells it, else as the first line of its docstring writes it.

Every text is made to be read as Python where that can be done: annotations without quotes and module names of typing,
defaults that print as `<...>` by their name or as `...`.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LONGEST_SIGNATURE = 200
LONGEST_TYPE = 200
LONGEST_DEFAULT = 80
LONGEST_WRITTEN = 1500
UNTOLD = ("", "(*args, **kwargs)", "(*args, **kwds)", "(*args)", "(...)")
SELF = re.compile(r"^\((?:\w+ )?(?:\$?self|cls)(?:: [^,()=]*)?(?:, /)?(?:,\s*|(?=\)))")
WRITTEN = re.compile(r"(?:\.\. (?:py:)?\w+::\s*)?(?:\w+\.)*(\w+)\s*\(")
COUNTED = re.compile(r"^[ \t]*1\. (?:\w+\.)*(\w+)\s*\(", re.MULTILINE)
NAMELESS = re.compile(r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)[ \t]*(?:->|=>)")


class Called(NamedTuple):
    """A signature as in `(x, n=1)`, its parameters (name with stars, type, default), and the type of the result."""

    signature: str = ""
    parameters: tuple[tuple[str, str, str], ...] = ()
    returns: str = ""


class Bare(str):
    """A text that prints as it is, in place of an annotation or a default."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def called(value: Any, doc: str, names: Sequence[str], *, bound: bool = False) -> Called:
    """How it is called, without `self`; empty where nothing says so.

    `names`: under which a written signature may call it. `bound`: it is a plain function in a class, so its first
    parameter is filled by the call.
    """
    written = documented(doc, names)
    told = _tried(value, bound=bound)
    if written.signature and told.signature in UNTOLD:
        return written
    if not told.signature and inspect.isfunction(caller := inspect.getattr_static(type(value), "__call__", None)):
        return _tried(caller, bound=True)
    return told


def _tried(value: Any, *, bound: bool) -> Called:
    try:
        return introspected(value, bound=bound)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return Called()


def introspected(value: Any, *, bound: bool) -> Called:
    """What `inspect.signature` says. Raises whatever it, or the object, raises."""
    seen = _of_typed_dict(value) or inspect.signature(value)
    parameters = list(seen.parameters.values())
    first = parameters[0] if parameters else None
    if first and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        parameters = parameters[1:] if bound or first.name in ("self", "cls", "$self") else parameters
    plain = [_plain(parameter) for parameter in parameters]
    returns = _type(seen.return_annotation)
    told = tuple((_starred(one), _text(one.annotation), _text(one.default)) for one in plain)
    return Called(_rendered(plain, returns), told, returns)


def _of_typed_dict(value: Any) -> inspect.Signature | None:
    """How a `TypedDict` is made; what may be left out has a default that cannot be said."""
    fields, required = getattr(value, "__annotations__", None), getattr(value, "__required_keys__", None)
    if type(fields) is not dict or type(required) is not frozenset:
        return None
    empty, kind = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    defaults = {name: empty if name in required else Ellipsis for name in fields}
    return inspect.Signature(
        [inspect.Parameter(name, kind, annotation=fields[name], default=defaults[name]) for name in fields]
    )


def got(value: Any) -> Called:
    """The type that a property has, where its getter is annotated."""
    try:
        getter = getattr(value, "fget", None) or getattr(value, "func", None)
        return Called(returns=_type(inspect.signature(getter).return_annotation)) if getter else Called()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return Called()


def documented(doc: str, names: Sequence[str]) -> Called:
    """The signature that opens a docstring, as in `dot(a, b, out=None) -> array`; empty when there is none."""
    start = _opening(doc, (*names, "__init__"))
    if start is None:
        return Called()
    end = _closing(doc, start)
    if not end:
        return Called()
    text = SELF.sub("(", " ".join(doc[start:end].split()))
    result = re.match(r"[ \t]*(?:->|=>)[ \t]*([^\n]{1,200})", doc[end:])
    return Called(text, (), result.group(1).strip().rstrip(":.") if result else "")


def _opening(doc: str, names: Sequence[str]) -> int | None:
    """Where the parenthesis of a written signature opens; of the first overload where several are counted."""
    head = WRITTEN.match(doc)
    if head and head.group(1) in names:
        counted = COUNTED.search(doc, head.end(), head.end() + 400)
        return (counted if counted and counted.group(1) == head.group(1) else head).end() - 1
    return 0 if NAMELESS.match(doc) else None


def _closing(doc: str, start: int) -> int:
    """The place behind the parenthesis that closes the one at `start`; 0 when none does."""
    depth = 0
    for at in range(start, min(len(doc), start + LONGEST_WRITTEN)):
        depth += (doc[at] in "([{") - (doc[at] in ")]}")
        if not depth:
            return at + 1
    return 0


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    annotation, default = _type(parameter.annotation), parameter.default
    return parameter.replace(
        annotation=Bare(annotation) if annotation else parameter.empty,
        default=parameter.empty if default is parameter.empty else Bare(_value(default)),
    )


def _rendered(parameters: Sequence[inspect.Parameter], returns: str) -> str:
    empty = inspect.Parameter.empty
    text = str(inspect.Signature(parameters, return_annotation=Bare(returns) if returns else empty))
    if len(text) > LONGEST_SIGNATURE:
        text = str(inspect.Signature([parameter.replace(annotation=empty) for parameter in parameters]))
    return text[:2000]


def _starred(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    return f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name


def _text(value: object) -> str:
    return str(value) if isinstance(value, Bare) else ""


def _type(annotation: Any) -> str:
    """An annotation as it would be written; empty when there is none."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text).replace("typing.", "")
    return " ".join(re.sub(r"<[^<>]*>", "...", text).split())[:LONGEST_TYPE]


def _value(default: Any) -> str:
    """A default as it would be written, `...` where that cannot be said."""
    if issubclass(type(default), type) or inspect.isroutine(default):
        return str(getattr(default, "__qualname__", "...")).rpartition(">.")[2]
    text = "..." if default is Ellipsis else " ".join(repr(default).split())
    member = re.fullmatch(r"<([A-Za-z_][\w.]*): .*>", text)
    text = member.group(1) if member else re.sub(r"<[^<>]*>", "...", text)
    return text if len(text) <= LONGEST_DEFAULT else "..."
