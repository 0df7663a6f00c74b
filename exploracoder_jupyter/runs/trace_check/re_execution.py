"""Executes recorded code again, each piece in a fork of the state that it started from."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged, KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED
from exploracoder_jupyter.core.types import Observation, Task
from exploracoder_jupyter.pipeline.concurrency import task_group
from exploracoder_jupyter.pipeline.context import MOST_CHANGES, accept_own_end, close_branches
from exploracoder_jupyter.pipeline.exploring.selection import refuse_invented
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.solving.program_execution import run_on_input, run_with_check
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.runs.trace_check.checked_trace import Subject
from exploracoder_jupyter.trace.comparison import map_strings
from exploracoder_jupyter.trace.paths import FOLDER
from exploracoder_jupyter.trace.reading import Execution, parse_versions, providing_distributions, unconditional_imports

# Makes paths below the working directory relative, because it may differ when a trace is executed again.
#
# Not every trace records the working directory of its run. So paths found below the current one are searched in the
# record below any folder.

_HOME = re.compile(r"(?:(?<![\w.~/)}\\-])|(?<=\\[abfnrtv])|(?<=file://)|(?<=:///))~(?=/)")
"""A redacted home folder, `~/`: in code, these characters occur only in strings, comments and shell commands."""
_END = r"[^\s'\"<>:;,()\[\]{}|*?\\]"


def workdir_of(trace: Path, named: Path | None = None) -> Path:
    """Return the folder with a run's files.

    This is the one that is named, else the folder of the trace, or its parent if it is the folder for traces.

    Raises:
        UsageError: the folder does not exist.
    """
    beside = trace.resolve().parent
    folder = (named or (beside.parent if beside.name == FOLDER else beside)).resolve()
    if not folder.is_dir():
        raise UsageError(f"There is no folder {str(named or folder)!r}.", remedy="Name one with --workdir.")
    return folder


def expand_home(code: str) -> str:
    """Replace redacted home folders in code by the current user's home folder."""
    return _HOME.sub(lambda _: Path.home().as_posix(), code)


def is_redacted(code: str) -> bool:
    """Whether the code contains a redacted home folder or key, so that it differs from the code that was executed."""
    return REDACTED in code or _HOME.search(code) is not None


def relative_paths(observations: Iterable[Observation], folder: str) -> frozenset[str]:
    """Return the paths below the folder that these observations contain, relative to it."""
    below = re.compile(rf"{re.escape(folder)}/({_END}+)")
    found: list[str] = []

    def collect(text: str) -> str:
        found.extend(below.findall(text))
        return text

    for one in observations:
        _map_texts(one, collect)
    return frozenset(found)


def make_relative(observation: Observation, folder: str, *, itself: bool = True) -> Observation:
    """Make paths below the folder relative; replace the folder itself by `.` unless `itself` is false."""
    if not folder:
        return observation
    inner, whole = re.compile(rf"{re.escape(folder)}/(?={_END})"), re.compile(rf"{re.escape(folder)}(?![\w.-])")
    return _map_texts(observation, lambda text: whole.sub("." if itself else r"\g<0>", inner.sub("", text)))


def make_known_relative(observation: Observation, found: frozenset[str]) -> Observation:
    """Make these paths relative, whatever folder they are in."""
    if not found:
        return observation
    longest = sorted(found, key=len, reverse=True)
    anywhere = re.compile(rf"(?<![\w/~])[~/](?:{_END}*/)?({'|'.join(map(re.escape, longest))})(?!{_END})")
    return _map_texts(observation, lambda text: anywhere.sub(r"\1", text))


def _map_texts(observation: Observation, change: Callable[[str], str]) -> Observation:
    error = observation.error
    new_error = replace(error, message=change(error.message)) if error else None
    outputs = tuple({key: map_strings(value, change) for key, value in one.items()} for one in observation.outputs)
    return replace(observation, outputs=outputs, error=new_error)


# Restores the starting state for re-execution: the user's code before the run, and what the run requires.

_TIMEOUT = 600.0
"""Time limit in seconds for one of the user's cells, which may take long."""
_PROBE_CODE = """
def _look(modules, names):
    import importlib.util, json
    def is_there(name):
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError, AttributeError):
            return False
    lost = [name for name in names if name not in globals()]
    print(json.dumps([[name for name in modules if not is_there(name)], lost]))
_look({modules}, {names})
"""
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
_ENVIRONMENT_REMEDY = "Build the recorded environment with --env, or use another one with --kernel."
_BEFORE_REMEDY = "Define them in a .py or .ipynb and pass it with --before FILE."


