"""The check of a solution: assertions, `input -> output` pairs, doctests, and the names that it reads."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Task, Unmet
from exploracoder_jupyter.pipeline.code_analysis import ALWAYS_DEFINED, names_in
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.pipeline.solving.check_rewriting import (
    can_fail,
    find_goldens,
    no_assertion_error,
    rewrite_assertions,
    rewrite_equality,
    snapshot_code,
)

# The check of a solution: the user's assertions, `input -> output` pairs, doctest or pytest file; or a stated
# example.
#
# Each becomes plain code that runs after the solution in the same branch and raises AssertionError if the check
# fails. A check that cannot fail is rejected, so that a run is never `solved` without anything being checked.
# Equality without a truth value is decided by content, and the variables that the check compares with are protected
# from the program (see `check_rewriting`).
#
# An example in the text of the task is a check too if its result can be compared: doctests, assertions, calls with
# a literal (`f(3) == 9`, "with x = 3, f(x) gives 9", the rows of a table). Examples in prose, such as "has the rows
# A and B", cannot be compared by a program; the strategy `example_repair` lets the model write them as a cell.

_CAME_OUT: Final = "The example that the task states came out."
_MISSED: Final = "The program ran, but the example of the task did not give what the task states."
_LONGEST: Final = 1000
_MOST: Final = 5
_STATES = re.compile(
    r"""`?\s*(?:(?:->|→|=>|==?)\s*                                       # f(3) -> 9
        |(?:should\ |must\ |will\ |would\ )?                            # f(3) should be 9
        (?:returns?|gives?|yields?|produces?|prints?|outputs?|be|is|equals?|(?:is|be)\ equal\ to|evaluates\ to
        |results?\ in|comes\ out\ as):?\s+
        )`?(?=[\[({'"\d\-TFN])""",
    re.VERBOSE,
)
_GIVEN: Final = re.compile(r"`?(?<![\w.])([^\W\d]\w*)`?\s*(?:=(?!=)|is)\s*`?(?=[\[({'\"\d\-TFN])")
"""A name and what the task says it is, for an example."""
_ROW: Final = re.compile(r"^\s*\|(.+)\|\s*$")
_RESULT: Final = re.compile(r"(?:expected\s+)?(?:outputs?|results?|returns?|values?)\b.*", re.IGNORECASE)
_ALIASES: Final = {
    "np": "numpy", "pd": "pandas", "pl": "polars", "xr": "xarray", "nx": "networkx", "pa": "pyarrow", "dt": "datetime",
    "datetime": "datetime", "math": "math", "Decimal": "decimal", "Fraction": "fractions",
}  # fmt: skip
"""Modules that examples name without importing them."""
_END = re.compile(r"`?\s*(?:$|[.;)](?:\s|$)|,(?=\s+`?[^\W\d])|(?:and|for|but|while|because|since)\b)")
"""What may follow a result: "is 3 rows" and "is 1, 2" state none."""

_RUN_DOCTESTS = """
import doctest as _doctest
_test = _doctest.DocTestParser().get_doctest({text!r}, globals(), "check", None, 0)
_report = []
_runner = _doctest.DocTestRunner(optionflags=_doctest.ELLIPSIS | _doctest.NORMALIZE_WHITESPACE)
_runner.run(_test, out=_report.append, clear_globs=False)
assert not _runner.failures, "".join(_report)
"""


@dataclass(frozen=True, slots=True)
class CheckCode:
    """Code that runs after a solution, in its branch, and the messages for its outcome."""

    code: str
    passed: str
    failed: str
    before: str = ""
    """Code that runs before the solution. If it fails, its message names what it could not do."""
    demands: Unmet = "check"
    """What a solution does not fulfill if the code fails."""


def check_code(task: Task) -> str | None:
    """Return the code that checks a solution of the task, or `None` if the task has no check.

    Raises:
        UsageError: the check is neither Python, nor doctests, nor pairs (which need `--name`), or it asserts nothing.
    """
    code = readable_code(task)
    if code is None:
        return None
    return _rewrite(lambda: rewrite_equality(code, find_goldens(code, task)))


def readable_code(task: Task) -> str | None:
    """Return the code of `check_code` as a person would write it: with the plain equality of the values."""
    text = dedent(task.check or "").strip()
    if not text:
        return None
    tree = parse_check(text)
    examples = _examples(text)
    if examples and not (tree and can_fail(tree)):
        examples = [example for example in examples if not example.options.get(doctest.SKIP)]
        source = parse_check("".join(example.source for example in examples))
        if not any(example.want for example in examples) and not (source and can_fail(source)):
            raise no_assertion_error()
        return _RUN_DOCTESTS.format(text=text + "\n")
    return _rewrite(lambda: rewrite_assertions(tree, text)) if tree else _pairs(text, task.solution_name)


def check_source(task: Task) -> str:
    """Return the check as the user wrote it, of doctests the examples; empty if there is none (see `check_code`)."""
    text = dedent(task.check or "").strip()
    tree, examples = parse_check(text), _examples(text)
    if examples and not (tree and can_fail(tree)):
        return "".join(example.source for example in examples)
    return text if tree else readable_code(task) or ""


def build_check(task: Task) -> CheckCode | None:
    """Return the code to run after a solution: the check (see `check_code`), else a test that its function exists."""
    check, name = check_code(task), task.solution_name
    if check:
        compared = find_goldens(readable_code(task) or "", task)
        before = snapshot_code(compared) if compared else ""
        return CheckCode(check, "The check passed.", "The program ran, but the check failed.", before)
    missing = f"The program ran, but defines no function {name}."
    code = f"assert callable(globals().get({name!r})), {missing!r}"
    return CheckCode(code, "", missing, demands="name") if name else None


def _examples(text: str) -> list[doctest.Example]:
    if not any(line.lstrip().startswith(">>> ") for line in text.splitlines()):
        return []
    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError as error:
        raise UsageError(f"The doctests cannot be read: {error}.", remedy="Correct the check.") from error


def _rewrite(rewrite: Callable[[], str]) -> str:
    try:
        return rewrite()
    except (RecursionError, ValueError) as error:
        raise UsageError(
            "The check is nested too deeply, or contains a number with too many digits.", remedy="Simplify the check."
        ) from error


def parse_check(text: str) -> ast.Module | None:
    """Return the parsed code; `None` if it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _pairs(text: str, name: str | None) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pairs = [line.split("->") for line in lines]
    if any(len(pair) != 2 or not (parse_check(f"_({pair[0]})") and parse_check(f"({pair[1]})")) for pair in pairs):
        problem = "The check is neither Python assertions, nor doctests, nor lines of the form `input -> output`."
        if re.match(r"assert\b|def |import |from ", text):
            try:
                ast.parse(text)
            except SyntaxError as error:
                problem = f"The check has a syntax error in line {error.lineno}: {error.msg}."
        raise UsageError(problem, remedy='Write for example --check "assert result == 3".')
    if not name:
        raise UsageError("A check of `input -> output` lines needs a function.", remedy="Name it with --name.")
    calls = [(f"{name}({given.strip()})", expected.strip()) for given, expected in pairs]
    return "\n".join(f"_got = {call}\nassert _got == ({out}), {call!r} + f' gave {{_got!r}}'" for call, out in calls)


@heuristic("looking for the example of the task", lambda task: None)
def stated_check(task: Task) -> CheckCode | None:
    """Return the first kind of example that the task contains, as a check; `None` without one.

    If the solution is to define a function, the example has to use it.
    """
    text = dedent(task.text)
    comparisons = []
    for call, result in list(dict.fromkeys((*_stated_results(text, task), *_table_results(text, task))))[:_MOST]:
        places = re.fullmatch(r"-?\d+\.(\d+)", result)  # a decimal number is compared to as many places
        comparisons.append(f"assert {f'round({call}, {len(places[1])})' if places else call} == {result}")
    comparisons = [*_imports("\n".join(comparisons), task), *comparisons]
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
            before = line[: between.start()][-_LONGEST:]
            call = _call_before(before, task, dict(_stated_values(text)))
            result = _literal_after(line[between.end() :][:_LONGEST])
            if call and result:
                yield call, result


def _table_results(text: str, task: Task) -> Iterator[tuple[str, str]]:
    """Yield the same for the rows of a table, whose last column is headed by a call, or by a word for its result."""
    header: list[str] = []
    for line in text.splitlines():
        row = _ROW.match(line)
        cells = [cell.strip().strip("`") for cell in row[1].split("|")] if row else []
        if not header or len(cells) != len(header):
            header = cells if len(cells) > 1 else []
            continue
        *given, result = cells
        head = _expression(header[-1])
        if isinstance(head, ast.Call):
            call = _call_before(header[-1], task, dict(zip(header[:-1], given, strict=True)))
        elif _RESULT.fullmatch(header[-1]):
            named = f"{task.solution_name}({', '.join(given)})" if task.solution_name else ""
            call = _call_before(given[-1], task, {}) or _call_before(named, task, {})
        else:
            continue
        if call and _literal_after(result) == result:
            yield call, result


def _stated_values(text: str) -> Iterator[tuple[str, str]]:
    """Yield names with the literals that the text gives for them: `with x = [1, 2]`."""
    for found in _GIVEN.finditer(text):
        if value := _literal_after(text[found.end() :].splitlines()[0][:_LONGEST]):
            yield found[1], value


def _imports(code: str, task: Task) -> Iterator[str]:
    """Yield imports of the well-known modules that the code names and that are not variables of the user."""
    names = {name.id for name in _names(parse_check(code) or ast.Module([], []))} - {*task.uses}
    for name in sorted(names & _ALIASES.keys()):
        module = _ALIASES[name]
        whole = name == module or name in ("np", "pd", "pl", "xr", "nx", "pa", "dt")
        yield f"import {module} as {name}" if whole else f"from {module} import {name}"


class _Insertion(ast.NodeTransformer):
    """Replaces names by the values that the task states for them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {name: _expression(value) for name, value in values.items()}

    def visit_Name(self, node: ast.Name) -> ast.expr:  # as ast calls it
        return self._values.get(node.id) or node


def _call_before(text: str, task: Task, values: Mapping[str, str]) -> str:
    """Return the longest call, or part of what it returns, that the text ends with; names stand for these values."""
    for start in re.finditer(r"(?<![\w.])(?=[^\W\d])", text):
        part = text[start.start() :].strip()
        node = whole = _expression(part)
        if whole and values and (used := {name.id for name in _names(whole)} & (values.keys() - {*task.uses})):
            node = whole = _Insertion({name: values[name] for name in used}).visit(whole)
            part = ast.unparse(whole)
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if whole and isinstance(node, ast.Call):
            own = {name.id for call in ast.walk(whole) if isinstance(call, ast.Call) for name in _names(call.func)}
            # It reads no name but its own and known ones: `f(n)` in a definition is not an example.
            if {name.id for name in _names(whole)} <= own | {*task.uses, *dir(builtins), *_ALIASES}:
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


# Finds names that a check reads but the task does not mention: a solution would bind them only by chance.

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_IMPORT_ALIASES = {"np", "pd", "plt", "nx", "pl", "xr", "sns", "tf", "torch", "scipy", "numpy", "pandas", "pytest"}


def unmentioned_names(task: Task) -> tuple[str, ...]:
    """Return names that the task's check reads, but that neither the check binds nor the task mentions.

    Excludes the user's variables that the task may use, the function that the solution defines, builtins and modules.
    Empty if there is no check, or none that can be parsed.
    """
    with suppress(UsageError):
        code = check_source(task)
        libraries = (name for one in task.libraries for name in (one, one.replace("-", "_"), one.partition(".")[0]))
        mentioned = {*_IDENTIFIER.findall(task.text), *task.uses, task.solution_name, *libraries}
        names = names_in(code)
        tree = parse_python(code)
        declared = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
        free = names.read - names.bound - declared - ALWAYS_DEFINED - mentioned
        uses = [
            (child.lineno, child.col_offset, child.id, isinstance(node, ast.Attribute))
            for node in ast.walk(tree)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
        ]
        plain = {name for *_, name, dotted in uses if not dotted}
        modules = {*sys.stdlib_module_names, *_IMPORT_ALIASES} - plain  # well-known modules that are used like ones
        return tuple(dict.fromkeys(name for *_, name, _ in sorted(uses) if name in free - modules))
    return ()


def missing_names_notice(task: Task) -> str:
    """Return a notice about these names and how to fix the task; empty if there are none."""
    names = [f"`{name}`" for name in unmentioned_names(task)]
    if not names:
        return ""
    which = f"the name {names[0]}" if len(names) == 1 else f"the names {', '.join(names[:-1])} and {names[-1]}"
    return (
        f"The check uses {which}, which the task does not mention: the model is only given the name"
        f"{'' if len(names) == 1 else 's'}, so a solution may pass only by chance. Say in the task what belongs there,"
        f" for example: “store it in {names[0]}”."
    )
