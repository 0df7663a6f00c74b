"""The input of a run: its order, which is validated before it starts."""

from __future__ import annotations

import keyword
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.exploration_settings import EXPLORE, RRR, is_repository_strategy
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Layer, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.given_variables import find_set_up
from exploracoder_jupyter.core.types import Exchange, RepositoryTask, Task, UserVariable
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.llm.archived_replies_model import ReplyRecording
from exploracoder_jupyter.pipeline import ResumePoint
from exploracoder_jupyter.pipeline.ports import Branch, Model, PassageSearch
from exploracoder_jupyter.pipeline.solving.user_check import check_code

MOST_TASK_CHARACTERS = 64_000
_SETUP = "Use --state fresh to send copies, or give --setup code that makes what is missing."
_DESCRIBE = "print(__import__('IPython').get_ipython().explora_cell_reporter.describe({names!r}))"
_DESCRIPTIONS: TypeAdapter[dict[str, dict[str, str]]] = TypeAdapter(dict[str, dict[str, str]])


@dataclass(frozen=True, slots=True)
class ResumedRun:
    """The run that an order resumes."""

    run_id: str
    trace: Path
    message: str
    """Message for the user: what is reused."""
    exchanges: tuple[Exchange, ...] = ()
    """Its exchanges with the model, which need not be repeated."""
    cell: str = ""
    """The cell to resume from; empty: where the run ended."""
    hint: str = ""
    address: str = ""
    """Address of the endpoint, if only the trace names it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorded model and sources of a replay, which replace the real ones."""

    model: Model
    sources: PassageSearch
    message: str
    """Message for the user: what is replayed."""
    begin: Callable[[Branch], Awaitable[Branch]]
    """Brings a fresh branch to the state at the start of the run; raises if that is not possible."""


@dataclass(frozen=True, slots=True)
class Order:
    """A run as requested by a front end or the command line."""

    task: Task
    layers: tuple[Layer, ...] = ()
    """Settings given by flags and `%config`, strongest first."""
    workdir: Path = field(default_factory=Path.cwd)
    notebook: Path | None = None
    cell: str | None = None
    variables: Path | None = None
    """Folder with the values of `task.uses`."""
    unsent: str = ""
    """Why no variables were sent, if experiments were to be forks of the live kernel; a clause, or empty."""
    live: LiveKernel | None = None
    """The caller's kernel, if it may be forked."""
    before: str = ""
    """Code that makes the variables of `task.uses` where there is no caller's kernel; the model does not see it."""
    mentioned: tuple[UserVariable, ...] = ()
    """The variables of the caller that the task or its check names, and those of `task.uses`."""
    trace_folder: Path | None = None
    """Below which the trace is written, if there is no notebook; by default the working directory."""
    steerable: bool = False
    """Whether the run may be steered beyond stopping it: the states needed for that are kept."""
    given: ResumePoint | None = None
    """What the run starts with, if it resumes another."""
    earlier: ResumedRun | None = None
    """The run that is resumed, if its trace is known."""
    recording: Recording | None = None
    """Set if the run is a replay: no model is called."""
    wrap_model: Callable[[Model], Model] | None = None
    """Wraps the model that makes the requests, for example with a rate limit."""
    replies: ReplyRecording | None = None
    """Set if the model's replies are recorded, or come from a recording. The run then neither reads nor leaves
    anything that other runs would read: no introductions and no snippets."""