class MissingVariables(UsageError):
    """Variables that the run used are missing."""


async def run_code_before(root: Branch, code: Sequence[str]) -> Branch:
    """Run this code in a branch of the root, piece by piece, and return the branch; without code return the root.

    Raises:
        MissingRequirement: a piece fails because a library is missing.
        UsageError: a piece fails for another reason.
    """
    if not code:
        return root
    [branch] = await root.fork(1)
    for piece in code:
        observation = await branch.run(piece, timeout=_TIMEOUT)
        if not observation.ran:
            message = f"The code that was run before the exploration fails now: {_failure_cause(observation)}."
            if observation.error and observation.error.name == "ModuleNotFoundError":
                raise MissingRequirement(message, remedy=_ENVIRONMENT_REMEDY)
            raise UsageError(message, remedy="Fix it, or name a file with other code to run first with --before.")
    return branch


async def run_setup(root: Branch, task: Task) -> Branch:
    """Run the setup of a task in a branch of the root, and return the branch; without a setup return the root.

    Raises:
        UsageError: it fails.
    """
    if not task.setup.strip():
        return root
    [branch] = await root.fork(1)
    observation = await branch.run(task.setup, timeout=_TIMEOUT)
    if not observation.ran:
        await branch.close()
        raise UsageError(f"The setup fails: {_failure_cause(observation)}.", remedy="Correct the code of --setup.")
    return branch


def _failure_cause(observation: Observation) -> str:
    error = observation.error
    return (error.headline if error else observation.note or observation.status).rstrip(".")


async def require_state(base: Branch, subject: Subject, chosen: Sequence[Execution] = ()) -> None:
    """Check that the task's libraries, other recorded packages that the code imports, and the run's variables exist.

    Raises:
        MissingRequirement: a library is not installed.
        MissingVariables: a variable is missing.
    """
    versions = parse_versions(subject.started.environment.packages)
    imported = {module for one in chosen if one.observation.ran for module in unconditional_imports(one.code)}
    # other modules may be files of the code itself
    packaged = sorted(module for module in imported if providing_distributions(module, versions))
    modules = [*dict.fromkeys([*(info.name for info in subject.libraries), *packaged])]
    names = [name for name in subject.started.task.uses if name.isidentifier()]
    if not (modules or names):
        return
    [branch] = await base.fork(1)
    try:
        observation = await branch.run(_PROBE_CODE.format(modules=modules, names=names), timeout=_TIMEOUT)
    finally:
        await branch.close()
    text = "".join(str(output.get("text", "")) for output in observation.outputs)
    absent: list[str] = []
    lost: list[str] = []
    with suppress(ValueError, IndexError):  # the probe failed: missing names will show in the executions
        absent, lost = json.loads(text.strip().splitlines()[-1])
    unpackaged = {info.name for info in subject.libraries if not info.version}  # they were files of the run
    if local := [name for name in absent if name in unpackaged]:
        remedy = "Name the folder that has it with --workdir."
        raise MissingRequirement(f"Not found: {', '.join(local)}.", remedy=remedy)
    if absent:
        raise MissingRequirement(f"Not installed here: {', '.join(absent)}.", remedy=_ENVIRONMENT_REMEDY)
    if lost:
        raise _missing_variables(lost)


def require_names(subject: Subject, again: Mapping[str, Observation], chosen: Sequence[Execution]) -> None:
    """Check that no execution failed because a variable of the live kernel is missing. MissingVariables: one did."""
    if not subject.started.environment.state.startswith("live"):
        return
    lost: dict[str, None] = {}
    for one in chosen:
        before, now = one.observation.error, again[one.id].error if one.id in again else None
        found = _UNDEFINED.search(now.message) if now and now.name == "NameError" else None
        if found and not (before and before.name == "NameError") and found[1] not in _assigned_names(one.code):
            lost[found[1]] = None
    defined = {name for observation in again.values() for name, _ in observation.names}
    if names := [name for name in lost if name not in defined]:
        raise _missing_variables(names)


def _missing_variables(names: Sequence[str]) -> MissingVariables:
    return MissingVariables(
        f"The run used variables of a kernel that are missing now: {', '.join(names)}.", remedy=_BEFORE_REMEDY
    )


