"""The messages between engine and kernel: newline-delimited JSON, one object a line. (Kernel and browser: `page`.)

The relay in the kernel sends `Start` once, then controls; the engine answers with `RecordMessage`s, one `TraceAt` among
them as soon as there is a trace, and exactly one `Finished` or `Failed`. Where `Start` offered the kernel itself, the
engine may ask it to fork with `ForkKernel`, which is answered by `KernelForked`. The engine ends when its standard
input reaches its end.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.protocol.browser_messages import CellChange

_MESSAGE = ConfigDict(frozen=True, extra="ignore")


class Hazard(BaseModel):
    """Something in the kernel that a fork of it cannot carry, as `kernel_agent.forking.fork_hazards` found it."""

    model_config = _MESSAGE
    kind: Literal["refuse", "warn"]
    library: str = ""
    what: str


class LiveOffer(BaseModel):
    """The kernel may be forked, and this is known of it."""

    model_config = _MESSAGE
    hazards: list[Hazard] = []
    secretive: list[str] = []
    """Names of variables that look like credentials; never their values."""
    mentioned: list[str] = []
    """Names of variables that the task or its check has in it: the model is told that they exist, if they then do."""
    paths: list[str] = []
    """What the kernel imports from."""


class Given(BaseModel):
    """Where a run goes on from one that has ended."""

    model_config = _MESSAGE
    plan: list[str]
    """The titles of all subtasks."""
    code: list[str] = []
    """Snippets for the first subtasks, one each: run as their only candidates, without asking the model."""
    hint: str = ""
    """For the model, at the first subtask without a snippet."""
    chosen: bool = False
    """Whether the last snippet is the user's choice; the others were carried forward before."""


class Resume(BaseModel):
    """A recorded run that is gone on from."""

    model_config = _MESSAGE
    trace: str
    """Path of its trace or journal."""
    cell: str = ""
    """A candidate, a subtask or `solution` to go on from; empty: where it ended."""
    hint: str = ""
    """For the model, at what is explored first."""


class Replay(BaseModel):
    """A recorded run that is shown again."""

    model_config = _MESSAGE
    trace: str
    """Path of its trace or journal."""
    out: str
    """Path of the new trace."""
    delay: Literal["recorded", "none"] = "none"
    """Whether the replies take as long as they did."""
    kernel: str | None = None
    """Where its code is run; none: where it was run then."""


class Start(BaseModel):
    """Kernel to engine, first line: what to do. Never holds a key: the engine finds it itself."""

    model_config = _MESSAGE
    type: Literal["start"] = "start"
    task: str
    libraries: list[str]
    uses: list[str] = []
    check: str | None = None
    solution_name: str | None = None
    layers: list[dict[str, dict[str, JsonValue]]] = []
    """Settings given by flags and by `%config`, strongest first."""
    notebook: str | None = None
    """Path of the calling notebook, if known: the trace is written beside it."""
    cell: str | None = None
    """Id of the calling cell, if known: generated cells are anchored to it."""
    workdir: str = "."
    variables: str | None = None
    """Folder with the values of `uses`, if any were sent; both ends remove it, whichever lives longer."""
    unsent: str = ""
    """Which of `uses` are not there, and why: they cannot be written, or experiments need none. Empty when all are."""
    live: LiveOffer | None = None
    """Set where the kernel can be forked, as far as it knows itself."""
    cells: bool = False
    """Whether the kernel wants `CellsChanged`."""
    given: Given | None = None
    """Set where this run goes on from another."""
    resume: Resume | None = None
    """Set where that other run is known by its trace."""
    replay: Replay | None = None
    """Set where a recorded run is shown again, instead of all else that is said of the run."""


class Stop(BaseModel):
    """Kernel to engine: finish now, keep what was learned."""

    model_config = _MESSAGE
    type: Literal["stop"] = "stop"


class Skip(BaseModel):
    """Kernel to engine: give up this subtask and go on."""

    model_config = _MESSAGE
    type: Literal["skip"] = "skip"
    subtask: str


class Retry(BaseModel):
    """Kernel to engine: go back to the state before this subtask and explore it again, and those after it."""

    model_config = _MESSAGE
    type: Literal["retry"] = "retry"
    subtask: str
    hint: str = ""
    """For the model; may be empty."""


class Choose(BaseModel):
    """Kernel to engine: carry this candidate forward instead, and explore the later subtasks anew."""

    model_config = _MESSAGE
    type: Literal["choose"] = "choose"
    candidate: str


class Replan(BaseModel):
    """Kernel to engine: these titles replace the subtasks that have not begun; ends a review."""

    model_config = _MESSAGE
    type: Literal["replan"] = "replan"
    titles: list[str]


class KernelForked(BaseModel):
    """Kernel to engine: it has forked, or could not."""

    model_config = _MESSAGE
    type: Literal["kernel_forked"] = "kernel_forked"
    number: int = 0
    """Of the request that this answers."""
    problem: str = ""
    """Why there is no fork, one sentence; empty when there is one."""


class ForkKernel(BaseModel):
    """Engine to kernel: fork yourself; the child reports to the engine at this address."""

    model_config = _MESSAGE
    type: Literal["fork_kernel"] = "fork_kernel"
    number: int = 0
    """Repeated in the answer, so that one that comes too late is not taken for the next."""
    address: str
    """A UNIX socket on which the engine listens; there the child hears what it is to do."""


class RecordMessage(BaseModel):
    """Engine to kernel: one event of the run."""

    model_config = _MESSAGE
    type: Literal["record"] = "record"
    record: Record


class CellsChanged(BaseModel):
    """Engine to kernel: what has to change in the calling notebook."""

    model_config = _MESSAGE
    type: Literal["cells"] = "cells"
    changes: list[CellChange]


class TraceAt(BaseModel):
    """Engine to kernel: the trace is begun, so that its place is known if the engine dies."""

    model_config = _MESSAGE
    type: Literal["trace_at"] = "trace_at"
    path: str


class Finished(BaseModel):
    """Engine to kernel, last line: the summary (the object that `--json` prints)."""

    model_config = _MESSAGE
    type: Literal["finished"] = "finished"
    summary: dict[str, JsonValue]


class Failed(BaseModel):
    """Engine to kernel, last line: the run could not be made."""

    model_config = _MESSAGE
    type: Literal["failed"] = "failed"
    error: str
    remedy: str = ""


ToEngine = Annotated[Start | Stop | Skip | Retry | Choose | Replan | KernelForked, Field(discriminator="type")]
Told = RecordMessage | CellsChanged | TraceAt | Finished | Failed
"""What is for whoever follows the run."""
FromEngine = Annotated[Told | ForkKernel, Field(discriminator="type")]

_TO_ENGINE: TypeAdapter[ToEngine] = TypeAdapter(ToEngine)
_FROM_ENGINE: TypeAdapter[FromEngine] = TypeAdapter(FromEngine)


def encode(message: ToEngine | FromEngine) -> str:
    """The message as one line, newline included."""
    return message.model_dump_json() + "\n"


def decode_to_engine(line: str) -> ToEngine:
    """A line from the kernel. Raises pydantic.ValidationError."""
    return _TO_ENGINE.validate_json(line)


def decode_from_engine(line: str) -> FromEngine:
    """A line from the engine. Raises pydantic.ValidationError."""
    return _FROM_ENGINE.validate_json(line)
