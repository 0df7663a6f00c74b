"""The user's check of a solution: assertions, `input -> output` pairs, a doctest or a pytest file.

Each becomes plain code that runs after the solution in the same branch and raises AssertionError when the check fails.
"""

from __future__ import annotations

import ast
import doctest
from textwrap import dedent

from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.types import Task

_RUN_TESTS = """
for _name, _test in list(globals().items()):
    if _name.startswith("test") and callable(_test):
        _test()
"""
_RUN_DOCTESTS = """
import doctest as _doctest
_test = _doctest.DocTestParser().get_doctest({text!r}, globals(), "check", None, 0)
_report = []
_runner = _doctest.DocTestRunner(optionflags=_doctest.ELLIPSIS | _doctest.NORMALIZE_WHITESPACE)
_runner.run(_test, out=_report.append, clear_globs=False)
assert not _runner.failures, "".join(_report)
"""


def check_code(task: Task) -> str | None:
    """The code that checks a solution of the task, or `None` if the task has no check.

    Raises:
        UsageError: the check is neither Python, nor doctests, nor pairs (which need `--name`).
    """
    if not task.check or not task.check.strip():
        return None
    text = dedent(task.check).strip()
    if _is_doctest(text):
        return _RUN_DOCTESTS.format(text=text + "\n")
    if _is_python(text):
        return f"{text}\n{_RUN_TESTS}" if "def test" in text else text
    return _pairs(text, task.solution_name)


def _is_doctest(text: str) -> bool:
    return any(line.lstrip().startswith(">>> ") for line in text.splitlines()) and bool(
        doctest.DocTestParser().get_examples(text)
    )


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _pairs(text: str, name: str | None) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pairs = [line.split("->") for line in lines]
    if any(len(pair) != 2 or not all(_is_python(part.strip()) for part in pair) for pair in pairs):
        raise UsageError(
            "The check is neither Python assertions, nor doctests, nor lines of the form `input -> output`.",
            remedy='Write for example --check "assert result == 3".',
        )
    if not name:
        raise UsageError("A check of `input -> output` lines needs a function.", remedy="Name it with --name.")
    return "\n".join(_assertion(name, given.strip(), wanted.strip()) for given, wanted in pairs)


def _assertion(name: str, given: str, wanted: str) -> str:
    call = f"{name}({given})"
    return f"_got = {call}\nassert _got == ({wanted}), {call!r} + f' gave {{_got!r}}'"
