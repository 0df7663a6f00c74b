"""Problems that ask to complete code: a function from its beginning, or the last statement of a script.

The code before the statement to complete becomes the setup. What the comments ask for becomes the task. Sets with
libraries under invented names keep tests that are written with the original ones: the test then imports the original
library, and gives the variables of the solution their original names.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.text.markup_escaping import fenced

_ORIGINALS: Final = {
    "monkey": "import numpy as np\nimport pandas as pd\n",
    "beatnum": "import pandas as pd\nfrom beatnum import _numpy as np\n",
}
"""Imports of the original libraries for tests of the invented ones (see `benchmarks/problems`)."""
_SETS: Final = ("pandas", "numpy", "torchdata")
"""Libraries after which sets are named, in lower case."""
_COMMENT = re.compile(r"^\s*#+(.*)$", re.MULTILINE)


def completion_problem(
    id: str,
    prompt: str,
    references: Sequence[str],
    test: str,
    *,
    is_function: bool,
    gold: tuple[tuple[str, ...], ...],
    problem_set: str,
    folder: Path,
) -> Problem:
    """Return the problem of completing the code, by means of the first of the references with all its imports.

    ValueError if the code or the test is not valid Python.
    """
    reference = min(references, key=lambda one: _undefined(prompt, one))  # the first of the best
    whole = prompt + reference
    module = _parse(whole, "its reference solution is not valid Python")
    start = _start_of_completion(module, whole, prompt)
    function = None
    if is_function:
        function = next((node for node in reversed(module.body) if isinstance(node, ast.FunctionDef)), None)
        if function is None:
            raise ValueError("it begins no function")
    libraries = _libraries(id, module)
    names = _names_of_results(test, module, libraries)
    docstring = (ast.get_docstring(function) or "") if function else ""
    comments = [found[1].strip() for found in _COMMENT.finditer(prompt)]
    request = _request_for_function(function, prompt) if function else _request(module, whole, start, prompt, names)
    originals = "".join(_ORIGINALS.get(library, "") for library in libraries)
    renamed = "".join(f"{one} = {other}\n" for one, other in names.items() if one != other)
    return Problem(
        id,
        "\n\n".join(filter(None, ("\n".join(filter(None, [docstring.strip(), *comments])), request))),
        libraries,
        (f"{originals}{renamed}{test.strip()}\n\ncheck({function.name if function else ''})\n",),
        setup=whole[:start].rstrip() + "\n",
        solution_name=function.name if function else None,
        solution=whole[start:].strip("\n") + "\n",
        gold_apis=gold,
        problem_set=problem_set,
        folder=folder,
    )


def _parse(code: str, fault: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        raise ValueError(fault) from None


def _undefined(prompt: str, reference: str) -> float:
    """Count the names in the completed code that it neither defines nor imports; infinite if it is not Python."""
    try:
        nodes = list(ast.walk(ast.parse(prompt + reference)))
    except (SyntaxError, ValueError):
        return float("inf")
    defined = set(dir(builtins))
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                defined.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                defined |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return len(names - defined)


def _start_of_completion(module: ast.Module, whole: str, prompt: str) -> int:
    """Return the place in the completed code where the statements to write start."""
    starts = [0, *accumulate(map(len, whole.splitlines(keepends=True)))]
    length = len(prompt.rstrip())
    written = (node for node in module.body if starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0) > length)
    first = next(written, None)
    if first is None:
        raise ValueError("its reference solution adds nothing")
    line: int = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    return starts[line - 1]


def _request_for_function(function: ast.FunctionDef, prompt: str) -> str:
    """Say which function to define, with the statements of its body that are given."""
    lines = prompt.rstrip().splitlines()
    given = [
        node
        for node in function.body[1 if ast.get_docstring(function) is not None else 0 :]
        # of a statement on the last line, such as `return`, only the beginning may be given
        if ((node.end_lineno or 0), (node.end_col_offset or 0)) <= (len(lines), len(lines[-1]))
    ]
    body = "\n".join(map(ast.unparse, given))
    begins = f"\nIts body begins with:\n{fenced(body, 'python')}" if body else ""
    return f"Define the function `{function.name}({ast.unparse(function.args)})`.{begins}"


def _request(module: ast.Module, whole: str, start: int, prompt: str, names: Mapping[str, str]) -> str:
    """Say which statement to complete, and which variables the test reads.

    These are the ones that the completed statements assign; if there are none, they change a value: all that it reads.
    """
    first = whole[:start].count("\n") + 1
    stored = {name for node in module.body if node.lineno >= first for name in _stored(node)}
    results = [name for name in names.values() if name in stored] or names.values()
    result = f"The result is read from {' and '.join(f'`{name}`' for name in results)}." if results else ""
    begun = _COMMENT.sub("", prompt[start:]).strip()
    return f"Complete the statement `{begun}`. {result}".strip() if begun else result


def _stored(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _libraries(id: str, module: ast.Module) -> tuple[str, ...]:
    """Return the library that the set is about, or all that are imported."""
    imported: dict[str, None] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            imported |= dict.fromkeys(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported[node.module.partition(".")[0]] = None
    if invented := [name for name in imported if name in _ORIGINALS]:
        return tuple(invented)
    named = [name for name in _SETS if id.lower().startswith(name)]
    found = named or [name for name in imported if name not in sys.stdlib_module_names]
    if not found:
        raise ValueError("it imports no library")
    return tuple(found)


def _names_of_results(test: str, module: ast.Module, libraries: Sequence[str]) -> Mapping[str, str]:
    """Map the variables that a test reads to those of the completed code: different ones if a library is renamed."""
    tree = _parse(test, "its test is not valid Python")
    own = _stored(tree)
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - own
    stored = _stored(module)
    same = {name: name for name in sorted(read & stored)}
    if not _ORIGINALS.keys() & set(libraries):
        return same
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    missing = read - stored - set(dir(builtins)) - {"np", "pd"} - functions
    return {**same, **_most_similar(missing, stored - read)}


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
