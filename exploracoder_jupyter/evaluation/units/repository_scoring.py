"""Scores code for a repository in place of the reference, by the tests that pass with that (RRR, appendix E.2)."""

from __future__ import annotations

import os
import shutil
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import ReplyError, UsageError, unwrap_group
from exploracoder_jupyter.core.types import RepositoryTask
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.units.hidden_tests import NO_SOLUTION, WRONG_RESULT, TestOutcome
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
from exploracoder_jupyter.repository.testing.branch_test_request import run_tests_in_fork
from exploracoder_jupyter.repository.writing.definition_removal import (
    copy_without_target,
    removable_target,
    removed_text,
)
from exploracoder_jupyter.repository.writing.insertion import insert
from exploracoder_jupyter.repository.writing.target import find_target
from exploracoder_jupyter.runs.trace_check.re_execution import retry_on_branching_change

NOT_INSERTED = "not inserted"


def prepare_repository(problem: Problem, folder: Path) -> Path:
    """Return a copy of the problem's repository without the target, made below the folder unless it is there.

    Raises:
        UsageError: the repository has no such target.
        OSError: it cannot be copied.
    """
    assert problem.repository
    place = folder / f"{problem.problem_set or 'problem'}-{problem.id}"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{token_hex(6)}"
        copy_without_target(problem.folder, problem.repository.target, temporary)
        try:
            temporary.rename(place)
        except OSError:  # another worker has made it meanwhile
            shutil.rmtree(temporary)
    return place


async def score_in_repository(problem: Problem, code: str, settings: Settings) -> tuple[TestOutcome, int]:
    """Return the outcome of the tests on a solution, and how many tests there are: those that the reference passes.

    Args:
        problem: names the repository, the target and the tests.
        code: the solution; empty if there is none.
        settings: limits of the siblings; `exploration.timeout` limits the tests.

    Raises:
        UsageError: the repository has no such target.
        KernelError: no kernel could be started.
    """
    task = problem.repository
    assert task
    try:
        path, text = _with_solution(problem.folder, task, code)
        failure = "" if code.strip() else NO_SOLUTION
    except ReplyError:
        path, text, failure = "", "", NOT_INSERTED
    async with AsyncExitStack() as stack:
        try:
            siblings = await stack.enter_async_context(open_siblings(settings.sandbox, workdir=problem.folder))
            root, seconds = await siblings.root(), settings.exploration.timeout
            reference = await retry_on_branching_change(lambda: run_tests_in_fork(root, task, {}, seconds=seconds))
            if failure:
                return TestOutcome(failure=failure), len(reference.passed)
            found = await retry_on_branching_change(
                lambda: run_tests_in_fork(root, task, {path: text}, seconds=seconds)
            )
        except Exception as error:
            raise unwrap_group(error) from None
    passed = len(found.passed & reference.passed)
    whole = 0 < passed == len(reference.passed)
    return TestOutcome(ran=bool(found.results), passed=passed, failure="" if whole else WRONG_RESULT), len(
        reference.passed
    )


async def check_tests_run(problem: Problem, settings: Settings) -> None:
    """Run the tests of a problem on its reference solution.

    Raises:
        UsageError: none of them passes.
        KernelError: no kernel could be started.
    """
    task = problem.repository
    assert task
    try:
        async with open_siblings(settings.sandbox, workdir=problem.folder) as siblings:
            root = await siblings.root()
            seconds = settings.exploration.timeout
            report = await retry_on_branching_change(lambda: run_tests_in_fork(root, task, {}, seconds=seconds))
    except Exception as error:
        raise unwrap_group(error) from None
    if not report.passed:
        raise UsageError(
            f"No test of problem {problem.id!r} passes with its reference solution: {report.counts}.",
            remedy="Install what the tests need, or correct `tests` or `test_command` of the problem.",
        )


def _with_solution(root: Path, task: RepositoryTask, code: str) -> tuple[str, str]:
    """Return path and text of the target's file, with the code inserted as a strategy inserts it."""
    reference = removable_target(root, task.target)
    if not code.strip():
        return reference.path, ""
    index = RepositoryIndex(root, (), os.devnull).replaced(reference.path, removed_text(reference))
    target = find_target(index, task.target)
    return reference.path, insert(index, target, code)
