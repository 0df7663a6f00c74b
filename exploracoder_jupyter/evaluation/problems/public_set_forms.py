"""The forms in which public problem sets are published, recognized by their fields.

- PandasEval, NumpyEval (CERT, 2022), TorchDataEval, MonkeyEval, BeatNumEval (APICoder, 2022): `task_id`, `prompt`,
  `entry_point`, `canonical_solution`, `test`.
- The same sets with other names of fields: `id`, `starter`, `entry_point`, `canonical_all`, `tests`, `needed_docs`
  and `runs_here`, which is false where the reference solution fails with current libraries.
- DS-1000 (2022) in its simplified form of 2024: `prompt`, `reference_code`, `code_context`, `metadata`.
- RepoClassBench (2024), Python and Java: `file`, `class_name`, two descriptions, `evaluation_metadata`. The user brings
  the repositories as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from exploracoder_jupyter.core.types import RepositoryTask
from exploracoder_jupyter.evaluation.problems.code_completion import completion_problem
from exploracoder_jupyter.evaluation.problems.ds1000 import ds1000_problem
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.problems.problem_rows import Filled, as_list, set_name, working_folder

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
