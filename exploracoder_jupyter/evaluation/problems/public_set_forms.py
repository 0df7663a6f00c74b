"""The forms in which public problem sets are published, recognized by their fields.

- PandasEval, NumpyEval (CERT, 2022), TorchDataEval, MonkeyEval, BeatNumEval (APICoder, 2022): `task_id`, `prompt`,
  `entry_point`, `canonical_solution`, `test`.
- The same sets with other names of fields: `id`, `starter`, `entry_point`, `canonical_all`, `tests`, `needed_docs`
  and `runs_here`, which is false where the reference solution fails with current libraries.
- DS-1000 (2022) in its simplified form of 2024: `prompt`, `reference_code`, `code_context`, `metadata`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from exploracoder_jupyter.evaluation.problems.code_completion import Completion
from exploracoder_jupyter.evaluation.problems.ds1000 import DataScienceQuestion
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.problems.problem_rows import Filled, as_list, set_name, working_folder

_NO_ENTRY_POINT = "none"

References = Annotated[tuple[str, ...], BeforeValidator(as_list), Field(min_length=1)]
"""Reference solutions of which one is enough."""


class UnusableRow(Exception):
    """A problem of a public set that cannot be used; the message names it and the reason."""


class PublicRow(BaseModel):
    """One line of a public set. Fields that are not needed are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    def problem(self, path: Path) -> Problem:
        """Return the problem; `path` is the file that it was read from.

        Raises:
            UnusableRow: the set's own code or tests are not valid Python, or the reference solution is known to fail.
        """
        raise NotImplementedError


class CompletionRow(PublicRow):
    """PandasEval and its relatives, as published."""

    task_id: Filled
    prompt: Filled
    entry_point: str = _NO_ENTRY_POINT
    canonical_solution: References
    test: Filled

    def problem(self, path: Path) -> Problem:
        """See `PublicRow`."""
        is_function = self.entry_point != _NO_ENTRY_POINT
        return _completed(path, self.task_id, self.prompt, self.canonical_solution, self.test, is_function)


class RenamedFieldsRow(PublicRow):
    """The same sets with other names of fields."""

    id: Filled
    starter: Filled
    entry_point: str = _NO_ENTRY_POINT
    canonical_all: References
    tests: Filled
    needed_docs: tuple[str, ...] = ()
    runs_here: bool = True

    def problem(self, path: Path) -> Problem:
        """See `PublicRow`."""
        if not self.runs_here:
            raise UnusableRow(f"{self.id} (its reference solution fails)")
        is_function = self.entry_point != _NO_ENTRY_POINT
        gold = tuple((entry.partition("(")[0].strip(),) for entry in self.needed_docs)
        return _completed(path, self.id, self.starter, self.canonical_all, self.tests, is_function, gold)


class DataScienceMetadata(BaseModel):
    """The field `metadata` of DS-1000."""

    problem_id: int
    library: Filled


class DataScienceRow(PublicRow):
    """DS-1000 in its simplified form."""

    prompt: Filled
    reference_code: str
    code_context: Filled
    metadata: DataScienceMetadata

    def problem(self, path: Path) -> Problem:
        """See `PublicRow`."""
        id = f"{self.metadata.library}/{self.metadata.problem_id}"
        try:
            question = DataScienceQuestion.parse(self.prompt, self.code_context, self.metadata.library)
        except ValueError as error:
            raise UnusableRow(f"{id} ({error})") from None
        return question.problem(id, self.reference_code, problem_set=set_name(path), folder=working_folder(path))


_FORMS: Mapping[frozenset[str], type[PublicRow]] = {
    frozenset({"task_id", "prompt", "canonical_solution", "test"}): CompletionRow,
    frozenset({"id", "starter", "canonical_all", "tests"}): RenamedFieldsRow,
    frozenset({"prompt", "reference_code", "code_context", "metadata"}): DataScienceRow,
}


def find_form(fields: Mapping[str, object]) -> type[PublicRow] | None:
    """Return the form of a row with these fields, if it is that of a public set."""
    return next((form for needed, form in _FORMS.items() if needed <= fields.keys()), None)


def _completed(
    path: Path,
    id: str,
    prompt: str,
    references: tuple[str, ...],
    test: str,
    is_function: bool,
    gold: tuple[tuple[str, ...], ...] = (),
) -> Problem:
    try:
        completion = Completion.parse(id, prompt, references, test, is_function=is_function)
    except ValueError as error:
        raise UnusableRow(f"{id} ({error})") from None
    return completion.problem(id, gold, problem_set=set_name(path), folder=working_folder(path))
