"""The state that executions start from anew: what a person ran before the run, with all that the run found there."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence, Set

from exploracoder_jupyter.core.errors import MissingMeans, UsageError
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.runs.trace_check.check_subject import Subject
from exploracoder_jupyter.trace.needed_packages import imported_at_once, providers, versions_of
from exploracoder_jupyter.trace.recorded_executions import Execution

_LONG = 600.0
"""Seconds for a cell of a person, who may have waited long for it."""
_LOOK = """
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
_ENVIRONMENTS = "--env builds an environment as it was recorded; --kernel names another one."
_REMEDY = "--before FILE runs a .py or .ipynb first that makes them."


class Lacking(UsageError):
    """Variables that the run found in a kernel are not there."""


async def begun(root: Branch, code: Sequence[str]) -> Branch:
    """The root, or a branch of it in which this code was run, piece by piece.

    Raises:
        MissingMeans: a piece fails for want of a library.
        UsageError: one fails otherwise.
    """
    if not code:
        return root
    [branch] = await root.fork(1)
    for piece in code:
        observation = await branch.run(piece, timeout=_LONG)
        if not observation.ran:
            raise _fails(observation)
    return branch


def _fails(observation: Observation) -> UsageError | MissingMeans:
    error = observation.error
    why = error.headline if error else observation.note or observation.status
    said = f"What was run before the exploration fails now: {why.rstrip('.')}."
    if error and error.name == "ModuleNotFoundError":
        return MissingMeans(said, remedy=_ENVIRONMENTS)
    return UsageError(said, remedy="Mend it, or give what is to be run instead with --before.")


async def require(base: Branch, subject: Subject, chosen: Sequence[Execution] = ()) -> None:
    """Make sure that the libraries of the task, what the code imports of other packages that the run had, and the
    variables that it was given are there.

    Raises:
        MissingMeans: a library is not installed.
        Lacking: a variable is not there.
    """
    modules = [*dict.fromkeys([*(info.name for info in subject.libraries), *_imported(subject, chosen)])]
    names = [name for name in subject.started.task.uses if name.isidentifier()]
    if not (modules or names):
        return
    [branch] = await base.fork(1)
    try:
        absent, lost = _answer(await branch.run(_LOOK.format(modules=modules, names=names), timeout=_LONG))
    finally:
        await branch.close()
    if absent:
        raise _not_there(absent, {info.name for info in subject.libraries if not info.version})
    if lost:
        raise _lacking(lost)


def require_names(subject: Subject, again: Mapping[str, Observation], chosen: Sequence[Execution]) -> None:
    """Make sure that no execution failed for want of what a live kernel had had.

    Raises:
        Lacking: one did.
    """
    if not subject.started.environment.state.startswith("live"):
        return
    lost: dict[str, None] = {}
    for one in chosen:
        before, now = one.observation.error, again[one.id].error if one.id in again else None
        found = _UNDEFINED.search(now.message) if now and now.name == "NameError" else None
        if found and not (before and before.name == "NameError") and found[1] not in _bound(one.code):
            lost[found[1]] = None
    made = {name for observation in again.values() for name, _ in observation.names}
    if names := [name for name in lost if name not in made]:
        raise _lacking(names)


def _imported(subject: Subject, chosen: Sequence[Execution]) -> list[str]:
    """The modules of recorded packages that code imported which ran; others may be the code's own work."""
    versions = versions_of(subject.started.environment.packages)
    modules = {module for one in chosen if one.observation.ran for module in imported_at_once(one.code)}
    return sorted(module for module in modules if providers(module, versions))


def _not_there(modules: Sequence[str], uninstalled: Set[str]) -> MissingMeans:
    """`uninstalled`: those that no package of the run had, so that they lay among its files."""
    if beside := [name for name in modules if name in uninstalled]:
        return MissingMeans(f"Not there: {', '.join(beside)}.", remedy="--workdir names the folder that it lies in.")
    return MissingMeans(f"Not installed here: {', '.join(modules)}.", remedy=_ENVIRONMENTS)


def _lacking(names: Sequence[str]) -> Lacking:
    return Lacking(f"The run used variables of a kernel that are not there now: {', '.join(names)}.", remedy=_REMEDY)


def _answer(observation: Observation) -> tuple[list[str], list[str]]:
    text = "".join(str(output.get("text", "")) for output in observation.outputs)
    try:
        absent, lost = json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError):  # it could not be asked: then executions will tell
        return [], []
    return list(map(str, absent)), list(map(str, lost))


def _bound(code: str) -> set[str]:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
