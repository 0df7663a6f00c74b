"""The protocol between engine and kernel, and what the user may ask of a run in progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.core.validation import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter
from exploracoder_jupyter.protocol.browser_messages import CellChange

# What the user may ask of a run in progress, besides stopping it.
#
# The kernel sends a control to the engine as a line of JSON, and the pipeline applies it.


@dataclass(frozen=True, slots=True)
class Skip:
    """Skip this subtask and continue."""

    subtask: str
    type: Literal["skip"] = "skip"


@dataclass(frozen=True, slots=True)
class Retry:
    """Return to the state before this subtask and explore it, with the hint, and the later ones again."""

    subtask: str
    hint: str = ""
    type: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True)
class Choose:
    """Return to the state before this candidate's subtask, carry the candidate forward, explore the later ones
    again."""

    candidate: str
    type: Literal["choose"] = "choose"


@dataclass(frozen=True, slots=True)
class Replan:
    """Replace the subtasks that have not started with these titles; ends a review."""

    titles: tuple[str, ...]
    type: Literal["replan"] = "replan"


@dataclass(frozen=True, slots=True)
class Explore:
    """Plan and explore now, instead of trying whole programs first."""

    type: Literal["explore"] = "explore"


@dataclass(frozen=True, slots=True)
class RunEdited:
    """Run a candidate's code as the user edited it, from the state before its subtask, as a candidate of its own."""

    subtask: str
    candidate: str
    """Id of the candidate whose code was edited."""
    code: str
    type: Literal["edit"] = "edit"


Control = Skip | Retry | Choose | Replan | Explore | RunEdited


# The protocol between engine and kernel: newline-delimited JSON, one object per line.
#
# (For kernel and browser see `browser_messages`.) The relay in the kernel sends `Start` once, then controls. The
# engine answers with `RecordMessage`s, with one `TraceAt` as soon as there is a trace, with a `SolutionShown` if
# there is a solution that ran, and with exactly one `Finished` or `Failed`. If `Start` offers to fork the kernel,
# the engine may request it with `ForkKernel`, which is answered by `KernelForked`. The engine exits at the end of
# its standard input.


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Hazard(_Message):
    """Something in the kernel that does not survive a fork, as detected by `kernel_agent.forking.fork_hazards`."""

    kind: Literal["refuse", "warn"]
    """`refuse`: experiments in a fork would hang or do harm. `warn`: they lack something, which is reported."""
    library: str = ""
    """The library responsible, e.g. `polars`; empty if there is none."""
    what: str
    """One clause for the user, e.g. `polars keeps a thread pool that does not survive a fork`."""


class LiveOffer(_Message):
    """The offer to fork the kernel, with information about it."""

    hazards: list[Hazard] = []
    secretive: list[str] = []
    """Names of variables that look like credentials; never their values."""
    paths: list[str] = []
    """The kernel's import path."""


class Continuation(_Message):
    """How a run continues one that has ended."""

    plan: list[str]
    """The titles of all subtasks."""
    code: list[str] = []
    """Snippets for the first subtasks, one each: run as their only candidates, without calling the model."""
    hint: str = ""
    """Hint for the model at the first subtask without a snippet."""
    chosen: bool = False
    """Whether the last snippet is the user's choice; the others were selected in the previous run."""


class Resume(_Message):
    """A recorded run to resume."""

    trace: str
    """Path of its trace or journal."""
    cell: str = ""
    """A candidate, a subtask or `solution` to continue from; empty: where the run ended."""
    hint: str = ""
    """Hint for the model, for what is explored first."""


class Repository(_Message):
    """A repository, and what is written in it."""

    path: str
    """Its folder."""
    target: str
    tests: list[str] = []
    command: str = ""
    """A test command for a shell, in place of pytest."""


class Replay(_Message):
    """A recorded run to replay."""

    trace: str
    """Path of its trace or journal."""
    out: str
    """Path of the new trace."""
    delay: Literal["recorded", "none"] = "none"
    """Whether to delay the replies as in the recorded run."""
    kernel: str | None = None
    """Kernelspec or interpreter to run the code in; none: that of the recorded run."""


