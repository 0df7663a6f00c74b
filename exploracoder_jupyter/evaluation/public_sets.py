"""Public problem sets, recognized by their form."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from shlex import quote
from typing import Annotated, Final

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from exploracoder_jupyter.core.types import RepositoryTask
from exploracoder_jupyter.evaluation.problems import (
    SOLUTION_VARIABLE,
    Filled,
    Problem,
    as_list,
    check_python,
    set_name,
    working_folder,
)
from exploracoder_jupyter.text.characters import fenced

# Problems that ask to complete code: a function from its beginning, or the last statement of a script.
#
# The code before the statement to complete becomes the setup. What the comments ask for becomes the task. Sets with
# libraries under invented names keep tests that are written with the original ones: the test then imports the
# original library, and gives the variables of the solution their original names.

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
    request = _request_for_function(function, prompt) if function else _to_complete(module, whole, start, prompt, names)
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


def _to_complete(module: ast.Module, whole: str, start: int, prompt: str, names: Mapping[str, str]) -> str:
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


# Problems of DS-1000 in its simplified form (github.com/xlang-ai/DS-1000).
#
# `prompt` ends in one of three ways: code in `<code>` followed by `NAME = ... # put solution in this variable`; the
# beginning of a function whose body is to be written; or, for Matplotlib, only code with comments. `code_context`
# defines `test_execution(solution)`, and for some problems `test_string(solution)`, which take the text of the
# solution and insert it in a program of their own.

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
        f"{words}\n\n{_insertion_request(rest, header)}".strip(),
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


def _insertion_request(rest: str, header: str) -> str:
    """Say which variable or function to define."""
    if header:
        return f"Define the function `{header.removeprefix('def ').rstrip(' :')}`; it returns the result."
    if found := _VARIABLE.search(rest):
        return f"Store the result in `{found[1]}`."
    if quoted := _QUOTED.search(rest):
        return f"Store the result in {quoted[1].strip(' ,')}."
    return ""


# The forms in which public problem sets are published, recognized by their fields.
#
# - PandasEval, NumpyEval (CERT, 2022), TorchDataEval, MonkeyEval, BeatNumEval (APICoder, 2022): `task_id`, `prompt`,
#   `entry_point`, `canonical_solution`, `test`.
# - The same sets with other names of fields: `id`, `starter`, `entry_point`, `canonical_all`, `tests`, `needed_docs`
#   and `runs_here`, which is false where the reference solution fails with current libraries.
# - DS-1000 (2022) in its simplified form of 2024: `prompt`, `reference_code`, `code_context`, `metadata`.
# - RepoClassBench (2024), Python and Java: `file`, `class_name`, two descriptions, `evaluation_metadata`. The user
#   brings
#   the repositories as well.

_NO_ENTRY_POINT = "none"

References = Annotated[tuple[str, ...], BeforeValidator(as_list), Field(min_length=1)]
"""Reference solutions of which one is enough."""


class UnusableRow(Exception):
    """A problem of a public set that cannot be used; the message names it and the reason."""


class CompletionRow(BaseModel):
    """PandasEval and its relatives; `needed_docs` and `runs_here` are known only with the other names of fields."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: Filled = Field(validation_alias=AliasChoices("task_id", "id"))
    prompt: Filled = Field(validation_alias=AliasChoices("prompt", "starter"))
    entry_point: str = _NO_ENTRY_POINT
    canonical_solution: References = Field(validation_alias=AliasChoices("canonical_solution", "canonical_all"))
    test: Filled = Field(validation_alias=AliasChoices("test", "tests"))
    needed_docs: tuple[str, ...] = ()
    runs_here: bool = True

    def problem(self, path: Path) -> Problem:
        """Return the problem; `path` is the file that it was read from. UnusableRow if it has none that can be used."""
        if not self.runs_here:
            raise UnusableRow(f"{self.task_id} (its reference solution fails)")
        try:
            return completion_problem(
                self.task_id,
                self.prompt,
                self.canonical_solution,
                self.test,
                is_function=self.entry_point != _NO_ENTRY_POINT,
                gold=tuple((entry.partition("(")[0].strip(),) for entry in self.needed_docs),
                problem_set=set_name(path),
                folder=working_folder(path),
            )
        except ValueError as error:
            raise UnusableRow(f"{self.task_id} ({error})") from None


class DataScienceMetadata(BaseModel):
    """The field `metadata` of DS-1000."""

    problem_id: int
    library: Filled


