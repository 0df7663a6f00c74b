"""How public objects are called: by introspection, from type stubs, or from their text."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.locations import STUBS
from exploracoder_jupyter.kernel_agent.reporting.bounded_output import attempt

# Determines how a public object is called: by introspection, otherwise from the first line of its docstring.
#
# Every text is made readable as Python where possible: annotations without quotes and module names of typing;
# defaults printed as `<...>` are replaced by their name or by `...`.

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


# Reads signatures from type stubs of a library, for objects whose signature is not known otherwise.
#
# Stubs are parsed and never run: `name.pyi` beside the module, or in a distribution `NAME-stubs`.

INIT_FILE = "__init__.pyi"
MAX_FILE_SIZE = 2_000_000
MAX_IMPORT_DEPTH = 5


class Stub(NamedTuple):
    """A parsed stub file."""

    package: str
    """The package that its relative imports start from."""
    body: list[ast.stmt]
    names: dict[str, ast.stmt]
    """Definitions and imports, see `definitions_by_name`."""

    def imported(self, node: ast.ImportFrom, name: str) -> tuple[str, str]:
        """Return the module that an import in this file takes a name from, and its name there."""
        parents = self.package.split(".")
        base = parents[: len(parents) - node.level + 1] if node.level else []
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        return ".".join([*base, *filter(None, [node.module])]), original


def read_stub(module: str, file: str) -> Stub | None:
    """Parse the stub file of a module; None if that is not possible."""
    with (
        suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError),
        open(file, encoding="utf-8-sig") as stream,
    ):
        body = ast.parse(stream.read(MAX_FILE_SIZE)).body
        package = module if os.path.basename(file) == INIT_FILE else module.rpartition(".")[0]
        return Stub(package, body, definitions_by_name(body))
    return None


def find_definition(
    read: Callable[[str], Stub | None], module: str, name: str, depth: int = 0
) -> tuple[str, str] | None:
    """Return the module in which a name of this one is defined, and its name there; `read` returns stubs by module."""
    stub = read(module)
    node = stub.names.get(name) if stub else None
    if stub is None or node is None or depth > MAX_IMPORT_DEPTH:
        return None
    if not isinstance(node, ast.ImportFrom):
        return module, name
    return find_definition(read, *stub.imported(node, name), depth + 1)


def signature_in_stubs(path: str) -> CallSignature:
    """Return how the function, method or class at this path is called according to the stubs; empty if unknown."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        if _read_installed(".".join(parts[:length])):
            node = _find_callable(".".join(parts[:length]), parts[length:])
            return stub_call_signature(node) if node else CallSignature()
    return CallSignature()


def _find_callable(module: str, names: list[str]) -> ast.stmt | None:
    found = find_definition(_read_installed, module, names[0])
    stub = _read_installed(found[0]) if found else None
    node = stub.names[found[1]] if stub and found else None
    for name in names[1:]:
        node = definitions_by_name(node.body).get(name) if isinstance(node, ast.ClassDef) else None
    return constructor(node) if isinstance(node, ast.ClassDef) else node


@cache
def _read_installed(module: str) -> Stub | None:
    return next(filter(None, (read_stub(module, file) for file in _stub_files(module))), None)


def _stub_files(module: str) -> Iterator[str]:
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if isinstance(file, str):
        folder, name = os.path.split(file)
        yield os.path.join(folder, name.partition(".")[0] + ".pyi")
    top, _, rest = module.partition(".")
    relative = os.path.join(f"{top}{STUBS}", *filter(None, rest.split(".")))
    for root in sys.path:
        yield os.path.join(root, relative, INIT_FILE)
        yield os.path.join(root, f"{relative}.pyi")


def constructor(node: ast.ClassDef) -> ast.stmt | None:
    """Return the definition of `__init__` or `__new__` in a class."""
    inner = definitions_by_name(node.body)
    return inner.get("__init__") or inner.get("__new__")


def definitions_by_name(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Map names to definitions; of several definitions the one with the most parameters."""
    definitions: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            definitions.update({alias.asname or alias.name: node for alias in node.names})
        elif isinstance(node, ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            existing = definitions.get(node.name)
            if not isinstance(existing, ast.FunctionDef) or _count(node.args) > _count(existing.args):
                definitions[node.name] = node
        elif isinstance(node, ast.If):
            definitions.update(definitions_by_name(node.body))
    return definitions


def _count(args: ast.arguments) -> int:
    return len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)


def stub_call_signature(node: ast.stmt) -> CallSignature:
    """Return how a function with this definition is called; changes the node."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return CallSignature()
    arguments = node.args
    first = arguments.posonlyargs or arguments.args
    if first and first[0].arg in ("self", "cls"):
        del first[0]
    returns = ast.unparse(node.returns) if node.returns and node.name not in ("__init__", "__new__") else ""
    text = ast.unparse(arguments)
    if len(text) > MAX_SIGNATURE - 2:
        every = (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg)
        for parameter in filter(None, every):
            parameter.annotation = None
        text = ast.unparse(arguments)
    return CallSignature(f"({text})", (), returns)
