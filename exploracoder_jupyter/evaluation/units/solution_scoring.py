"""Scores a solution in siblings opened for this alone, which have seen nothing of the run that wrote it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Secrets
from exploracoder_jupyter.core.errors import unwrap_group
from exploracoder_jupyter.core.types import LibraryInfo, Task
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.units.api_usage import find_missing_apis, measure_gold_apis
from exploracoder_jupyter.evaluation.units.hidden_tests import NO_SOLUTION, TestOutcome, run_hidden_tests
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.runs.construction.knowledge_factory import open_knowledge
from exploracoder_jupyter.runs.trace_check.re_execution import retry_on_branching_change
from exploracoder_jupyter.runs.trace_check.starting_state import run_setup


@dataclass(frozen=True, slots=True)
class Score:
    """What the tests and the libraries show about a solution."""

    tests: TestOutcome
    total: int
    """How many tests there are."""
    missing_apis: tuple[str, ...] = ()
    recall: float | None = None
    precision: float | None = None


def task_of(problem: Problem) -> Task:
    """Return the task of the problem, which contains neither its tests nor its reference solution."""
    return Task(
        problem.task,
        problem.libraries,
        problem.live,
        problem.check,
        solution_name=problem.solution_name,
        setup="" if problem.live else problem.setup,
        repository=problem.repository,
    )


async def score_solution(
    problem: Problem, code: str, settings: Settings, *, libraries: tuple[LibraryInfo, ...] = ()
) -> Score:
    """Run the hidden tests on a solution, which is empty if there is none, and determine which APIs it uses.

    `exploration.timeout` limits the solution and each test. `libraries` are those of the problem as installed, which
    names their modules; by default, what the problem says.
    """
    if problem.repository:
        from exploracoder_jupyter.evaluation.units.repository_scoring import score_in_repository  # the extra `repo`

        return Score(*await score_in_repository(problem, code, settings))
    total = len(problem.tests)
    if not code.strip():
        return Score(TestOutcome(failure=NO_SOLUTION), total)
    async with AsyncExitStack() as stack:
        try:
            folder = problem.folder if problem.folder != Path() else Path(stack.enter_context(TemporaryDirectory()))
            siblings = await stack.enter_async_context(open_siblings(settings.sandbox, workdir=folder))
            root, task = await siblings.root(), replace(task_of(problem), setup=problem.setup)
            start = await retry_on_branching_change(lambda: run_setup(root, task))
            tests = await run_hidden_tests(start, problem, code, timeout=settings.exploration.timeout)
            roots = {info.name for info in libraries} or {*problem.libraries}
            missing = await retry_on_branching_change(
                lambda: find_missing_apis(
                    start, code, roots, setup=problem.setup, errors=tests.errors, timeout=settings.exploration.timeout
                )
            )
            if not problem.gold_apis:
                return Score(tests, total, missing)
            knowledge = await open_knowledge(
                problem.libraries,
                settings,
                Secrets(),
                inspect=siblings.inspect,
                advance=lambda what, done, total: None,
                emit=lambda event: None,
                stack=stack,
                folder=problem.folder,
                store_introductions=False,
            )
        except Exception as error:
            raise unwrap_group(error) from None
        gold = measure_gold_apis(code, problem.gold_apis, knowledge, setup=problem.setup, types=tests.types)
        return Score(tests, total, missing, *gold)
