"""Reads the task, the check and the setup as the user gives them, and finds the variables that the task treats as
given.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.python_code import parse_python

# Reads the task, the check and the setup as the user gives them: text, a file, or standard input.

MAX_BYTES = 64_000
"""Maximum size of a task, a check or a setup, in bytes of UTF-8."""
_EXAMPLES = {"check": "`assert f(1) == 2`", "setup": "`ages = [20, 30, 40]`"}


def read_task(texts: Sequence[str], source: str | None) -> str:
    """Read the task from one `-t TEXT`, from a file, or from standard input if the file is `-`."""
    if texts and source is not None:
        raise UsageError("Both a task file and -t were given.", remedy="Give only one of them.")
    if len(texts) > 1:
        raise UsageError(f"-t was given {len(texts)} times.", remedy="Give the whole task in one -t option.")
    if not texts and source is None:
        raise UsageError("No task was given.", remedy='Give a task file before --library, or -t "what to do".')
    task = (texts[0] if texts else _read(source or "-", "task")).strip()
    if not task:
        raise UsageError("The task is empty.", remedy="Describe what the code should do.")
    return _decode(task, "task")


def read_code(given: str | None, what: str) -> str | None:
    """Read a check or a setup (`what`): the content of the file of that name, else the text itself."""
    if given is None:
        return None
    is_name = len(given.split()) == 1 and given.endswith((".py", ".txt", ".md", ".rst"))
    try:
        code = _read(given, what) if is_name or Path(given).is_file() else given
    except (OSError, ValueError):  # too long for a path, or contains a NUL
        code = given
    if not code.strip():
        raise UsageError(f"The {what} is empty.", remedy=f"Give Python such as {_EXAMPLES[what]}, or a file.")
    return _decode(code, what)


def _read(source: str, what: str) -> str:
    try:
        if source == "-":
            return _decode(sys.stdin.buffer.read(MAX_BYTES + 1), what)
        with Path(source).open("rb") as file:
            return _decode(file.read(MAX_BYTES + 1), what)
    except OSError as error:
        raise UsageError(
            f"The {what} file {source!r} cannot be read: {error.strerror or error}.",
            remedy="Give the path of a text file.",
        ) from error


def _decode(content: str | bytes, what: str) -> str:
    """Return the content as text, if it is text and not too long."""
    try:
        encoded = content.encode() if isinstance(content, str) else content
        text = encoded[:MAX_BYTES].decode("utf-8-sig") if len(encoded) <= MAX_BYTES else ""
    except UnicodeError as error:
        raise UsageError(f"The {what} is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    if len(encoded) > MAX_BYTES:
        raise UsageError(
            f"The {what} is longer than {MAX_BYTES // 1000} kB.",
            remedy=f"Shorten the {what}, and move data to files that it refers to.",
        )
    return text


# The variables that a task treats as given, and programs that make them up instead of using them.
#
# Both are judged from text and syntax alone: the kernel of the user decides with it what has to go along, the
# pipeline which programs it refuses. Where the text is ambiguous, a name is not given: a right program that is
# refused costs more than a remark that is missing.

_OPEN: Final = r"(?<![\w.])[`*'\"]{0,2}"
_CLOSE: Final = r"[`*'\"]{0,2}(?!\w)"
_FILLER: Final = r"(?:(?!(?:from|of|in|on|with|using|for|by|between|over|to|into|at|per|through|and|than)\b)[\w-]+\s+)"
_MAKES: Final = re.compile(
    rf"\b(?:(?:create|build|construct|define|compute|calculate|recreate|regenerate|reload|reset|redefine|replace"
    rf"|overwrite)\s+{_FILLER}{{0,5}}"
    rf"|(?:make|generate|produce|derive|draw|write)\s+(?:an?|another|the|new|one)\s+{_FILLER}{{0,5}}"
    rf"|(?:stor|sav|put|keep|assign|load|read|pars|collect|return|bind)\w*\b(?:[^.;]|\.(?=\w))*?"
    rf"\b(?:in|into|as|to|under)\s+{_FILLER}{{0,3}}"
    rf"|as\s+|(?:named?|called|call\s+it|name\s+it)\s+"
    rf"|function\s+`?\w+\([^)\n]*)$",
    re.IGNORECASE,
)
"""What precedes the name of something that the program is to make."""
_BECOMES: Final = re.compile(r"\s+(?:should|shall|must|will|has\s+to|ought)\b|\s*(?::\s*\w+\s*)?=(?!=)", re.IGNORECASE)
"""What follows it."""
_STATED: Final = re.compile(
    r"(?:\s+|\s*[:=]\s*|\s+(?:is|are|being)\s*:?\s*)"
    r"(?:[\[{]\s*['\"\d\[({-]|\(\s*['\"\[({]|\(\s*-?[\d.]+\s*,|['\"]\w|-?\d[\d.]*\s*(?:[.,;)\n]|$|and\b))"
)
"""A value, which follows a name whose value the task states."""
_ACCESS: Final = re.compile(r"\.[^\W\d]|\[")
_KIND: Final = re.compile(
    r"\b(?:variables?|(?:data\s?)?frames?|tables?|arrays?|series|lists?|dict(?:ionary)?|graphs?|tensors?|data\s?sets?"
    r"|objects?|functions?|class|models?|matrix|images?|instances?)\s+$",
    re.IGNORECASE,
)
Mention = Literal["given", "perhaps", "made"]
"""`perhaps`: a bare word, which may be the name of the variable or plain English."""


def classify_mention(text: str, name: str) -> Mention:
    """Return how the task uses the name: as something given, or as something that the program is to make.

    The first mention decides, unless the text states the value somewhere: such a name counts as made.
    """
    clear, first = False, ""
    for found in re.finditer(rf"{_OPEN}{re.escape(name)}{_CLOSE}", text):
        before, after = text[: found.start()], text[found.end() :]
        if _STATED.match(after) and not after.startswith("["):
            return "made"
        made = bool(_MAKES.search(before) or _BECOMES.match(after))
        first = first or ("made" if made else "given")
        quoted = "`" in found[0] or bool(_ACCESS.match(after)) or bool(_KIND.search(before))
        clear = clear or quoted or bool(re.search(r"[_\d]|[a-z][A-Z]", name))
    if first == "made":
        return "made"
    return "given" if clear else "perhaps"


def find_set_up(text: str, setup: str) -> tuple[str, ...]:
    """Return the names of functions, classes and variables of the set-up code that the task treats as given."""
    names: dict[str, None] = {}
    for statement in parse_python(setup).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] = None
            case _:
                stored = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
                names |= dict.fromkeys(one.id for one in stored if isinstance(one.ctx, ast.Store))
    return tuple(name for name in names if classify_mention(text, name) == "given")


@dataclass(frozen=True, slots=True)
class _Binding:
    """Names that a statement binds, and the names that their value is computed from."""

    targets: frozenset[str]
    alternatives: tuple[frozenset[str], ...]
    """One, or several where the value is one of several: `a if b else c`."""


def find_invented(code: str, given: Collection[str]) -> tuple[str, ...]:
    """Return the given variables that the code binds to something that is not computed from what the user has.

    `sales = sales.dropna()` computes; `sales = DataFrame(...)` makes it up, also in a function, and where an `if` or
    `except` would do so only if the variable did not exist. Empty if the code cannot be parsed.
    """
    if not given:
        return ()
    bindings = [*_bindings(parse_python(code))]
    derived, size = set(given), -1
    while size != len(derived):
        size = len(derived)
        for one in bindings:
            if any(derived & reads for reads in one.alternatives):
                derived |= one.targets
    made = {name for one in bindings if not all(derived & reads for reads in one.alternatives) for name in one.targets}
    return tuple(name for name in given if name in made)


def _bindings(tree: ast.AST) -> Iterator[_Binding]:
    """Yield everything that the code binds, in functions too, except parameters and variables of comprehensions."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from _assignment(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield from _assignment([target], value)
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                yield from _assignment([target], value)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield from _assignment([target], value)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound = (alias.asname or alias.name.partition(".")[0] for alias in names)
                yield _Binding(frozenset(bound), (frozenset(),))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield _Binding(frozenset([name]), (_reads(node),))
            case ast.Match(subject=subject):
                captures = (inner for case in node.cases for inner in ast.walk(case.pattern))
                captured = [one.name for one in captures if isinstance(one, ast.MatchAs | ast.MatchStar) and one.name]
                yield _Binding(frozenset(captured), (_reads(subject),))


def _assignment(targets: Iterable[ast.expr], value: ast.expr) -> Iterator[_Binding]:
    for target in targets:
        match target, value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts), ast.Tuple(elts=values) | ast.List(elts=values) if len(
                parts
            ) == len(values):
                for one, its in zip(parts, values, strict=True):
                    yield from _assignment([one], its)
            case _:
                yield _Binding(frozenset(_names(target)), tuple(map(_reads, _alternatives(value))))


def _names(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment to the target binds; `globals()["x"]` binds `x`."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Starred(value=inner):
            yield from _names(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _names(part)
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="globals" | "locals" | "vars")) | ast.Attribute(attr="user_ns")
        ):
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                yield target.slice.value


def _alternatives(value: ast.expr) -> Iterator[ast.expr]:
    match value:
        case ast.IfExp(body=body, orelse=other):
            yield from _alternatives(body)
            yield from _alternatives(other)
        case ast.BoolOp(op=ast.Or(), values=values):
            for one in values:
                yield from _alternatives(one)
        case _:
            yield value


def _reads(node: ast.AST) -> frozenset[str]:
    return frozenset(
        inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    )
