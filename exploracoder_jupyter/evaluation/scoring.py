"""Scores a solution by hidden tests, by the APIs that it calls, or by a repository's tests."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import anyio

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import (
    BranchingChanged,
    ExploraError,
    KernelError,
    ReplyError,
    UsageError,
    unwrap_group,
)
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ErrorInfo, LibraryInfo, Observation, RepositoryTask, Task
from exploracoder_jupyter.evaluation.problems import Problem, hidden_test_code
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.pipeline.code_analysis import (
    attribute_chain,
    find_called_apis,
    find_called_names,
    import_aliases,
)
from exploracoder_jupyter.pipeline.context import accept_own_end
from exploracoder_jupyter.pipeline.ports import Branch, Knowledge
from exploracoder_jupyter.pipeline.solving.check_rewriting import rewrite_equality
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.insertion import insert
from exploracoder_jupyter.repository.target import copy_without_target, find_target, removable_target, removed_text
from exploracoder_jupyter.repository.testing import TestReport, run_tests_in_fork
from exploracoder_jupyter.runs.knowledge_factory import open_knowledge
from exploracoder_jupyter.runs.trace_check.re_execution import retry_on_branching_change, run_setup

# Which APIs of the libraries a solution uses: those that do not exist, and those that a problem is known to need.
#
# Names are resolved by importing them where the solution ran, so that an API that the index lacks does not count as
# missing. Attributes of objects are missing if running the solution raised an AttributeError for a class of the
# libraries.

_PROBE = """
def _explora_missing(paths, members, roots):
    import importlib, json, sys
    def exists(path):
        names = path.split(".")
        for end in range(len(names), 0, -1):
            try:
                value = importlib.import_module(".".join(names[:end]))
            except ModuleNotFoundError:
                continue
            except Exception:
                return True
            try:
                for name in names[end:]:
                    value = getattr(value, name)
            except AttributeError:
                return False
            except Exception:
                return True
            return True
        return False
    def owns(kind):
        modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in roots]
        return any(isinstance(vars(module).get(kind), type) for module in modules)
    found = [path for path in paths if not exists(path)]
    found += [f"{kind}.{name}" for kind, name in members if owns(kind)]
    print(json.dumps(found))
_explora_missing(
    PATHS, MEMBERS, ROOTS)
"""
_MEMBER = re.compile(r"^(?:type object )?'(\w+)' (?:object )?has no attribute '(\w+)'")
_COMMON_METHODS = frozenset(
    name for kind in (str, bytes, list, tuple, dict, set, int, float) for name in dir(kind) if name[0] != "_"
)
"""Methods of built-in types; a call of one on an unknown object is not counted as a call of a library."""


async def find_missing_apis(
    start: Branch, code: str, roots: Collection[str], *, setup: str = "", errors: Iterable[ErrorInfo], timeout: float
) -> tuple[str, ...]:
    """Return the names that the code accesses on the libraries and that do not exist there, in order of appearance.

    `start` is the state before the solution, and stays unchanged; `roots` are the import names of the libraries;
    imports of the `setup` are valid in the solution, whose exceptions are `errors`.
    """
    paths = _accessed_paths(code, setup, roots)
    members = [found.groups() for error in errors if (found := _MEMBER.match(error.message))]
    if not (paths or members):
        return ()
    [branch] = await start.fork(1)
    try:
        arguments = {"PATHS": paths, "MEMBERS": members, "ROOTS": sorted(roots)}
        probe = re.sub("PATHS|MEMBERS|ROOTS", lambda found: repr(arguments[found[0]]), _PROBE)
        observation = await branch.run(probe, timeout=timeout)
    finally:
        await branch.close()
    printed = "".join(str(output.get("text", "")) for output in observation.outputs)
    try:
        return tuple(json.loads(printed.strip().splitlines()[-1]))
    except (ValueError, IndexError):  # the probe did not run
        return ()


def measure_gold_apis(
    code: str, gold: Sequence[Sequence[str]], knowledge: Knowledge, *, setup: str = "", types: Mapping[str, str]
) -> tuple[float | None, float | None]:
    """Return recall and precision of the gold APIs among those of the libraries that the code calls.

    Either is `None` if it is undefined: without gold APIs, and precision also if no API of the libraries is called.
    Each gold API has several names of which one suffices: paths, or ends of paths. `types` has the variables of the
    solution with the paths of their types.
    """
    if not gold:
        return None, None
    wanted = [{known.path if (known := knowledge.lookup(name)) else name for name in names} for names in gold]
    called = _called(code, knowledge, setup, types)
    hits = [any(_is_same(api, name) for api in called for name in names) for names in wanted]
    right = [any(_is_same(api, name) for names in wanted for name in names) for api in called]
    return sum(hits) / len(hits), sum(right) / len(right) if right else None


def _called(code: str, knowledge: Knowledge, setup: str, types: Mapping[str, str]) -> list[str]:
    """Return the APIs called: paths, and of methods of objects of unknown type the names."""
    paths = find_called_apis(code, knowledge, types=types, before=(setup,))
    resolved = {path.rpartition(".")[2] for path in paths}
    methods = {api.name for api in knowledge.apis if api.kind == "method"} - resolved - _COMMON_METHODS
    return [*paths, *(name for name in find_called_names(code) if name in methods)]


def _is_same(called: str, wanted: str) -> bool:
    return called == wanted or called.endswith(f".{wanted}") or wanted.endswith(f".{called}")


def _accessed_paths(code: str, setup: str, roots: Collection[str]) -> list[str]:
    """Return the paths that the code imports from the libraries, or accesses through names of imports."""
    trees = [parse_python(text) for text in (setup, code)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    aliases = {name: path for tree in trees for name, path in import_aliases(tree).items() if name not in bound}
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    found: list[str] = []
    for node in ast.walk(trees[-1]):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*"]
        elif isinstance(node, ast.Attribute) and id(node) not in inner:  # `a.b.c`, and not also `a.b`
            chain = attribute_chain(node)
            if chain and chain[0] in aliases:
                found.append(".".join([aliases[chain[0]], *chain[1:]]))
    return [path for path in dict.fromkeys(found) if path.partition(".")[0] in roots]


# Runs the hidden tests of a problem on a solution.
#
# Each test runs in a fork of the state after the solution, guarded by `kernel_agent.guarded_tests`. Equality is
# decided as in the checks of users, so that an object that claims to equal everything equals nothing, and NaN
# equals NaN.

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


# Scores code for a repository in place of the reference, by the tests that pass with that (RRR, appendix E.2).

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


# Scores a solution in siblings opened for this alone, which have seen nothing of the run that wrote it.


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


# Verifies that a problem can be solved and that its tests measure something.

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
    from exploracoder_jupyter.repository.target import removable_target  # needs the extra `repo`

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
