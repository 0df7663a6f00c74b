"""Verifies that a problem can be solved and that its tests measure something."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.units.solution_scoring import Score, score_solution

_LARGEST = 2_000_000
"""Maximum size in bytes of a file that is searched for tests."""
_SHORTEST = 40


async def verify_problem(problem: Problem, settings: Settings | None = None) -> str:
    """Return what is wrong with a problem as a sentence; empty if nothing is.

    Its reference solution must pass all tests, an empty one must fail at least one, and no file in its folder may
    contain a test or the reference solution, for strategies can read these files. Texts of fewer than 40 characters are
    not searched for, because they may occur by chance.
    """
    settings = settings or Settings()
    if problem.repository:
        return await _verify_in_repository(problem, settings)
    if not problem.tests:
        return "The problem has no tests."
    if found := _revealing_file(problem):
        return f"The file {found} reveals a test or the reference solution: strategies can read it."
    try:
        reference = await score_solution(problem, problem.solution or "", settings)
        empty = await score_solution(replace(problem, gold_apis=()), "pass", settings)
    except ExploraError as error:
        return str(error)
    if _passes(problem, empty):
        return "An empty solution passes all tests."
    if problem.solution is None:
        return "The problem has no reference solution."
    if _passes(problem, reference):
        return ""
    tests = reference.tests
    fault = tests.errors[0].headline if tests.errors else tests.failure
    return f"The reference solution passes {tests.passed} of {len(problem.tests)} tests; the first failure: {fault}."


async def _verify_in_repository(problem: Problem, settings: Settings) -> str:
    """Return what is wrong: the reference passes no test, or one that does nothing passes all."""
    from exploracoder_jupyter.repository.writing.definition_removal import removable_target  # needs the extra `repo`

    assert problem.repository
    try:
        target = removable_target(problem.folder, problem.repository.target)
        kind = "class" if target.present[0].kind == "class" else "def"
        empty = f"{kind} {target.last_name}{'' if kind == 'class' else '(*_)'}: ..."
        score = await score_solution(problem, empty if target.language == "python" else "", settings)
    except ExploraError as error:
        return str(error)
    if not score.total:
        return "The reference solution passes no test."
    return "An empty solution passes all tests." if score.tests.passed == score.total else ""


def _passes(problem: Problem, score: Score) -> bool:
    return score.tests.ran and score.tests.passed == len(problem.tests)


def _revealing_file(problem: Problem) -> str:
    """Return the relative path of a file in the problem's folder that contains a test or the solution; else empty."""
    texts = [text.strip() for text in (*problem.tests, problem.solution or "") if len(text.strip()) >= _SHORTEST]
    secrets = [form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])]
    for path in sorted(problem.folder.rglob("*")) if problem.folder != Path() else []:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            content = path.read_bytes()
            if any(secret in content for secret in secrets):
                return path.relative_to(problem.folder).as_posix()
    return ""
