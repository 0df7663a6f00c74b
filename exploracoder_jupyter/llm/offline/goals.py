"""The goal of a program: a text to satisfy, the variables that exist, the form of the result; and drafts of it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import indent

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Experience, Task
from exploracoder_jupyter.llm.offline.documentation import (
    called_names,
    contains_value,
    is_print,
    loaded_names,
    slice_backwards,
    stored_names,
)
from exploracoder_jupyter.llm.offline.task import Value, find_targets, find_values, mask_literals
from exploracoder_jupyter.llm.offline.words import STOP_WORDS, content_stems, expected_kinds, name_stems

# Drafts: a few statements that end in one expression, with what is known for scoring them.


@dataclass(frozen=True, slots=True)
class Draft:
    """A program fragment under construction."""

    imports: tuple[str, ...]
    statements: tuple[str, ...]
    result: str
    paths: tuple[str, ...] = ()
    used: frozenset[int] = frozenset()
    penalty: float = 0.0
    """For guesses and leftovers: literals of an example that no value of the task replaced, mismatching types."""
    type: str = ""
    names: tuple[str, ...] = ()
    score: float = 0.0
    """How well it satisfies a goal; higher is better."""

    @property
    def name_words(self) -> frozenset[str]:
        """The stems of the words in its API names."""
        return frozenset(part for name in self.names for part in name_stems(name))

    def then(self, later: Draft) -> Draft:
        """Return this draft's statements followed by the other draft."""
        return replace(
            later,
            imports=tuple(dict.fromkeys([*self.imports, *later.imports])),
            statements=(*self.statements, *later.statements),
            paths=tuple(dict.fromkeys([*self.paths, *later.paths])),
            used=self.used | later.used,
            penalty=self.penalty + later.penalty,
            names=(*self.names, *later.names),
        )

    def code(self, target: str, *, with_print: bool = False) -> str:
        """Return the code that stores the result in `target`; `with_print` adds a statement that prints it."""
        statements = [*self.statements, f"{target} = {self.result}"] if self.result != target else list(self.statements)
        imports, statements = _avoid_shadowing(self.imports, statements)
        text = "\n".join([*imports, *([""] if imports else []), *statements])
        return f"{text}\nprint(type({target}).__name__, {target})" if with_print else text


def _avoid_shadowing(imports: Sequence[str], statements: Sequence[str]) -> tuple[list[str], list[str]]:
    """Call functions whose names are also assigned through their module instead."""
    statements, kept_imports = list(statements), []
    for line in imports:
        match = re.fullmatch(r"from ([\w.]+) import (\w+)", line)
        if match and any(re.match(rf"{match.group(2)} = ", statement) for statement in statements):
            module, name = match.groups()
            statements = [
                re.sub(rf"(?<![\w.]){name}(?=[(.])", f"{module}.{name}", statement) for statement in statements
            ]
            line = f"import {module}"
        kept_imports.append(line)
    return kept_imports, statements


def deduplicate(drafts: Iterable[Draft]) -> list[Draft]:
    """Remove drafts with the same code, keeping the one with the lowest penalty."""
    best: dict[tuple[tuple[str, ...], str], Draft] = {}
    for draft in drafts:
        key = (draft.statements, draft.result)
        if key not in best or draft.penalty < best[key].penalty:
            best[key] = draft
    return list(best.values())


# Derives the state from experience: existing variables, their types and attributes, and the code that created them.

_NON_DATA_TYPES = frozenset("module type function builtin_function_or_method method ABCMeta EnumType NoneType".split())  # noqa: SIM905


def state_variables(experience: Sequence[Experience]) -> tuple[Value, ...]:
    """Return the variables of the state, the latest result first, numbered -1, -2, ..."""
    found: dict[str, Value] = {}
    for item in reversed([item for item in experience if item.observation.ran]):
        last = result_name(item)
        names = sorted(item.observation.names, key=lambda pair: pair[0] != last)
        for name, type_ in names:
            if type_.rpartition(".")[2] not in _NON_DATA_TYPES and name not in found and not name.startswith("_"):
                number = -1 - len(found)
                shape = type_.removeprefix("builtins.")
                roles = (*name_stems(name), *name_stems(shape.rpartition(".")[2]))
                found[name] = Value(number, name, shape, roles)
    return tuple(found.values())


