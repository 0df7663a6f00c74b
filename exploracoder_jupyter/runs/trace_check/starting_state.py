"""Restores the starting state for re-execution: the user's code before the run, and what the run requires."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Observation, Task
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.runs.trace_check.checked_trace import Subject
from exploracoder_jupyter.trace.module_distributions import (
    parse_versions,
    providing_distributions,
    unconditional_imports,
)
from exploracoder_jupyter.trace.recorded_executions import Execution

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
