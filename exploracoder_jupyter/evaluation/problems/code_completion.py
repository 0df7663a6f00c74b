"""Problems that ask to complete code: a function from its beginning, or the last statement of a script.

The code before the statement to complete becomes the setup. What the comments ask for becomes the task. Sets with
libraries under invented names keep tests that are written with the original ones: the test then imports the original
library, and gives the variables of the solution their original names.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from exploracoder_jupyter.evaluation.problems.problem import Problem

_ORIGINALS: Final = {
    "monkey": "import numpy as np\nimport pandas as pd\n",
    "beatnum": "import pandas as pd\nfrom beatnum import _numpy as np\n",
}
"""Imports of the original libraries for tests of the invented ones (see `benchmarks/problems`)."""
_SETS: Final = ("pandas", "numpy", "torchdata")
"""Libraries after which sets are named, in lower case."""
_COMMENT = re.compile(r"^\s*#+(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Completion:
    """Code to complete, divided into what is given and what is to be written."""

    libraries: tuple[str, ...]
    setup: str
    begun: str
    """The beginning of the statement to complete; empty if whole statements are to be added."""
    solution: str
    """Reference solution: the completed statements."""
    words: str
    """What is asked for."""
    function: ast.FunctionDef | None
    given: tuple[ast.stmt, ...]
    """The statements of the function's body that are given."""
    results: tuple[str, ...]
    """Variables that the tests read."""
    tests: str

    @classmethod
    def parse(cls, id: str, prompt: str, references: Sequence[str], test: str, *, is_function: bool) -> Completion:
        """Divide the code, by means of the statement that the first of the references with all its imports completes.

        Raises:
            ValueError: the code or the test is not valid Python.
        """
        reference = min(references, key=lambda one: _undefined(prompt, one))  # the first of the best
        module, start = _parse_completed(prompt, reference)
        whole = prompt + reference
        function = _last_function(module) if is_function else None
        if is_function and function is None:
            raise ValueError("it begins no function")
        libraries = _libraries(id, module)
        names = _names_of_results(test, module, libraries)
        check = f"check({function.name if function else ''})"
        return cls(
            libraries,
            whole[:start].rstrip() + "\n",
            _without_comments(prompt[start:]),
            whole[start:].strip("\n") + "\n",
            _words(prompt, function),
            function,
            _given(function, prompt),
            _results(module, start, whole, names),
            f"{_preface(libraries, names)}{test.strip()}\n\n{check}\n",
        )

    def problem(self, id: str, gold: tuple[tuple[str, ...], ...], *, problem_set: str, folder: Path) -> Problem:
        """Return the problem."""
        return Problem(
            id,
            "\n\n".join(filter(None, (self.words, self._request()))),
            self.libraries,
            (self.tests,),
            setup=self.setup,
            solution_name=self.function.name if self.function else None,
            solution=self.solution,
            gold_apis=gold,
            problem_set=problem_set,
            folder=folder,
        )

    def _request(self) -> str:
        """Say which function or variable to define."""
        if self.function:
            body = "\n".join(map(ast.unparse, self.given))
            begins = f"\nIts body begins with:\n```python\n{body}\n```" if body else ""
            return f"Define the function `{self.function.name}({ast.unparse(self.function.args)})`.{begins}"
        names = " and ".join(f"`{name}`" for name in self.results)
        result = f"The result is read from {names}." if names else ""
        return f"Complete the statement `{self.begun}`. {result}".strip() if self.begun else result


def _undefined(prompt: str, reference: str) -> float:
    """Count the names in the completed code that it neither defines nor imports; infinite if it is not Python."""
    try:
        module = ast.parse(prompt + reference)
    except (SyntaxError, ValueError):
        return math.inf
    names = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return len(names - _defined(module))


def _defined(module: ast.Module) -> set[str]:
    found = set(dir(builtins))
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    return found


def _parse_completed(prompt: str, reference: str) -> tuple[ast.Module, int]:
    """Return the completed code and the place in it where the statements to write start."""
    try:
        module = ast.parse(prompt + reference)
    except (SyntaxError, ValueError):
        raise ValueError("its reference solution is not valid Python") from None
    starts = [0]
    for line in (prompt + reference).splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    written = [node for node in module.body if starts[(node.end_lineno or 1) - 1] + _width(node) > len(prompt.rstrip())]
    if not written:
        raise ValueError("its reference solution adds nothing")
    first = written[0]
    decorated = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    return module, starts[decorated - 1]


