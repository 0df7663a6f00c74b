"""Problems of DS-1000 in its simplified form (github.com/xlang-ai/DS-1000).

`prompt` ends in one of three ways: code in `<code>` followed by `NAME = ... # put solution in this variable`; the
beginning of a function whose body is to be written; or, for Matplotlib, nothing but code with comments. `code_context`
defines `test_execution(solution)`, and for some problems `test_string(solution)`, which take the text of the solution
and insert it in a program of their own.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class DataScienceQuestion:
    """The parts of a prompt."""

    words: str
    setup: str
    header: str
    """First line of the function whose body is to be written; empty if there is none."""
    context: str
    library: str

    @classmethod
    def parse(cls, prompt: str, context: str, library: str) -> DataScienceQuestion:
        """Divide a prompt.

        Raises:
            ValueError: the given code is not valid Python, or does not run without the data of the tests.
        """
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
        words = words.removeprefix("Problem:").strip() or _comments(setup)
        return cls(f"{words}\n\n{_request(rest, header)}".strip(), setup, header, context, library)

    def problem(self, id: str, reference: str, *, problem_set: str, folder: Path) -> Problem:
        """Return the problem."""
        return Problem(
            id,
            self.words,
            (_MODULES.get(self.library, self.library.lower()),),
            (self._test(),),
            setup=self.setup,
            solution_name=self._function.name if self._function else None,
            solution=self._reference(reference),
            problem_set=problem_set,
            folder=folder,
        )

    @property
    def _function(self) -> ast.FunctionDef | None:
        if not self.header:
            return None
        function = ast.parse(f"{self.header}\n    pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        return function

    def _reference(self, reference: str) -> str:
        return f"{self.header}\n{_indent(textwrap.dedent(reference))}" if self.header else reference

    def _test(self) -> str:
        """Return the test: the program inserts the solution, as the body of the function if there is one."""
        code = SOLUTION_VARIABLE
        lines = [self.context.rstrip(), ""]
        if function := self._function:
            call = f"\nreturn {function.name}({', '.join(argument.arg for argument in function.args.args)})"
            lines += ["import textwrap"]
            code = f"textwrap.indent({self.setup!r} + {SOLUTION_VARIABLE} + {call!r}, '    ')"
        calls = [name for name in ("test_execution", "test_string") if f"def {name}(" in self.context]
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


def _comments(code: str) -> str:
    lines = (line.strip() for line in code.splitlines())
    return "\n".join(line.lstrip("# ") for line in lines if line.startswith("#"))


def _indent(code: str) -> str:
    return textwrap.indent(code, "    ")
