"""The rows of a problem file whose problems are definitions of repositories (RRR, section 3).

    {"id", "task", "repository", "target", "tests"?, "test_command"?}

`repository` is a folder, relative to the file, that contains the target: it is the reference solution, and is removed
from the copies that strategies work in. The tests that it passes are those that a solution has to pass.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from exploracoder_jupyter.core.types import RepositoryTask
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.problems.problem_rows import Filled, Names, set_name


class RepositoryRow(BaseModel):
    """One line of such a file."""

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
