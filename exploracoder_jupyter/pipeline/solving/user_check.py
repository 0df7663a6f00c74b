"""The user's check of a solution: assertions, `input -> output` pairs, a doctest or a pytest file.

Each becomes plain code that runs after the solution in the same branch and raises AssertionError if the check fails. A
check that cannot fail is rejected, so that a run is never `solved` without anything being checked. Equality without a
truth value is decided by content, and the variables that the check compares with are protected from the program (see
`check_equality`).
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Task, Unmet
from exploracoder_jupyter.pipeline.solving.user_check_equality import find_goldens, rewrite_equality, snapshot_code
from exploracoder_jupyter.pipeline.solving.user_check_rewrite import can_fail, no_assertion_error, rewrite_assertions

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
