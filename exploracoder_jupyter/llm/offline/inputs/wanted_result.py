"""What a solution must look like: the names it defines, or the function it is, and the data it may draw on.

The check of a task is read for names and for the number of arguments, never for what it expects.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.offline.drafting.program_search import Aim
from exploracoder_jupyter.llm.offline.inputs.example_slices import loads, stores
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, masked, targets_in
from exploracoder_jupyter.llm.offline.inputs.value_kinds import wanted_kinds
from exploracoder_jupyter.llm.offline.inputs.word_matching import STOP, parts

_SHAPES = {"number": "int", "text": "str", "sequence": "list[any]", "dict": "dict[any,any]", "callable": "callable"}


_COLUMN = re.compile(r"\b(by|of|columns?|fields?|keys?) (?:the |its |their )?([A-Za-z_]\w*)\b(?! of\b)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form of a solution."""

    names: tuple[str, ...]
    """Variables that it must define; for a function, the one that it returns."""
    function: str = ""
    parameters: tuple[str, ...] = ()

    def aim(self, task: Task) -> Aim:
        """The whole task as an aim; a function's parameters and the user's variables are values of it."""
        aim = Aim.of(task.text)
        first = len(aim.values)
        named = [_variable(first + i, name) for i, name in enumerate((*self.parameters, *task.uses))]
        return with_columns(replace(aim, values=(*aim.values, *named)), task)

    def form(self, code: str) -> str:
        """A program in this form."""
        return _as_function(code, self) if self.function else code


def wanted_by(task: Task) -> Wanted:
    """The form that the task asks for."""
    if task.solution_name:
        return Wanted(("result",), task.solution_name, _parameters(task, task.solution_name))
    named = targets_in(task.text)
    given = {name for name in task.uses if name not in named}
    checked = [name for name in _names_read(task.check or "") if name not in given]
    names = dict.fromkeys([*(name for name in named if not checked or name in checked), *checked])
    return Wanted(tuple(names) or named or ("result",))


def with_columns(aim: Aim, task: Task) -> Aim:
    """The aim with what may be names of columns or fields in the user's variables: `df by city`, `the mean of temp`.

    Nobody has looked into the variables, so these are guesses; without variables there are none.
    """
    if not task.uses:
        return aim
    taken = {*STOP, *task.uses, *targets_in(task.text), *(value.code.strip("'\"") for value in aim.values)}
    found = [match for match in _COLUMN.finditer(masked(aim.text)) if match.group(2).lower() not in taken]
    first = 1 + max((value.id for value in aim.values), default=-1)
    columns = [
        Value(first + i, repr(m.group(2)), "str", parts(m.group(1)), start=m.start(2), end=m.end(2))
        for i, m in enumerate(found)
    ]
    return replace(aim, values=(*aim.values, *columns))


def user_variables(task: Task, *, first: int = -50) -> tuple[Value, ...]:
    """The variables of the user that the task may use."""
    return tuple(_variable(first - i, name) for i, name in enumerate(task.uses))


def _variable(number: int, name: str) -> Value:
    kind = next(iter(wanted_kinds("", name)), "")
    return Value(number, name, _SHAPES.get(kind, "object"), parts(name), name)


def _parameters(task: Task, name: str) -> tuple[str, ...]:
    """The parameters in the text's `name(a, b)`, else as many as the check gives."""
    written = re.search(rf"\b{re.escape(name)}\(([^()]*)\)", task.text)
    if written:
        names = [part.split(":")[0].split("=")[0].strip() for part in written.group(1).split(",")]
        if all(part.isidentifier() for part in names):
            return tuple(names)
    calls = [node for node in ast.walk(_tree(task.check or "")) if isinstance(node, ast.Call)]
    sizes = [len(call.args) for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]
    return ("value", "other", "third", "fourth")[: max(sizes, default=1)]


def _names_read(check: str) -> tuple[str, ...]:
    tree = _tree(check)
    bound = {name for node in tree.body for name in stores(node)} | set(dir(builtins))
    imports = (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    imported = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
    inner = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return tuple(sorted(loads(tree) - bound - imported - inner))


def _tree(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _as_function(code: str, wanted: Wanted) -> str:
    """The program as a function that returns its result."""
    body = ast.parse(code).body
    imports: Sequence[ast.stmt] = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    rest = [node for node in body if node not in imports]
    lines = "\n".join([*(ast.unparse(node) for node in rest), f"return {wanted.names[-1]}"])
    inner = "\n".join(f"    {line}" for line in lines.splitlines())
    top = "\n".join(ast.unparse(node) for node in imports)
    return f"{top}\n\n\ndef {wanted.function}({', '.join(wanted.parameters)}):\n{inner}".strip("\n")
