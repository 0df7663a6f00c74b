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
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode, check_code, parse_check

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
    comparisons = []
    for call, result in list(dict.fromkeys(_stated_results(text, task)))[:_MOST]:
        places = re.fullmatch(r"-?\d+\.(\d+)", result)  # a decimal number is compared to as many places
        comparisons.append(f"assert {f'round({call}, {len(places[1])})' if places else call} == {result}")
    lines = (line.strip().strip("`") for line in text.splitlines())
    assertions = [line for line in lines if line.startswith("assert ") and parse_check(f"if 1: {line}")]
    for check in filter(None, (_doctests(text), "\n".join(assertions), "\n".join(comparisons))):
        with suppress(UsageError):  # it compares nothing
            code = check_code(replace(task, check=check))
            if code and re.search(rf"\b{re.escape(task.solution_name or '')}\b", check):
                return CheckCode(code, _CAME_OUT, _MISSED)
    return None


def _doctests(text: str) -> str:
    """Return the examples of a session with `>>>`, if one of them shows a result."""
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return ""
    if not any(example.want for example in examples):
        return ""
    sessions = []
    for example in examples:
        first, *rest = example.source.splitlines()
        sessions.append("\n".join([f">>> {first}", *(f"... {line}" for line in rest), example.want]))
    return "".join(sessions)


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
        node = whole = _expression(part)
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if whole and isinstance(node, ast.Call):
            own = {name.id for call in ast.walk(whole) if isinstance(call, ast.Call) for name in _names(call.func)}
            # It reads no name but its own and known ones: `f(n)` in a definition is no example.
            if {name.id for name in _names(whole)} <= own | {*task.uses, *dir(builtins)}:
                return part
    return ""


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _literal_after(text: str) -> str:
    """Return the longest literal that the text begins with, if the statement ends there."""
    for end in range(len(text), 0, -1):
        part = text[:end].strip()
        if part and part[-1] not in "`.,;" and _END.match(text[end:]):
            bare_tuple = isinstance(_expression(part), ast.Tuple) and not part.startswith("(")
            with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                value = ast.literal_eval(part)
                if value == value and not bare_tuple:  # NaN equals nothing
                    return part
    return ""


def _expression(text: str) -> ast.expr | None:
    tree = parse_check(f"({text}\n)")
    first = tree.body[0] if tree and tree.body else None
    return first.value if isinstance(first, ast.Expr) else None
