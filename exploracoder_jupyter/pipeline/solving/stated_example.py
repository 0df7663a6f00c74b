"""Finds an example in the text of a task whose result can be compared: doctests, assertions, calls with a literal.

Such an example is a check that the task contains. Examples in prose, such as "has the rows A and B", cannot be compared
by a program; the strategy `example_repair` lets the model write them as a cell.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from textwrap import dedent
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode, check_code

_CAME_OUT: Final = "The example that the task states came out."
_MISSED: Final = "The program ran, but the example of the task did not give what the task states."
_LONGEST: Final = 1000
"""Maximum number of characters on either side of a stated result."""
_MOST: Final = 5
_STATES = re.compile(
    r"""`?\s*(?:(?:->|→|=>)\s*                                           # f(3) -> 9
        |(?:should\ |must\ |will\ )?(?:returns?|gives?|be|is|equals?|evaluates\ to)\s+  # f(3) should be 9
        )`?(?=[\[({'"\d\-TFN])""",
    re.VERBOSE,
)
"""What stands between a call and its result."""
_END = re.compile(r"`?\s*(?:$|[.;)](?:\s|$)|,(?=\s+[^\W\d])|(?:and|for|but|while|because|since)\b)")
"""What may follow a result: "is 3 rows" and "is 1, 2" state none."""


@heuristic("looking for the example of the task", lambda task: None)
def stated_check(task: Task) -> CheckCode | None:
    """Return the first kind of example that the task contains, as a check; `None` without one.

    If the solution is to define a function, the example has to use it.
    """
    text = dedent(task.text)
    pairs = list(dict.fromkeys(_stated_results(text, task)))[:_MOST]
    stated = "\n".join(_comparison(call, result) for call, result in pairs)
    for check in filter(None, (_doctests(text), _assertions(text), stated)):
        with suppress(UsageError):  # it compares nothing
            code = check_code(replace(task, check=check))
            if code and re.search(rf"\b{re.escape(task.solution_name or '')}\b", check):
                return CheckCode(code, _CAME_OUT, _MISSED)
    return None


def _comparison(call: str, result: str) -> str:
    """Return an assertion; a number with decimal places is compared to as many places."""
    places = re.fullmatch(r"-?\d+\.(\d+)", result)
    return f"assert {f'round({call}, {len(places[1])})' if places else call} == {result}"


def _doctests(text: str) -> str:
    """Return the examples of a session with `>>>`, if one of them shows a result."""
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return ""
    return "".join(map(_session_lines, examples)) if any(example.want for example in examples) else ""


def _session_lines(example: doctest.Example) -> str:
    first, *rest = example.source.splitlines()
    return "\n".join([f">>> {first}", *(f"... {line}" for line in rest), example.want])


def _assertions(text: str) -> str:
    lines = (line.strip().strip("`") for line in text.splitlines())
    return "\n".join(line for line in lines if line.startswith("assert ") and _parse(f"if 1: {line}"))


def _stated_results(text: str, task: Task) -> Iterator[tuple[str, str]]:
    """Yield calls that can be made, each with the literal that the text states as its result."""
    for line in text.splitlines():
        for between in _STATES.finditer(line):
            call = _call_before(line[: between.start()][-_LONGEST:], task)
            result = _literal_after(line[between.end() :][:_LONGEST])
            if call and result:
                yield call, result


def _call_before(text: str, task: Task) -> str:
    """Return the longest call, or part of what it returns, that the text ends with."""
    for start in re.finditer(r"(?<![\w.])(?=[^\W\d])", text):
        part = text[start.start() :].strip()
        node = _expression(part)
        if node and _is_call(node) and _is_callable_now(node, task):
            return part
    return ""


def _is_call(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Call)


def _is_callable_now(node: ast.expr, task: Task) -> bool:
    """Whether the call reads no name but its own and known ones: `f(n)` in a definition is no example."""
    own = {name.id for call in ast.walk(node) if isinstance(call, ast.Call) for name in _names(call.func)}
    return {name.id for name in _names(node)} <= own | {*task.uses, *dir(builtins)}


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _literal_after(text: str) -> str:
    """Return the longest literal that the text begins with, if the statement ends there."""
    for end in range(len(text), 0, -1):
        part = text[:end].strip()
        if part and part[-1] not in "`.,;" and _END.match(text[end:]) and _is_literal(part):
            return part
    return ""


def _is_literal(text: str) -> bool:
    bare_tuple = isinstance(_expression(text), ast.Tuple) and not text.startswith("(")
    return not bare_tuple and _equal(text, text)


def _equal(shown: str, wanted: str) -> bool:
    """Whether both are literals of equal values."""
    try:
        return bool(ast.literal_eval(shown.strip()) == ast.literal_eval(wanted))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return False


def _expression(text: str) -> ast.expr | None:
    tree = _parse(f"({text}\n)")
    first = tree.body[0] if tree and tree.body else None
    return first.value if isinstance(first, ast.Expr) else None


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