async def find_variables(order: Order, root: Branch, *, state: str, timeout: float) -> Task:
    """Return the task with what experiments have of the variables that it names, with their types and schemas.

    `state` is where experiments start, and why; `timeout` is in seconds. Raises UsageError: one that the task treats as
    given, or that the user named, is missing.
    """
    task = order.task
    known = {one.name: one for one in (*task.variables, *order.mentioned) if one.name != task.solution_name}
    known = {**{name: UserVariable(name) for name in task.uses}, **known}
    set_up = [name for name in find_set_up(task.text, task.setup) if name not in {*known, task.solution_name}]
    if not (known or set_up):
        return task
    described = await _describe(root, [*known, *set_up], timeout)
    variables = []
    for name, variable in known.items():
        found = described.get(name, {})
        lacking = (
            found["missing"] or variable.lacking or order.unsent or "it does not exist" if "missing" in found else ""
        )
        if lacking and (variable.given or name in task.uses):
            raise UsageError(
                f"Experiments start {state}. They do not have your variable {name!r}: {lacking.rstrip('.')}.",
                remedy=_SETUP,
            )
        kind = found.get("type", variable.type)
        variables.append(replace(variable, type=kind, schema=found.get("schema", ""), lacking=lacking))
    uses = dict.fromkeys([*task.uses, *(one.name for one in variables if not one.lacking)])
    for name in set_up:
        found = described.get(name, {})
        if "schema" in found:
            variables.append(UserVariable(name, found.get("type", ""), given=True, schema=found["schema"]))
    return replace(task, uses=tuple(uses), variables=tuple(variables))


async def _describe(root: Branch, names: Sequence[str], timeout: float) -> dict[str, dict[str, str]]:
    """Return what the kernel's reporter says about these variables, by name; nothing if it cannot."""
    [branch] = await root.fork(1)
    try:
        observation = await branch.run(_DESCRIBE.format(names=[*names]), timeout=timeout)
    finally:
        await branch.close()
    text = "".join(str(output.get("text", "")) for output in observation.outputs)
    with suppress(ValueError, IndexError):  # what the user defined has broken what this needs
        return _DESCRIPTIONS.validate_json(text.strip().splitlines()[-1])
    return {}


def lacking_variables_message(task: Task) -> str:
    """Describe which variables that the task mentions experiments lack; a sentence, or empty."""
    return " ".join(
        f"Experiments do not have your variable {one.name}: {one.lacking.rstrip('.')}."
        for one in task.variables
        if one.lacking
    )


def unsent_variables_message(order: Order, task: Task) -> str:
    """Describe which variables are missing if kernels can no longer be forked; a sentence, or empty."""
    if not (order.unsent and task.uses):
        return ""
    return f"They lack {', '.join(task.uses)}: {order.unsent}. Use --state fresh to send copies."


def validate_order(order: Order) -> Settings:
    """Validate an order as far as possible before it starts, and return its settings.

    Raises:
        UsageError: the task is empty or too long, no library is named, or the check or a setting is malformed.
        MissingRequirement: no strategy of the name in the settings is registered.
    """
    text = order.task.text.strip()
    if not text:
        raise UsageError("The task is empty.", remedy="Describe what the solution should do.")
    if len(text) > MOST_TASK_CHARACTERS:
        raise UsageError(
            f"The task has {len(text):,} characters; at most {MOST_TASK_CHARACTERS:,} are allowed.",
            remedy="Shorten it, and pass data as variables or files.",
        )
    if not order.task.libraries and order.task.repository is None:
        raise UsageError("No library is named.", remedy="Name at least one, e.g. networkx.")
    name = order.task.solution_name
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(
            f"--name takes the name of a function, not {name!r}.", remedy="For example: --name count_pairs"
        )
    check_code(order.task)
    settings = _with_repository_strategy(resolve(*order.layers), order.task)
    if plugins.find("strategies", strategy := settings.exploration.method) is None:
        plugins.get("strategies", strategy)  # raises, with a suggestion
    return settings


def in_repository(order: Order, repository: Path, task: RepositoryTask) -> Order:
    """Return the order for a task in a repository, whose trace stays where the traces of other runs would be."""
    given = replace(order.task, repository=task)
    folder = (order.workdir / repository).resolve()
    return replace(order, task=given, workdir=folder, trace_folder=order.workdir, live=None)


def _with_repository_strategy(settings: Settings, task: Task) -> Settings:
    name = settings.exploration.strategy
    if task.repository is None:
        if is_repository_strategy(settings.exploration.method):
            raise UsageError(f"The strategy {name!r} writes code for a repository.", remedy="Add --repo and --target.")
        return settings
    if name is None or name == EXPLORE:
        return replace(settings, exploration=replace(settings.exploration, strategy=RRR))
    if not is_repository_strategy(name):
        raise UsageError(f"The strategy {name!r} does not write code for a repository.", remedy=f"Use {RRR!r}.")
    return settings
