"""Runs the hidden tests of a problem on a solution.

Each test runs in a fork of the state after the solution, guarded by `kernel_agent.guarded_tests`. Equality is decided
as in the checks of users, so that an object that claims to equal everything equals nothing, and NaN equals NaN.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from secrets import token_hex

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.evaluation.problems.problem import Problem, hidden_test_code
from exploracoder_jupyter.pipeline.branch_operations import accept_own_end
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.solving.user_check_equality_rewrite import rewrite_equality
from exploracoder_jupyter.runs.trace_check.re_execution import retry_on_branching_change

NO_SOLUTION = "no solution"
WRONG_RESULT = "wrong result"
TAMPERING = "tampering"

_PASSED = "TestPassed"
_INSPECTION = frozenset(
    ["_getframe", "currentframe", "f_back", "f_locals", "tb_frame", "gi_frame", "get_objects", "get_referrers"]
)
"""Names with which a program inspects frames or memory, which contain the tests while they run."""
_INSTALL = """
exec(
    {source!r},
    {{"__name__": {name!r}, "__builtins__": dict(vars(__import__("builtins"))), "NAMESPACE": globals()}},
)
"""


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What the hidden tests show about a solution."""

    __test__ = False  # no test case of pytest

    ran: bool = False
    """Whether the solution ran to its end."""
    passed: int = 0
    """Number of tests passed."""
    failure: str = ""
    """Kind of the first failure, as in `UnitResult.failure`; empty if all tests passed."""
    errors: tuple[ErrorInfo, ...] = ()
    """Exceptions of the solution and of the tests."""
    types: dict[str, str] = field(default_factory=dict)
    """Variables of the solution with the paths of their types."""


async def run_hidden_tests(start: Branch, problem: Problem, code: str, *, timeout: float) -> TestOutcome:
    """Run a solution and then each test, each for at most `timeout` seconds.

    `start` is the state after the problem's setup, and stays unchanged.
    """
    mentioned: set[str] = set()
    for node in ast.walk(parse_python(code)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
                mentioned.add(name)
    if _INSPECTION & mentioned:
        return TestOutcome(failure=TAMPERING)
    return await retry_on_branching_change(lambda: _run(start, problem, code, timeout))


async def _run(start: Branch, problem: Problem, code: str, timeout: float) -> TestOutcome:
    name, imported = f"_explora_{token_hex(8)}", set[str]()
    for node in (node for test in problem.tests for node in ast.walk(parse_python(test))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module)
    source = resources.files("exploracoder_jupyter.kernel_agent").joinpath("guarded_tests.py").read_text("utf-8")
    source += f"\ninstall(__name__, {sorted(imported)!r}, NAMESPACE)"
    [branch] = await start.fork(1)
    try:
        # saves what the tests need before the solution runs; binds no name
        await branch.run(_INSTALL.format(source=source, name=name), timeout=timeout)
        solved = accept_own_end(await branch.run(code, timeout=timeout))
        if not solved.ran:
            return TestOutcome(failure=_failure(solved), errors=(solved.error,) if solved.error else ())
        results = [await _run_test(branch, name, hidden_test_code(test, code), timeout) for test in problem.tests]
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()
    failed = [result for result in results if not result.ran]
    return TestOutcome(
        ran=True,
        passed=len(results) - len(failed),
        failure=_failure(failed[0]) if failed else "",
        errors=tuple(result.error for result in failed if result.error),
        types=dict(solved.names),
    )


async def _run_test(solved: Branch, name: str, test: str, timeout: float) -> Observation:
    """Run one test in a fork; the observation is `ok` only if the test proves that it ran to its end."""
    proof = token_hex(16)
    with suppress(SyntaxError, ValueError, RecursionError):
        test = rewrite_equality(test)
    try:
        [branch] = await solved.fork(1)
    except BranchingChanged:
        raise
    except KernelError:
        if (lost := await solved.run("", timeout=timeout)).status == "died":  # the solution ended its process
            return lost
        raise
    try:
        observation = await branch.run(f"import {name}\n{name}.run({test!r}, {proof!r})", timeout=timeout)
    finally:
        with anyio.CancelScope(shield=True):
            await branch.close()
    error = observation.error
    if error and (error.name, error.message) == (_PASSED, proof):
        return Observation("ok")
    return observation if error or not observation.ran else Observation("error", error=ErrorInfo(TAMPERING, ""))


def _failure(observation: Observation) -> str:
    """Name the kind of a failure: the status, or the name of the exception."""
    if observation.status != "error" or observation.error is None:
        return observation.status
    return WRONG_RESULT if observation.error.name == "AssertionError" else observation.error.name
