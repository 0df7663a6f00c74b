"""Determines how a public object is called: by introspection, otherwise from the first line of its docstring.

Every text is made readable as Python where possible: annotations without quotes and module names of typing; defaults
printed as `<...>` are replaced by their name or by `...`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.call_guards import attempt

MAX_SIGNATURE = 200
MAX_TYPE = 200
MAX_DEFAULT = 80
MAX_WRITTEN_SIGNATURE = 1500
UNKNOWN_SIGNATURES = ("", "(*args, **kwargs)", "(*args, **kwds)", "(*args)", "(...)")
SELF_PARAMETER = re.compile(r"^\((?:\w+ )?(?:\$?self|cls)(?:: [^,()=]*)?(?:, /)?(?:,\s*|(?=\)))")
WRITTEN_SIGNATURE = re.compile(r"(?:\.\. (?:py:)?\w+::\s*)?(?:\w+\.)*(\w+)\s*\(")
BOOST_SIGNATURE = re.compile(r"\( ?(?:\[, )?\(\w+\)\w+")
NUMBERED_SIGNATURE = re.compile(r"^[ \t]*1\. (?:\w+\.)*(\w+)\s*\(", re.MULTILINE)
NAMELESS_SIGNATURE = re.compile(r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)[ \t]*(?:->|=>)")


class CallSignature(NamedTuple):
    """A signature such as `(x, n=1)`, its parameters (name with stars, type, default), and the type of the result."""

    signature: str = ""
    parameters: tuple[tuple[str, str, str], ...] = ()
    returns: str = ""


class PlainText(str):
    """Text with itself as its `repr`, used in place of an annotation or a default."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def call_signature(value: Any, doc: str, names: Sequence[str], *, bound: bool = False) -> CallSignature:
    """Return how an object is called, without `self`; empty if unknown.

    `names`: names by which a written signature may call it. `bound`: it is a plain function in a class, so the call
    supplies its first parameter.
    """
    written = docstring_signature(doc, names)
    result = attempt(introspect, value, bound, default=CallSignature())
    if written.signature and result.signature in UNKNOWN_SIGNATURES:
        return written
    if not result.signature and inspect.isfunction(caller := inspect.getattr_static(type(value), "__call__", None)):
        return attempt(introspect, caller, True, default=CallSignature())
    return result


def introspect(value: Any, bound: bool) -> CallSignature:
    """Return the result of `inspect.signature`. Raises whatever it, or the object, raises."""
    inspected = _typed_dict_signature(value) or inspect.signature(value)
    parameters = list(inspected.parameters.values())
    first = parameters[0] if parameters else None
    if first and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        parameters = parameters[1:] if bound or first.name in ("self", "cls", "$self") else parameters
    plain = [_plain_parameter(parameter) for parameter in parameters]
    returns = _format_annotation(inspected.return_annotation)
    empty, result = inspect.Parameter.empty, []
    for parameter in plain:
        name = str(parameter.replace(annotation=empty, default=empty))  # with its stars
        kind, default = ("" if part is empty else str(part) for part in (parameter.annotation, parameter.default))
        result.append((name, kind, default))
    text = str(inspect.Signature(plain, return_annotation=PlainText(returns) if returns else empty))
    if len(text) > MAX_SIGNATURE:
        text = str(inspect.Signature([parameter.replace(annotation=empty) for parameter in plain]))
    return CallSignature(text[:2000], tuple(result), returns)


def _typed_dict_signature(value: Any) -> inspect.Signature | None:
    """Return the signature of a `TypedDict`; optional keys have an unknown default."""
    fields, required = getattr(value, "__annotations__", None), getattr(value, "__required_keys__", None)
    if type(fields) is not dict or type(required) is not frozenset:
        return None
    empty, kind = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    defaults = {name: empty if name in required else Ellipsis for name in fields}
    return inspect.Signature(
        [inspect.Parameter(name, kind, annotation=fields[name], default=defaults[name]) for name in fields]
    )


def property_type(value: Any) -> CallSignature:
    """Return the type of a property whose getter is annotated."""

    def getter_type() -> str:
        getter: Any = getattr(value, "fget", None) or getattr(value, "func", None)
        return _format_annotation(inspect.signature(getter).return_annotation)

    return CallSignature(returns=attempt(getter_type, default=""))


def _as_python(signature: str) -> str:
    """Return a signature of Boost.Python, `( (Mol)mol [, (int)n=1])`, like one of Python: `(mol: Mol, n: int=1)`."""
    if not BOOST_SIGNATURE.match(signature):
        return signature
    plain = re.sub(r"\]+\)$", ")", signature.replace(" [, ", ", "))
    return re.sub(r"\((\w+)\)(\w+)", r"\2: \1", f"({plain[1:].lstrip()}")


def docstring_signature(doc: str, names: Sequence[str]) -> CallSignature:
    """Return the signature that starts a docstring, such as `dot(a, b, out=None) -> array`; empty if there is none."""
    opening = WRITTEN_SIGNATURE.match(doc)
    if opening and opening.group(1) in (*names, "__init__"):
        numbered = NUMBERED_SIGNATURE.search(doc, opening.end(), opening.end() + 400)  # the first of overloads
        start = (numbered if numbered and numbered.group(1) == opening.group(1) else opening).end() - 1
    elif NAMELESS_SIGNATURE.match(doc):
        start = 0
    else:
        return CallSignature()
    depth = 0
    for position in range(start, min(len(doc), start + MAX_WRITTEN_SIGNATURE)):
        depth += (doc[position] in "([{") - (doc[position] in ")]}")
        if not depth:
            text = SELF_PARAMETER.sub("(", _as_python(" ".join(doc[start : position + 1].split())))
            result = re.match(r"[ \t]*(?:->|=>)[ \t]*([^\n]{1,200})", doc[position + 1 :])
            return CallSignature(text, (), result.group(1).strip().rstrip(":.") if result else "")
    return CallSignature()


def _plain_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    annotation, default = _format_annotation(parameter.annotation), parameter.default
    return parameter.replace(
        annotation=PlainText(annotation) if annotation else parameter.empty,
        default=parameter.empty if default is parameter.empty else PlainText(_format_default(default)),
    )


def _format_annotation(annotation: Any) -> str:
    """Format an annotation as it would be written; empty if there is none."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text).replace("typing.", "")
    return " ".join(re.sub(r"<[^<>]*>", "...", text).split())[:MAX_TYPE]


def _format_default(default: Any) -> str:
    """Format a default as it would be written, or as `...` if that is not possible."""
    if issubclass(type(default), type) or inspect.isroutine(default):
        return str(getattr(default, "__qualname__", "...")).rpartition(">.")[2]
    text = "..." if default is Ellipsis else " ".join(repr(default).split())
    member = re.fullmatch(r"<([A-Za-z_][\w.]*): .*>", text)
    text = member.group(1) if member else re.sub(r"<[^<>]*>", "...", text)
    return text if len(text) <= MAX_DEFAULT else "..."
