"""A problem of an evaluation, and the rows in which users write it."""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from exploracoder_jupyter.core.types import RepositoryTask

# One problem of an evaluation.

SOLUTION_VARIABLE: Final = "__solution__"
"""Name under which a test can read the code of the solution. DS-1000 runs it again, on other inputs."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A task with hidden tests."""

    id: str
    """Unique within its set."""
    task: str
    libraries: tuple[str, ...]
    tests: tuple[str, ...]
    """Code that is run after the solution, each test in a copy of its state; a test passes if it raises nothing.
    `SOLUTION_VARIABLE` in a test stands for the code of the solution."""
    setup: str = ""
    """Code that is run before the solution and is not part of it, such as imports and data. Strategies know it, unless
    it makes live variables."""
    solution_name: str | None = None
    """Name of the function that the solution must define, if it must."""
    docs: tuple[str, ...] = ()
    """Files and folders with documentation; relative paths are relative to `folder`."""
    solution: str | None = None
    """Reference solution; strategies never see it."""
    gold_apis: tuple[tuple[str, ...], ...] = ()
    """The APIs that a solution needs, each as a tuple of names of which one suffices."""
    problem_set: str = ""
    """Name of the set it belongs to."""
    repository: RepositoryTask | None = None
    """Set if the solution is a definition of the repository in `folder`, which contains the reference; then the tests
    are those of the repository."""
    folder: Path = Path()
    """Working directory of the code, with data files and private libraries; `Path()` stands for an empty one."""
    live: tuple[str, ...] = ()
    """Variables that the setup makes as if they were in the user's kernel: strategies see what a user's run would see
    of them, and not the setup."""
    check: str | None = None
    """Check of the user (`--check`), which strategies know; the tests are hidden all the same."""


def hidden_test_code(test: str, solution: str) -> str:
    """Return the code of a test of `Problem.tests`, to be run in a copy of the state after the solution."""
    if SOLUTION_VARIABLE not in test:
        return test
    return f"{SOLUTION_VARIABLE} = {solution!r}\n{test}"


# The rows of a problem file in the form that users write: one JSON object per line.
#
#     {"id", "task", "libraries", "tests", "setup"?, "live"?, "check"?, "name"?, "docs"?, "solution"?,
#      "gold_apis"?}
#
# or, for a definition of a repository (RRR, section 3),
#
#     {"id", "task", "repository", "target", "tests"?, "test_command"?}
#
# where `repository` is a folder, relative to the file, that contains the target: it is the reference solution, and
# is removed from the copies that strategies work in. The tests that it passes are those that a solution has to
# pass. The forms of public sets are in `public_sets`.


def check_python(code: str) -> str:
    """Return the code; ValueError if it is not Python."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise ValueError(f"is not valid Python{line}; correct the code") from None
    return code


def _check_filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; fill it in or remove the line")
    return text


def _check_function_name(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("must be the name of a function, such as count_pairs")
    return name


def _check_variable_name(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("must have names of variables that the setup makes, such as sales")
    return name


def as_list(given: object) -> object:
    """Return a list of one string for a string, and anything else as it is."""
    return [given] if isinstance(given, str) else given


Filled = Annotated[str, AfterValidator(_check_filled)]
Code = Annotated[str, AfterValidator(check_python)]
FilledCode = Annotated[str, AfterValidator(_check_filled), AfterValidator(check_python)]
VariableName = Annotated[str, AfterValidator(_check_variable_name)]
Names = Annotated[tuple[Filled, ...], BeforeValidator(as_list)]


class ProblemRow(BaseModel):
    """One line of a problem file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    id: Filled
    task: Filled
    libraries: Annotated[Names, Field(min_length=1)]
    tests: Annotated[tuple[FilledCode, ...], BeforeValidator(as_list), Field(min_length=1)]
    setup: Code = ""
    live: Annotated[tuple[VariableName, ...], BeforeValidator(as_list)] = ()
    check: FilledCode | None = None
    name: Annotated[str, AfterValidator(_check_function_name)] | None = None
    docs: Names = ()
    solution: Code | None = None
    gold_apis: tuple[Names, ...] = ()

    def problem(self, path: Path) -> Problem:
        """Return the problem; `path` is the file that it was read from."""
        folder = working_folder(path)
        return Problem(
            self.id,
            self.task,
            self.libraries,
            self.tests,
            setup=self.setup,
            live=self.live,
            check=self.check,
            solution_name=self.name,
            docs=self.docs if folder != Path() else tuple(str(path.parent.resolve() / doc) for doc in self.docs),
            solution=self.solution,
            gold_apis=self.gold_apis,
            problem_set=set_name(path),
            folder=folder,
        )


class RepositoryRow(BaseModel):
    """One line for a definition of a repository."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Filled
    task: Filled
    repository: Filled
    target: Filled
    tests: Names = ()
    test_command: str = ""

    def problem(self, path: Path) -> Problem:
        """Return the problem; `path` is the file that it was read from."""
        return Problem(
            self.id,
            self.task,
            (),
            (),
            problem_set=set_name(path),
            folder=(path.parent / self.repository).resolve(),
            repository=RepositoryTask(self.target, self.tests, self.test_command),
        )


def working_folder(path: Path) -> Path:
    """Return the working directory of the problems in a file: the folder of its name beside it.

    That is `own` for `own.jsonl`. It does not contain the file, because strategies can read what is in it. `Path()` if
    there is no such folder.
    """
    folder = path.with_name(set_name(path))
    return folder.resolve() if folder.is_dir() else Path()


def set_name(path: Path) -> str:
    """Return the name of the set in a file: its name without endings, e.g. `PandasEval` for `PandasEval.jsonl.gz`."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