class DataScienceRow(BaseModel):
    """DS-1000 in its simplified form."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    prompt: Filled
    reference_code: str
    code_context: Filled
    metadata: DataScienceMetadata

    def problem(self, path: Path) -> Problem:
        """See `CompletionRow`."""
        id, library = f"{self.metadata.library}/{self.metadata.problem_id}", self.metadata.library
        try:
            return ds1000_problem(
                id,
                self.prompt,
                self.reference_code,
                self.code_context,
                library,
                problem_set=set_name(path),
                folder=working_folder(path),
            )
        except ValueError as error:
            raise UnusableRow(f"{id} ({error})") from None


class ClassTests(BaseModel):
    """The field `evaluation_metadata` of RepoClassBench: test ids in Python, the name of a class in Java."""

    test_directives: tuple[Filled, ...] = ()
    test_class_name: str = ""


class ClassRepository(BaseModel):
    """The field `repo_metadata` of RepoClassBench."""

    issue_id: str = ""


class ClassRow(BaseModel):
    """RepoClassBench; `file` begins with the folder of the repository, or is a path on its authors' machine."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: Annotated[Filled, BeforeValidator(str)]
    file: Filled
    class_name: Filled
    detailed_description: Filled
    sketchy_description: Filled
    ground_truth_class_body: str = ""
    repo_metadata: ClassRepository = ClassRepository()
    evaluation_metadata: ClassTests

    def problems(self, path: Path) -> list[Problem]:
        """Return the problem with the detailed description and that with the sketchy one.

        The repositories are in the folder of the file's name, or beside the file. UnusableRow if this one is not there,
        is another version, or is in a language that is not supported.
        """
        if Path(self.file).suffix not in _LANGUAGES:
            raise UnusableRow(f"{self.task_id} (its language is not supported)")
        above = working_folder(path) if working_folder(path) != Path() else path.parent.resolve()
        name, rest = self._split_path()
        folder = above / name
        try:
            present = (folder / rest).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            raise UnusableRow(f"{self.task_id} ({folder / rest} does not exist)") from None
        if self.ground_truth_class_body.replace("\r\n", "\n").strip() not in present:
            raise UnusableRow(f"{self.task_id} (the reference is not in {folder / rest})")
        tests = self.evaluation_metadata.test_directives
        # the set has a part of some names in Java, where the file has the name of its class
        target = f"{rest}::{Path(rest).stem if rest.endswith('.java') else self.class_name}"
        task = RepositoryTask(target, tests, self._command(folder, Path(rest)))
        texts = {"detailed": self.detailed_description, "sketchy": self.sketchy_description}
        return [
            Problem(f"{self.task_id}/{kind}", text, (), (), problem_set=set_name(path), folder=folder, repository=task)
            for kind, text in texts.items()
        ]

    def _split_path(self) -> tuple[str, str]:
        """Return the folder of the repository, which has the name of the issue if there is one, and the path in it."""
        issue = self.repo_metadata.issue_id
        if not issue or self.file.startswith(f"{issue}/"):
            name, _, rest = self.file.partition("/")
            return name, rest
        project = issue.partition("__")[2].rpartition("-")[0]
        return issue, self.file.partition(f"/{project}/")[2]

    def _command(self, folder: Path, file: Path) -> str:
        """Return the command for a test class of Java, in the outermost module of Maven around the file."""
        if file.suffix != ".java":
            return ""
        modules = [module for module in reversed(file.parents) if (folder / module / "pom.xml").is_file()]
        goal = f"mvn -q test -Dtest={quote(self.evaluation_metadata.test_class_name)}"
        quiet = "-DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false"
        return f"cd {quote((modules or [Path()])[0].as_posix())} && {goal} {quiet}"


PublicRow = CompletionRow | DataScienceRow | ClassRow
_LANGUAGES = (".py", ".java")
_FORMS: Mapping[frozenset[str], type[PublicRow]] = {
    frozenset({"task_id", "prompt", "canonical_solution", "test"}): CompletionRow,
    frozenset({"id", "starter", "canonical_all", "tests"}): CompletionRow,
    frozenset({"prompt", "reference_code", "code_context", "metadata"}): DataScienceRow,
    frozenset({"file", "class_name", "detailed_description", "evaluation_metadata"}): ClassRow,
}


def find_form(fields: Mapping[str, object]) -> type[PublicRow] | None:
    """Return the form of a row with these fields, if it is that of a public set."""
    return next((form for needed, form in _FORMS.items() if needed <= fields.keys()), None)
