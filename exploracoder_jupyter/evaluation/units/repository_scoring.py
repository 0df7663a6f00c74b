"""Scores code for a repository in place of the reference, by the tests that pass with that (RRR, appendix E.2)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from secrets import token_hex

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import ReplyError, UsageError, unwrap_group
from exploracoder_jupyter.core.types import RepositoryTask
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.units.hidden_tests import NO_SOLUTION, WRONG_RESULT, TestOutcome
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.repository.reading.repository_index import RepositoryIndex
from exploracoder_jupyter.repository.testing.testing_report import TestReport
from exploracoder_jupyter.repository.testing.tests_in_branch import run_tests_in_fork
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
    """Return a copy of the problem's repository without the target, made below the folder unless it is there."""
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
    """Return the outcome of the tests on a solution, which is empty if there is none, and the number of tests.

    These are the tests that the reference passes. `exploration.timeout` limits each.
    """
    task = problem.repository
    assert task
    try:
        path, text = _with_solution(problem.folder, task, code)
        failure = "" if code.strip() else NO_SOLUTION
    except ReplyError:
        path, text, failure = "", "", NOT_INSERTED
    reports = await _run_tests(problem, settings, {}, *([] if failure else [{path: text}]))
    wanted = reports[0].passed
    if failure:
        return TestOutcome(failure=failure), len(wanted)
    passed = len(reports[1].passed & wanted)
    failure = "" if 0 < passed == len(wanted) else WRONG_RESULT
    return TestOutcome(ran=bool(reports[1].results), passed=passed, failure=failure), len(wanted)


async def check_tests_run(problem: Problem, settings: Settings) -> None:
    """Run the tests of a problem on its reference solution; UsageError if none of them passes."""
    [report] = await _run_tests(problem, settings, {})
    if not report.passed:
        raise UsageError(
            f"No test of problem {problem.id!r} passes with its reference solution: {report.counts}.",
            remedy="Install what the tests need, or correct `tests` or `test_command` of the problem.",
        )


async def _run_tests(problem: Problem, settings: Settings, *changes: Mapping[str, str]) -> list[TestReport]:
    """Run the tests with each of these texts of files in the repository."""
    task, each, reports = problem.repository, settings.exploration.timeout, list[TestReport]()
    assert task
    try:
        async with open_siblings(settings.sandbox, workdir=problem.folder) as siblings:
            root = await siblings.root()
            for files in changes:
                before = reports[0].duration if reports else None
                run = partial(run_tests_in_fork, root, task, files, each=each, before=before)
                reports.append(await retry_on_branching_change(run))
    except Exception as error:
        raise unwrap_group(error) from None
    return reports


def _with_solution(root: Path, task: RepositoryTask, code: str) -> tuple[str, str]:
    """Return path and text of the target's file, with the code inserted as a strategy inserts it."""
    reference = removable_target(root, task.target)
    if not code.strip():
        return reference.path, ""
    index = RepositoryIndex(root, (), os.devnull).replaced(reference.path, removed_text(reference))
    target = find_target(index, task.target)
    return reference.path, insert(index, target, code)