def _width(node: ast.stmt) -> int:
    return node.end_col_offset or 0


def _last_function(module: ast.Module) -> ast.FunctionDef | None:
    return next((node for node in reversed(module.body) if isinstance(node, ast.FunctionDef)), None)


def _given(function: ast.FunctionDef | None, prompt: str) -> tuple[ast.stmt, ...]:
    if function is None:
        return ()
    lines = len(prompt.rstrip().splitlines())
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return tuple(node for node in body if (node.end_lineno or 0) <= lines and not _ends_open(node, prompt, lines))


def _ends_open(node: ast.stmt, prompt: str, lines: int) -> bool:
    """Whether the prompt contains only the beginning of a statement on its last line, such as `return`."""
    last = prompt.rstrip().splitlines()[-1]
    return node.end_lineno == lines and (node.end_col_offset or 0) > len(last)


def _words(prompt: str, function: ast.FunctionDef | None) -> str:
    """Return the comments, and the docstring of the function, as text."""
    comments = (found[1].strip() for found in _COMMENT.finditer(prompt))
    docstring = (ast.get_docstring(function) or "") if function else ""
    return "\n".join(filter(None, [docstring.strip(), *comments]))


def _without_comments(code: str) -> str:
    return _COMMENT.sub("", code).strip()


def _libraries(id: str, module: ast.Module) -> tuple[str, ...]:
    """Return the library that the set is about, or all that are imported."""
    imported = list(dict.fromkeys(_imported(module)))
    if invented := [name for name in imported if name in _ORIGINALS]:
        return tuple(invented)
    named = [name for name in _SETS if id.lower().startswith(name)]
    found = named or [name for name in imported if name not in sys.stdlib_module_names]
    if not found:
        raise ValueError("it imports no library")
    return tuple(found)


def _imported(module: ast.Module) -> Iterable[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def _names_of_results(test: str, module: ast.Module, libraries: Sequence[str]) -> Mapping[str, str]:
    """Map the variables that a test reads to those of the completed code: different ones if a library is renamed."""
    read, own = _test_names(test)
    stored = {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    same = {name: name for name in sorted(read & stored)}
    if not _ORIGINALS.keys() & set(libraries):
        return same
    missing = read - stored - own - set(dir(builtins)) - {"np", "pd"} - set(_functions(module))
    return {**same, **_most_similar(missing, stored - read)}


def _results(module: ast.Module, start: int, whole: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that the test reads and the completed statements assign; all that it reads if there are
    none, because then the statements change a value.
    """
    first = whole[:start].count("\n") + 1
    written = (node for node in module.body if node.lineno >= first)
    names_in = (name for node in written for name in ast.walk(node) if isinstance(name, ast.Name))
    stored = {name.id for name in names_in if isinstance(name.ctx, ast.Store)}
    assigned = [name for name in names.values() if name in stored]
    return tuple(assigned or names.values())


def _functions(module: ast.Module) -> Iterable[str]:
    return (node.name for node in module.body if isinstance(node, ast.FunctionDef))


def _test_names(test: str) -> tuple[set[str], set[str]]:
    """Return the names that a test reads, and those that it defines itself."""
    try:
        nodes = list(ast.walk(ast.parse(test)))
    except (SyntaxError, ValueError):
        raise ValueError("its test is not valid Python") from None
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return {node.id for node in names} - own, own


def _most_similar(missing: set[str], candidates: set[str]) -> dict[str, str]:
    """Assign each missing name the most similar candidate, the most similar pair first."""

    def similarity(pair: tuple[str, str]) -> float:
        return difflib.SequenceMatcher(None, *pair, autojunk=False).ratio()

    found: dict[str, str] = {}
    pairs = [(one, other) for one in sorted(missing) for other in sorted(candidates)]
    for one, other in sorted(pairs, key=similarity, reverse=True):
        if one not in found and other not in found.values():
            found[one] = other
    return found


def _preface(libraries: Sequence[str], names: Mapping[str, str]) -> str:
    """Return what a test needs before it: the original library, and the original names of variables."""
    originals = "".join(_ORIGINALS.get(library, "") for library in libraries)
    return originals + "".join(f"{one} = {other}\n" for one, other in names.items() if one != other)