class Start(_Message):
    """Kernel to engine, first line: what to do. Never contains a key: the engine reads it itself."""

    type: Literal["start"] = "start"
    task: str
    libraries: list[str]
    uses: list[str] = []
    check: str | None = None
    setup: str = ""
    solution_name: str | None = None
    layers: list[dict[str, dict[str, JsonValue]]] = []
    """Settings given by flags and by `%config`, strongest first."""
    notebook: str | None = None
    """Path of the calling notebook, if known: the trace is written next to it."""
    cell: str | None = None
    """Id of the calling cell, if known: generated cells are anchored to it."""
    workdir: str = "."
    repository: Repository | None = None
    """Set if the task is to write code for a repository."""
    variables: str | None = None
    """Folder with the values of variables, if any were sent; both processes try to remove it, so that it is removed
    even if one of them dies."""
    unsent: str = ""
    """Why no variables were sent, if experiments were not to need any; a clause, or empty."""
    mentioned: list[UserVariable] = []
    """The variables that the task or its check names, and those of `uses`."""
    live: LiveOffer | None = None
    """Set if the kernel can be forked, as far as the kernel itself can determine."""
    cells: bool = False
    """Whether the kernel wants `CellsChanged`."""
    given: Continuation | None = None
    """Set if this run continues another one."""
    resume: Resume | None = None
    """Set if the other run is given by its trace."""
    replay: Replay | None = None
    """Set to replay a recorded run; replaces the rest of the description of the run."""


class Stop(_Message):
    """Kernel to engine: finish now and keep the results so far."""

    type: Literal["stop"] = "stop"


class KernelForked(_Message):
    """Kernel to engine: the kernel has forked, or could not fork."""

    type: Literal["kernel_forked"] = "kernel_forked"
    number: int = 0
    """Number of the request that this answers."""
    problem: str = ""
    """Why the fork failed, in one sentence; empty on success."""


class ForkKernel(_Message):
    """Engine to kernel: fork; the child connects to the engine at this address."""

    type: Literal["fork_kernel"] = "fork_kernel"
    number: int = 0
    """Repeated in the answer, so that a late answer is not mistaken for that to the next request."""
    address: str
    """A UNIX socket on which the engine listens; the child receives its instructions there."""


class RecordMessage(_Message):
    """Engine to kernel: one event of the run."""

    type: Literal["record"] = "record"
    record: Record


class CellsChanged(_Message):
    """Engine to kernel: changes to the cells of the calling notebook."""

    type: Literal["cells"] = "cells"
    changes: list[CellChange]


class TraceAt(_Message):
    """Engine to kernel: the trace has been created; its path is sent early in case the engine dies."""

    type: Literal["trace_at"] = "trace_at"
    path: str


class SolutionShown(_Message):
    """Engine to kernel: what the solution showed when it ran, sanitized; before `Finished`."""

    type: Literal["solution"] = "solution"
    outputs: list[dict[str, JsonValue]]


class Finished(_Message):
    """Engine to kernel, last line: the summary (the object that `--json` prints)."""

    type: Literal["finished"] = "finished"
    summary: dict[str, JsonValue]


class Failed(_Message):
    """Engine to kernel, last line: the run failed."""

    type: Literal["failed"] = "failed"
    error: str
    remedy: str = ""


ToEngine = Annotated[Start | Stop | Control | KernelForked, Field(discriminator="type")]
RunMessage = RecordMessage | CellsChanged | TraceAt | SolutionShown | Finished | Failed
"""Messages for observers of the run."""
FromEngine = Annotated[RunMessage | ForkKernel, Field(discriminator="type")]

_TO_ENGINE: TypeAdapter[ToEngine] = TypeAdapter(ToEngine)
_FROM_ENGINE: TypeAdapter[FromEngine] = TypeAdapter(FromEngine)


def encode(message: ToEngine | FromEngine) -> str:
    """Serialize a message to one line, including the newline."""
    line = message.model_dump_json() if isinstance(message, BaseModel) else _TO_ENGINE.dump_json(message).decode()
    return f"{line}\n"


def decode_to_engine(line: str) -> ToEngine:
    """Parse a line from the kernel. Raises ValidationError."""
    return _TO_ENGINE.validate_json(line)


def decode_from_engine(line: str) -> FromEngine:
    """Parse a line from the engine. Raises ValidationError."""
    return _FROM_ENGINE.validate_json(line)
