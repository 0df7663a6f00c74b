"""Determines the form of a solution: the names or the function it must define, and the data it may use.

The check of a task is read for names and for the number of arguments, never for expected values.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import indent

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.offline.inputs.example_slices import loaded_names, stored_names
from exploracoder_jupyter.llm.offline.inputs.task_goal import Goal
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets, mask_literals
from exploracoder_jupyter.llm.offline.inputs.value_kinds import expected_kinds
from exploracoder_jupyter.llm.offline.inputs.word_matching import STOP_WORDS, name_stems

_SHAPE_BY_KIND = {"number": "int", "text": "str", "sequence": "list[any]", "dict": "dict[any,any]"}
_COLUMN = re.compile(r"\b(by|of|columns?|fields?|keys?) (?:the |its |their )?([A-Za-z_]\w*)\b(?! of\b)")


@dataclass(frozen=True, slots=True)
class SolutionForm:
    """The form of a solution."""

    names: tuple[str, ...]
    """Variables that it must define; for a function, the variable that it returns."""
    function: str = ""
    parameters: tuple[str, ...] = ()

    def goal(self, task: Task) -> Goal:
        """Return the whole task as a goal, with the function's parameters and the user's variables among its values."""
        goal = Goal.of(task.text)
        first = len(goal.values)
        variables = [
            _variable_value(first + i, name) for i, name in enumerate((*self.parameters, *_names_of_variables(task)))
        ]
        return add_columns(replace(goal, values=(*goal.values, *variables)), task)

    def apply(self, code: str) -> str:
        """Convert a program to this form."""
        return _wrap_in_function(code, self) if self.function else code


def solution_form(task: Task) -> SolutionForm:
    """Determine the form that the task asks for."""
    if task.solution_name:
        return SolutionForm(("result",), task.solution_name, _function_parameters(task, task.solution_name))
    targets = find_targets(task.text)
    inputs = {name for name in _names_of_variables(task) if name not in targets}
    check = parse_python(task.check or "")
    bound = {name for node in ast.walk(check) if isinstance(node, ast.stmt) for name in stored_names(node)}
    checked_names = sorted(loaded_names(check) - bound - inputs - set(dir(builtins)))
    names = dict.fromkeys([*(name for name in targets if not checked_names or name in checked_names), *checked_names])
    return SolutionForm(tuple(names) or targets or ("result",))


def add_columns(goal: Goal, task: Task) -> Goal:
    """Add likely names of columns or fields in the user's variables to the goal: `df by city`, `the mean of temp`.

    The variables have not been inspected, so these are guesses; without variables there are none.
    """
    if not (names := _names_of_variables(task)):
        return goal
    excluded = {*STOP_WORDS, *names, *find_targets(task.text), *(value.code.strip("'\"") for value in goal.values)}
    found = [match for match in _COLUMN.finditer(mask_literals(goal.text)) if match.group(2).lower() not in excluded]
    first = 1 + max((value.id for value in goal.values), default=-1)
    columns = [
        Value(first + i, repr(match[2]), "str", name_stems(match[1]), start=match.start(2), end=match.end(2))
        for i, match in enumerate(found)
    ]
    return replace(goal, values=(*goal.values, *columns))


def user_variables(task: Task) -> tuple[Value, ...]:
    """Return the user's variables that the task may use."""
    return tuple(_variable_value(-50 - i, name) for i, name in enumerate(_names_of_variables(task)))


def _names_of_variables(task: Task) -> tuple[str, ...]:
    given = (one.name for one in task.variables if one.given and not one.lacking)
    return tuple(dict.fromkeys([*task.uses, *given]))


def _variable_value(number: int, name: str) -> Value:
    kind = next(iter(expected_kinds("", name)), "")
    return Value(number, name, _SHAPE_BY_KIND.get(kind, kind or "object"), name_stems(name), name)


def _function_parameters(task: Task, name: str) -> tuple[str, ...]:
    signature = re.search(rf"\b{re.escape(name)}\(([^()]*)\)", task.text)
    if signature:
        names = [part.split(":")[0].split("=")[0].strip() for part in signature.group(1).split(",")]
        if all(part.isidentifier() for part in names):
            return tuple(names)
    calls = [node for node in ast.walk(parse_python(task.check or "")) if isinstance(node, ast.Call)]
    argument_counts = [len(call.args) for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]
    return ("value", "other", "third", "fourth")[: max(argument_counts, default=1)]


def _wrap_in_function(code: str, form: SolutionForm) -> str:
    body = ast.parse(code).body
    imports: Sequence[ast.stmt] = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    lines = [*(ast.unparse(node) for node in body if node not in imports), f"return {form.names[-1]}"]
    top = "\n".join(ast.unparse(node) for node in imports)
    head = f"def {form.function}({', '.join(form.parameters)}):"
    return f"{top}\n\n\n{head}\n{indent(chr(10).join(lines), '    ')}".strip("\n")