def _assigned_names(code: str) -> set[str]:
    nodes = ast.walk(parse_python(code))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


# Executes recorded code again: each piece in a fork of the state that it started from, in one set of siblings.
#
# States form a tree. A branch is closed as soon as no remaining execution starts from it.

_T = TypeVar("_T")
_STATE_LOST = "StateLost"
_SLOWDOWN = 3
"""Factor by which a long execution may take longer than recorded, because this machine may be slower."""


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """Options for all executions of a check."""

    timeout: float
    """Time limit of an execution in the run, in seconds."""
    task: Task
    probe: CheckCode | None
    """The user's check of a solution."""
    parallel: int
    done: Callable[[str], None]
    """Called with the id of each finished execution."""


def with_ancestors(ids: Iterable[str], every: Sequence[Execution]) -> tuple[Execution, ...]:
    """Return the executions with these ids and all that they start from, in recorded order."""
    parents = {one.id: one.parent for one in every}
    needed: set[str] = set()
    for id_ in ids:
        while id_ in parents and id_ not in needed:
            needed.add(id_)
            id_ = parents[id_]
    return tuple(one for one in every if one.id in needed)


async def execute_again(root: Branch, chosen: Sequence[Execution], how: ExecutionOptions) -> Mapping[str, Observation]:
    """Execute everything again and return the observations by id.

    Executions whose starting state was lost are missing.

    Raises:
        KernelError: no kernel could be started.
    """
    following: dict[str, list[Execution]] = {}
    ids = {one.id for one in chosen}
    for one in chosen:
        following.setdefault(one.parent if one.parent in ids else "", []).append(one)
    return await retry_on_branching_change(lambda: _Pass(how, following).run(root))


async def retry_on_branching_change(work: Callable[[], Awaitable[_T]]) -> _T:
    """Return the result of `work`, restarted if the method of branching changes."""
    for _ in range(MOST_CHANGES):
        with suppress(BranchingChanged):
            return await work()
    return await work()


@dataclass(slots=True)
class _Pass:
    how: ExecutionOptions
    following: dict[str, list[Execution]]
    """The executions that start from each id."""
    limiter: anyio.CapacityLimiter = field(init=False)
    seen: dict[str, Observation] = field(default_factory=dict)

    async def run(self, root: Branch) -> Mapping[str, Observation]:
        self.limiter = anyio.CapacityLimiter(self.how.parallel)
        await self._execute_children("", root)
        return self.seen

    async def _execute_children(self, id_: str, branch: Branch) -> None:
        async with task_group() as group:
            for one in self.following.get(id_, ()):
                group.start_soon(self._execute, one, branch)

    async def _execute(self, one: Execution, base: Branch) -> None:
        async with self.limiter:
            branch = await self._fork(base, one)
            if branch is None:
                return
            try:
                observation = await _observe(one, branch, self.how)
            except BaseException:
                await close_branches([branch])
                raise
        if not never_ran(observation):
            self.seen[one.id] = observation
        self.how.done(one.id)
        try:
            await self._execute_children(one.id, branch)
        finally:
            await close_branches([branch])

    async def _fork(self, base: Branch, one: Execution) -> Branch | None:
        try:
            [branch] = await base.fork(1)
        except BranchingChanged:
            raise
        except KernelError:
            if not one.parent:  # the root state cannot have been lost
                raise
            return None
        return branch


def never_ran(observation: Observation) -> bool:
    """Whether the code did not run at all, because its starting state was lost."""
    error = observation.error
    return observation.status == "died" and error is not None and error.name == _STATE_LOST and not observation.outputs


async def _observe(one: Execution, branch: Branch, how: ExecutionOptions) -> Observation:
    duration = 0.0 if one.observation.status == "timeout" else min(one.observation.seconds, how.timeout)
    seconds = max(how.timeout, _SLOWDOWN * duration)

    async def step(code: str) -> Observation:
        return await branch.run(expand_home(code), timeout=seconds)

    if one.given is not None:
        return (await run_on_input(step, one.code, one.given)).observation
    if one.kind == "solution":
        observed = await run_with_check(step, one.code, how.probe)
    else:
        observed = accept_own_end(await step(one.code))
    return observed if one.observation.unmet != "input" else refuse_invented(how.task, one.code, observed)
