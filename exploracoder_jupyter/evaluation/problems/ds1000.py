"""Problems of DS-1000 in its simplified form (github.com/xlang-ai/DS-1000).

`prompt` ends in one of three ways: code in `<code>` followed by `NAME = ... # put solution in this variable`; the
beginning of a function whose body is to be written; or, for Matplotlib, only code with comments. `code_context`
defines `test_execution(solution)`, and for some problems `test_string(solution)`, which take the text of the solution
and insert it in a program of their own.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Final

from exploracoder_jupyter.evaluation.problems.problem import SOLUTION_VARIABLE, Problem
from exploracoder_jupyter.evaluation.problems.problem_rows import check_python

_MODULES: Final = {"Pytorch": "torch", "Sklearn": "sklearn", "Tensorflow": "tensorflow"}
"""Import names that are not the name of the library in lower case."""
_ANSWER = re.compile(r"\nA:\s*\n(?:(?!\nA:\s*\n).)*\Z", re.DOTALL)
_CODE = re.compile(r"<code>\n(.*?)(?:</code>|\Z)", re.DOTALL)
_VARIABLE = re.compile(r"^(\w+(?:\s*,\s*\w+)*)\s*=\s*\.\.\.\s*#\s*put solution in th", re.MULTILINE)
_QUOTED = re.compile(r"solve this question with example variables? ((?:`\w+`[ ,and]*)+)")
_MARKER = re.compile(r"^[ \t]*(?:#+ ?)?(?:BEGIN SOLUTION|SOLUTION START)[ \t]*$.*", re.MULTILINE | re.DOTALL)
_UNDEFINED: Final = "load_data("
"""Stands in for data of which only the tests know, so that the given code does not run."""


def ds1000_problem(
    id: str, prompt: str, reference: str, context: str, library: str, *, problem_set: str, folder: Path
) -> Problem:
    """Return the problem; ValueError if its code is not valid Python, or does not run without the data of the tests."""
    answer = _ANSWER.search(prompt)
    words, rest = (prompt[: answer.start()], answer[0]) if answer else ("", prompt)
    blocks = _CODE.findall(_MARKER.sub("", rest))
    setup, header = _split_header(blocks[0] if blocks else "" if answer else _MARKER.sub("", rest))
    if _UNDEFINED in setup:
        raise ValueError("its data exists in its tests only")
    try:
        check_python(setup), check_python(context)
    except ValueError:
        raise ValueError("its code is not valid Python") from None
    function = ast.parse(f"{header}\n    pass").body[0] if header else None
    assert function is None or isinstance(function, ast.FunctionDef)
    words = words.removeprefix("Problem:").strip()
    if not words:
        comments = (line.strip() for line in setup.splitlines())
        words = "\n".join(line.lstrip("# ") for line in comments if line.startswith("#"))
    return Problem(
        id,
        f"{words}\n\n{_request(rest, header)}".strip(),
        (_MODULES.get(library, library.lower()),),
        (_test(context, setup, function),),
        setup=setup,
        solution_name=function.name if function else None,
        solution=f"{header}\n{textwrap.indent(textwrap.dedent(reference), '    ')}" if header else reference,
        problem_set=problem_set,
        folder=folder,
    )


def _test(context: str, setup: str, function: ast.FunctionDef | None) -> str:
    """Return the test: the program inserts the solution, as the body of the function if there is one."""
    code = SOLUTION_VARIABLE
    lines = [context.rstrip(), ""]
    if function:
        call = f"\nreturn {function.name}({', '.join(argument.arg for argument in function.args.args)})"
        lines += ["import textwrap"]
        code = f"textwrap.indent({setup!r} + {SOLUTION_VARIABLE} + {call!r}, '    ')"
    calls = [name for name in ("test_execution", "test_string") if f"def {name}(" in context]
    return "\n".join([*lines, *(f"{name}({code})" for name in calls)]) + "\n"


def _split_header(code: str) -> tuple[str, str]:
    """Divide code into whole statements and the first line of a function without a body at its end."""
    lines = code.rstrip().splitlines()
    written = [number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    if written and lines[written[-1]].startswith("def "):
        return "\n".join(lines[: written[-1]]) + "\n", lines[written[-1]]
    return code.strip("\n") + "\n", ""


def _request(rest: str, header: str) -> str:
    """Say which variable or function to define."""
    if header:
        return f"Define the function `{header.removeprefix('def ').rstrip(' :')}`; it returns the result."
    if found := _VARIABLE.search(rest):
        return f"Store the result in `{found[1]}`."
    if quoted := _QUOTED.search(rest):
        return f"Store the result in {quoted[1].strip(' ,')}."
    return ""
