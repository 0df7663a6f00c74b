"""The input of a run, validated before it starts; the traces that it names, and the lock on its own."""

from __future__ import annotations

import json
import keyword
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.sections import EXPLORE, RRR, is_repository_strategy
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record, RunStarted
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.run_state import RunState, fold_all
from exploracoder_jupyter.core.task import find_set_up
from exploracoder_jupyter.core.types import Exchange, RepositoryTask, Task, UserVariable
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.llm.recorded import ReplyRecording
from exploracoder_jupyter.pipeline import ResumePoint
from exploracoder_jupyter.pipeline.ports import Branch, Model, PassageSearch
from exploracoder_jupyter.pipeline.solving.user_check import check_code
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.paths import notebook_path
from exploracoder_jupyter.trace.storage import run_metadata

# The input of a run: its order, which is validated before it starts.

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


# Loads the records of a trace named by the user, and explains why if the file is not a trace.


def load_records(path: Path) -> list[Record]:
    """Load the records of a notebook or a journal. UsageError: the file is not the trace of a run."""
    try:
        return load(path)
    except UsageError as error:
        raise (_reason(path) or error) from None


def load_started_run(path: Path) -> tuple[list[Record], RunState, RunStarted]:
    """Load the records of a trace with the state after them and the start of the run, without which UsageError."""
    records = load_records(path)
    run = fold_all(records)
    if run.started is None:
        raise UsageError(f"The trace {path.name} does not record which task was run.", remedy="Explore it again.")
    return records, run, run.started


def _reason(path: Path) -> UsageError | None:
    """Return why no records could be loaded, if something more specific is known."""
    from exploracoder_jupyter.runs.trace_check.checked_trace import find_explorations  # avoids a circular import

    if not path.exists():
        return UsageError(f"There is no file {str(path)!r}.", remedy="Name the trace of a run.")
    content, metadata = b"", dict[str, Any]()
    try:
        content = path.read_bytes()
        metadata = run_metadata(json.loads(content))
    except (OSError, ValueError, RecursionError):
        if b'"exploracoder_jupyter"' in content:
            message = f"{str(path)!r} is damaged, and there is no journal beside it."
            return UsageError(message, remedy="Use a backup copy if you have one, or explore again.")
    if metadata and "records" not in metadata:
        message = f"{str(path)!r} was exported from a trace, and does not contain the run itself."
        return UsageError(message, remedy="Name the original trace.")
    if traces := ", ".join(str(found.trace) for found in find_explorations(path)):
        message = f"{str(path)!r} is not a trace, but contains explorations with the trace {traces}."
        return UsageError(message, remedy="Name the trace.")
    return None


# Locks each trace with a lockfile beside it, so that only one run at a time writes it.
#
# The operating system releases the lock when the process ends, however it ends, so the file of a killed run blocks
# no other run. The file names the process that has the lock, and is removed at the end of the run. Where such locks
# are not available, as on some file systems, no run is refused.

PATIENCE = 6.0
"""Seconds to wait for a run that was just stopped, e.g. because its kernel was restarted."""
_PAUSE = 0.1
_OPEN_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Of any lockfile: in a shared folder, somebody may put a link or a named pipe in its place."""
_MAX_BYTES = 10_000
"""Maximum number of bytes read from a lockfile."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The run that has the lock."""

    process: ProcessId
    since: float
    """When it took the lock, in seconds since the epoch."""

    def __str__(self) -> str:
        where = "" if self.process.here else f" on {self.process.machine}"
        return f"process {self.process.pid}{where}, since {datetime.fromtimestamp(self.since):%Y-%m-%d %H:%M:%S}"


_OWNER: TypeAdapter[Owner] = TypeAdapter(Owner)


class TraceLock:
    """The lock on a trace, a notebook that need not exist, acquired on creation within `PATIENCE` seconds.

    Raises:
        UsageError: another run has the lock.
    """

    def __init__(self, trace: Path) -> None:
        self._path = _lock_path(trace)
        self._file: int | None = None
        end = time.monotonic() + PATIENCE
        with suppress(OSError):
            while not self._try_acquire():
                if time.monotonic() >= end:
                    raise _active_error(trace, remedy="Wait until it ends, stop it, or name another path with --out.")
                time.sleep(_PAUSE)

    def release(self) -> None:
        """Release the lock. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                self._path.unlink()  # before unlocking, so that the next run creates a new file
            os.close(file)
            with suppress(OSError):  # Windows removes no open file, and refuses to remove what another run has opened
                if os.name == "nt":
                    self._path.unlink()

    def _try_acquire(self) -> bool:
        """Try to acquire the lock. The lock on a file that was removed after opening does not count."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
        try:
            if not system.try_lock(file) or not os.path.samestat(os.fstat(file), self._path.stat()):
                return False
            with suppress(OSError):  # a full disk does not matter: the lock itself needs no space
                os.ftruncate(file, 0)
                os.write(file, _OWNER.dump_json(Owner(ProcessId.own(), time.time())))
            self._file, file = file, -1
            return True
        except FileNotFoundError:
            return False
        finally:
            if file >= 0:
                os.close(file)


def refuse_active(trace: Path) -> None:
    """Refuse a trace (a notebook or a journal) whose run is still active, after waiting for its end.

    Raises:
        UsageError: the run is still active.
    """
    end = time.monotonic() + PATIENCE
    while is_active(trace):
        if time.monotonic() >= end:
            raise _active_error(trace, remedy="Wait until it ends, or stop it.")
        time.sleep(_PAUSE)


def is_active(trace: Path) -> bool:
    """Whether the run of this trace (a notebook or a journal) is still active."""
    try:
        with open(_lock_path(trace), "rb", opener=_open_safely) as file:
            return not system.try_lock(file.fileno(), shared=True)
    except OSError:  # no lockfile, or locks are not supported
        return False


def _lock_path(trace: Path) -> Path:
    notebook = notebook_path(trace.resolve())
    return notebook.with_name(f".{notebook.stem}.lock")


def _open_safely(path: str, flags: int) -> int:
    return os.open(path, flags | _OPEN_FLAGS)


def _active_error(trace: Path, *, remedy: str) -> UsageError:
    owner = ""
    with suppress(OSError, ValueError, OverflowError, ValidationError):
        with open(_lock_path(trace), "rb", opener=_open_safely) as file:
            content = json.loads(file.read(_MAX_BYTES) or b"")
        owner = f" ({_OWNER.validate_python(content)})"
    return UsageError(f"The run of {trace.name} is still active{owner}.", remedy=remedy)
