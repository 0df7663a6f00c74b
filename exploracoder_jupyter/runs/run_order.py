"""What a front end hands in: the order, and the hand on the wheel while it is carried out."""

from __future__ import annotations

import asyncio
import keyword
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings import Layer, Settings, resolve
from exploracoder_jupyter.core.types import Environment, Exchange, Task
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.pipeline import Given
from exploracoder_jupyter.pipeline.ports import Branch, Model, Soup
from exploracoder_jupyter.pipeline.run_controls import Choose, Control, Replan, Retry, Skip
from exploracoder_jupyter.pipeline.solving.user_check import check_code

MOST_TASK_CHARACTERS = 64_000


@dataclass(frozen=True, slots=True)
class Earlier:
    """The run that an order goes on from."""

    run_id: str
    trace: Path
    said: str
    """What of it is taken over, for the user."""
    exchanges: tuple[Exchange, ...] = ()
    """What it asked the model and need not be asked again."""
    cell: str = ""
    """The cell of it that is gone on from; empty: where it ended."""
    hint: str = ""
    address: str = ""
    """The endpoint's, where nothing but its trace names that."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What answers in place of the world where a recorded run is shown again."""

    model: Model
    soup: Soup
    said: str
    """What is shown, for the user."""
    begin: Callable[[Branch], Awaitable[Branch]]
    """Brings a fresh state to where the run began; raises where that cannot be."""


@dataclass(frozen=True, slots=True)
class Order:
    """A run as ordered by a front end or the command line."""

    task: Task
    layers: tuple[Layer, ...] = ()
    """Settings given by flags and `%config`, strongest first."""
    workdir: Path = field(default_factory=Path.cwd)
    notebook: Path | None = None
    cell: str | None = None
    variables: Path | None = None
    """Folder with the values of `task.uses`."""
    unsent: str = ""
    """Which of `task.uses` are not there, and why; a sentence, or empty."""
    live: LiveKernel | None = None
    """The caller's kernel, where it may be forked."""
    mentioned: tuple[str, ...] = ()
    """Variables of that kernel that the task speaks of."""
    steerable: bool = False
    """Whether somebody may steer the run beyond stopping it: states are kept for that."""
    given: Given | None = None
    """Set where the run goes on from another."""
    earlier: Earlier | None = None
    """That other run, where it is known by its trace."""
    recording: Recording | None = None
    """Set where the run shows a recorded one again: no model is asked."""


class RunSteering:
    """What the user may ask of a run under way; every method but two may be called from any thread or signal handler.

    What is asked before the run listens is done as soon as it does; what is asked after its end is passed over.
    """

    def __init__(self) -> None:
        self._stopped = False
        self._asked: deque[Control] = deque()
        self._bound: tuple[asyncio.AbstractEventLoop, asyncio.Event, anyio.CancelScope] | None = None

    def stop(self) -> None:
        """End the run now; it keeps what was learned."""
        self._stopped = True
        if self._bound:
            loop, _, scope = self._bound
            _soon(loop, scope.cancel)

    def skip(self, subtask: str) -> None:
        """Give up a subtask and go on."""
        self._ask(Skip(subtask))

    def retry(self, subtask: str, hint: str = "") -> None:
        """Explore a subtask again, from the state before it, and those after it."""
        self._ask(Retry(subtask, hint))

    def choose(self, candidate: str) -> None:
        """Carry a candidate forward instead of the selected one, and explore the later subtasks anew."""
        self._ask(Choose(candidate))

    def replan(self, titles: Sequence[str]) -> None:
        """Replace the subtasks that have not begun; ends a review."""
        self._ask(Replan(tuple(titles)))

    def bind(self, scope: anyio.CancelScope) -> None:
        """Let `stop` cancel this scope. In the run's event loop, before `next`."""
        self._bound = (asyncio.get_running_loop(), asyncio.Event(), scope)
        if self._stopped:
            scope.cancel()

    async def next(self) -> Control:
        """The next control; see the port `Steering`. In the run's event loop."""
        assert self._bound
        _, came, _ = self._bound
        while not self._asked:
            came.clear()
            await came.wait()
        return self._asked.popleft()

    def _ask(self, control: Control) -> None:
        self._asked.append(control)
        if self._bound:
            loop, came, _ = self._bound
            _soon(loop, came.set)


def _soon(loop: asyncio.AbstractEventLoop, what: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the run has just ended, and its event loop with it
        loop.call_soon_threadsafe(what)


def told_of_variables(order: Order, environment: Environment) -> Task:
    """The task, with the variables that it speaks of named where experiments have them all: in forks of the kernel."""
    task = order.task
    if not environment.state.startswith("live"):
        return task
    more = (name for name in order.mentioned if name != task.solution_name)
    return replace(task, uses=tuple(dict.fromkeys([*task.uses, *more])))


def unseen(order: Order, task: Task) -> str:
    """Which variables that the task names experiments do not have, because they start fresh; a sentence, or nothing."""
    names = [name for name in order.mentioned if name not in task.uses and name != task.solution_name]
    if not names:
        return ""
    which = f"variable {names[0]}" if len(names) == 1 else f"variables {', '.join(names)}"
    return f"Experiments do not have your {which}, which the task names: `--use {' '.join(names)}` sends a copy."


def lacking(order: Order, task: Task) -> str:
    """Which variables that the task names experiments lack that start from no fork of the kernel; sentences."""
    unnamed = [name for name in task.uses if name not in order.task.uses]
    more = f"They lack {', '.join(unnamed)}: `--state fresh --use {' '.join(unnamed)}` sends that." if unnamed else ""
    return f"{order.unsent} {more}".strip()


def checked(order: Order) -> Settings:
    """The settings of an order that can be carried out as far as one can see now.

    Raises:
        UsageError: the task is empty or too long, no library is named, the check or a setting is malformed.
    """
    text = order.task.text.strip()
    if not text:
        raise UsageError("The task is empty.", remedy="Say what is to be done.")
    if len(text) > MOST_TASK_CHARACTERS:
        raise UsageError(
            f"The task has {len(text):,} characters; at most {MOST_TASK_CHARACTERS:,} are read.",
            remedy="Shorten it, and pass data as variables or files.",
        )
    if not order.task.libraries:
        raise UsageError("No library is named.", remedy="Name at least one, e.g. networkx.")
    name = order.task.solution_name
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(
            f"--name takes the name of a function, not {name!r}.", remedy="For example: --name count_pairs"
        )
    check_code(order.task)
    return resolve(*order.layers)