def result_name(item: Experience) -> str:
    """Return the variable that a snippet assigned last."""
    for node in reversed(parse_python(item.candidate.code).body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    return ""


def explored_program(experience: Sequence[Experience], values: Sequence[Value]) -> Draft:
    """Combine the code that ran, without prints; the result is its last variable, or empty if nothing ran."""
    ran = [item for item in experience if item.observation.ran]
    nodes = [node for item in ran for node in _writable_body(item.candidate.code) if not is_print(node)]
    body = [node for node in nodes if not isinstance(node, (ast.Import, ast.ImportFrom))]
    imports = tuple(dict.fromkeys(ast.unparse(node) for node in nodes if node not in body))
    result, last = next(((name, item) for item in reversed(ran) if (name := _last_nonempty_result(item))), ("", None))
    lines = tuple(ast.unparse(node) for node in body)
    used = frozenset(i for value in values if contains_value("\n".join(lines), value) for i in value.covered_ids)
    types = dict(last.observation.names) if last else {}
    type_ = types.get(result, "").removeprefix("builtins.")
    paths = tuple(dict.fromkeys(path for item in ran for path in item.apis))
    return Draft(imports, lines, result, paths, used, 0.0, type_, tuple(sorted(called_names(ast.Module(body, [])))))


def _last_nonempty_result(item: Experience) -> str:
    empty = {name for name, type_ in item.observation.names if type_.endswith("NoneType")}
    name = result_name(item)
    others = [name for name, type_ in item.observation.names if type_.rpartition(".")[2] not in _NON_DATA_TYPES]
    return name if name not in empty else next(iter(others), "")


def prune(code: str, targets: Sequence[str]) -> str:
    """Remove what no target needs; empty if the code cannot be parsed or unparsed."""
    try:
        body = slice_backwards(_writable_body(code), set(targets))[0]
        imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
        top = "\n".join(dict.fromkeys(ast.unparse(node) for node in imports))
        rest = "\n".join(ast.unparse(node) for node in body if node not in imports)
    except RecursionError:
        return ""
    return f"{top}\n\n{rest}".strip("\n")


def _writable_body(code: str) -> list[ast.stmt]:
    """Return the statements; none if they cannot be written again, like a hexadecimal number of too many digits."""
    tree = parse_python(code)
    try:
        ast.unparse(tree)
    except (ValueError, RecursionError):
        return []
    return tree.body


# A goal: a text to satisfy, a clause or the whole task, with the values that its calls can use.

_FUNCTION_CUES: tuple[tuple[str, str], ...] = (
    (r"\beven\b", "lambda x: x % 2 == 0"),
    (r"\bodd\b", "lambda x: x % 2 == 1"),
    (r"\bpositive\b", "lambda x: x > 0"),
    (r"\bnegative\b", "lambda x: x < 0"),
    (r"\b(?:by|their|its|the|word|same) lengths?\b", "len"),
    (r"first (?:letter|character|element|item)", "lambda x: x[0]"),
    (r"last (?:letter|character|element|item)", "lambda x: x[-1]"),
    (r"\bsquar", "lambda x: x ** 2"),
    (r"\bdoubl", "lambda x: 2 * x"),
    (r"\bupper-?case", "str.upper"),
    (r"\blower-?case|case.?insensitiv", "str.lower"),
    (r"\bsum(?:s|med|ming)?\b|\badd(?:ing|ition)\b", "lambda x, y: x + y"),
    (r"\bproduct\b|\bmultipl", "lambda x, y: x * y"),
)
_COMPARISON = re.compile(
    r"(greater|more|larger|bigger|above|over|less|smaller|fewer|below|under|at least|at most)"
    r"(?: than)? (-?\d+(?:\.\d+)?)"
)
_OPERATORS = {"at least": ">=", "at most": "<="}


@dataclass(frozen=True, slots=True)
class Goal:
    """A text to satisfy: a clause or the whole task."""

    text: str
    words: tuple[str, ...]
    """Stemmed words, without stop words."""
    values: tuple[Value, ...]
    """Literals of the text and variables of the state, the latest variable first."""
    callables: tuple[str, ...] = ()
    """Functions that the text describes, as code: `len`, `lambda x: x % 2 == 0`."""
    reserved: frozenset[str] = frozenset()
    """Names of variables that are already used."""

    @classmethod
    def of(cls, text: str) -> Goal:
        """Create the goal for a text."""
        named = (part for name in find_targets(text) for part in name_stems(name) if len(part) >= 4)
        words = tuple(dict.fromkeys((*content_stems(mask_literals(text)), *named)))
        return cls(text, words, find_values(text), find_callables(text), frozenset(find_targets(text)))

    @property
    def variables(self) -> list[Value]:
        """The variables of the state, the latest first."""
        return [value for value in self.values if value.id < 0]

    def using(self, variables: Sequence[Value], values: Sequence[Value], names: Sequence[str] = ()) -> Goal:
        """Return the goal with these variables and values to choose from, and further reserved names."""
        reserved = self.reserved.union(names, (variable.code for variable in variables))
        return replace(self, values=(*variables, *values), reserved=reserved)


def find_callables(text: str) -> tuple[str, ...]:
    """Return functions that a text describes, as code."""
    lowered = text.lower()
    found = re.findall(r"`((?:str|math|operator)\.[a-z_]+)`", text)
    for match in _COMPARISON.finditer(lowered):
        word = match.group(1)
        operator = _OPERATORS.get(word) or ("<" if word in ("less", "smaller", "fewer", "below", "under") else ">")
        found.append(f"lambda x: x {operator} {match.group(2)}")
    found.extend(code for pattern, code in _FUNCTION_CUES if re.search(pattern, lowered))
    return tuple(dict.fromkeys(found))


# Determines the form of a solution: the names or the function it must define, and the data it may use.
#
# The check of a task is read for names and for the number of arguments, never for expected values.

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
