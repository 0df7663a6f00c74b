"""The input of a run: its order, which is validated before it starts."""

from __future__ import annotations

import keyword
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.exploration_settings import EXPLORE, RRR, is_repository_strategy
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Layer, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Environment, Exchange, RepositoryTask, Task
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.llm.archived_replies_model import ReplyRecording
from exploracoder_jupyter.pipeline import ResumePoint
from exploracoder_jupyter.pipeline.ports import Branch, Model, PassageSearch
from exploracoder_jupyter.pipeline.solving.user_check import check_code

MOST_TASK_CHARACTERS = 64_000


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
    """Which of `task.uses` could not be sent, and why; a sentence, or empty."""
    live: LiveKernel | None = None
    """The caller's kernel, if it may be forked."""
    mentioned: tuple[str, ...] = ()
    """Variables of that kernel that the task mentions."""
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


def with_mentioned_variables(order: Order, environment: Environment) -> Task:
    """Add the variables that the task mentions, if experiments are forks of the live kernel and so have all of them."""
    task = order.task
    if not environment.state.startswith("live"):
        return task
    more = (name for name in order.mentioned if name != task.solution_name)
    return replace(task, uses=tuple(dict.fromkeys([*task.uses, *more])))


def missing_variables_message(order: Order, task: Task) -> str:
    """Describe which variables mentioned in the task are missing in fresh experiments; a sentence, or empty."""
    names = [name for name in order.mentioned if name not in task.uses and name != task.solution_name]
    if not names:
        return ""
    which = f"variable {names[0]}" if len(names) == 1 else f"variables {', '.join(names)}"
    return f"Experiments do not have your {which}, mentioned in the task: `--use {' '.join(names)}` sends a copy."


def unsent_variables_message(order: Order, task: Task) -> str:
    """Describe which variables mentioned in the task are missing if kernels can no longer be forked; sentences."""
    unsent = [name for name in task.uses if name not in order.task.uses]
    more = ""
    if unsent:
        more = f"They lack {', '.join(unsent)}: use `--state fresh --use {' '.join(unsent)}` to send a copy."
    return f"{order.unsent} {more}".strip()


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
