"""The messages between kernel and page (JupyterLab, Notebook 7): one source for Python and TypeScript.

Two comms, for a kernel routes what comes in to the thread that last sent on the same comm, and a cell may keep that
thread busy. Events go out on a comm that the kernel opens (`EVENTS`), anew whenever a page must learn of it: at each
`%%explora` and for each page that says hello. Controls come in on a comm that the page opens (`CONTROL`), over a
subshell where the kernel has them, and nothing but answers to controls is ever sent on it.

All pages on one kernel hear all events; a run's cells are changed by its `owner` only, the page (browser tab) whose
cell called, or the one that took over when that was gone. `scripts/page_types` writes the JSON schema of this module
to `labextension/messages.schema.json`, from which the TypeScript types are made.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

EVENTS = "exploracoder_jupyter:events:v1"
CONTROL = "exploracoder_jupyter:control:v1"
VERSION = 1
"""Of these messages; a page and a kernel that differ in it tell the user to update one of them."""

_MESSAGE = ConfigDict(frozen=True, extra="ignore")

RunStatus = Literal[
    "starting", "reviewing", "running", "stopping", "solved", "unchecked", "unsolved", "stopped", "failed"
]
"""`reviewing`: the plan waits for the user's word. The last five are final; `failed`: there was no run, or it broke
off."""


class CellChange(BaseModel):
    """One change of the notebook's cells, to be applied in order, by id; applied twice it does no harm."""

    model_config = _MESSAGE
    action: Literal["insert", "replace", "remove"]
    id: str
    after: str | None = None
    """Id of the cell that it follows; `None` is the top of the notebook. Unset for `remove`."""
    cell: dict[str, JsonValue] | None = None
    """The whole cell in nbformat 4.5's form, `id` included; `None` for `remove`."""


class ApiView(BaseModel):
    """A recommended or used API, as the sidebar shows it."""

    model_config = _MESSAGE
    path: str
    kind: str = ""
    signature: str = ""
    doc: str = ""
    """The first paragraph of its description, at most 600 characters."""
    recommended: bool = True
    used: bool = False
    """Whether the selected candidate really calls it."""


class CandidateView(BaseModel):
    """One candidate, or debug round of one."""

    model_config = _MESSAGE
    id: str
    round: int = 0
    repairs: str | None = None
    status: str = "running"
    """`running`, `ok`, `error`, `check failed`, `timeout`, ..., `duplicate`, `no code`, `not finished`."""
    seconds: float | None = None
    line: str = ""
    """One line of what was observed: the first line shown, or the error."""
    selectable: bool = False
    """Whether the run can go on from it: it ran to its end."""


class SubtaskView(BaseModel):
    """One subtask, or the solution (id `solution`)."""

    model_config = _MESSAGE
    id: str
    title: str
    status: Literal["planned", "exploring", "done", "failed", "skipped"] = "planned"
    reason: str = ""
    hint: str = ""
    """What the user gave along for its latest retry."""
    apis: list[ApiView] = []
    candidates: list[CandidateView] = []
    selected: str | None = None
    why: list[str] = []
    """Why it was selected, in words."""


class RunView(BaseModel):
    """A run as the sidebar shows it. Sent whole, at most five times a second, and at the end."""

    model_config = _MESSAGE
    key: str
    """The kernel's name for the run, known before the engine gives it its id."""
    run_id: str = ""
    cell: str | None = None
    """Id of the calling cell."""
    owner: str = ""
    """Id of the page that changes cells; empty: no page does yet."""
    status: RunStatus = "starting"
    task: str = ""
    origin: str = ""
    """What the run is, if it goes on from another: `step 2 again, hint: ...`, `candidate 2.4 chosen`."""
    libraries: list[str] = []
    model: str = ""
    isolation: str = ""
    activity: str = ""
    """What is being done now, or how it ended; one sentence."""
    started: float | None = None
    """Seconds since the epoch, by the kernel's clock."""
    ended: float | None = None
    """Such that from the start it is as long as the run took, with what it waited for the user."""
    waited: float = 0.0
    """Seconds that it has waited for the user: they do not count as its time."""
    waiting_since: float | None = None
    """Since when it waits for the user, by the kernel's clock; not in `waited` yet."""
    now: float | None = None
    """When this was sent, by the kernel's clock: pages count on from here by their own."""
    estimate: str = ""
    calls: int = 0
    tokens: int = 0
    executions: int = 0
    budget_tokens: int | None = None
    budget_seconds: float | None = None
    subtasks: list[SubtaskView] = []
    solution: SubtaskView | None = None
    """The attempts at a solution, once there are any."""
    code: str | None = None
    """The solution that may be handed to the user, if there is one."""
    notices: list[str] = []
    trace: str = ""
    """Absolute path of the trace, on the kernel's machine."""
    trace_link: str = ""
    """The same relative to the notebook's folder, with `/`; empty where that is not known, or where the trace is below
    neither it nor the server's root."""


class TraceView(BaseModel):
    """What was explored before: a run in the user's history, or a trace beside this notebook."""

    model_config = _MESSAGE
    link: str
    """Its trace relative to the notebook's folder, with `/`; empty where the page cannot open it."""
    path: str = ""
    """Absolute path of the trace, on the kernel's machine; empty where there never was one."""
    gone: bool = False
    """Whether there was a trace that is not there any more."""
    changed: float
    """When the run last went on, or its trace was last written, in seconds since the epoch."""
    started: float | None = None
    """When its run began, likewise, if the file tells it."""
    task: str = ""
    """The beginning of its task, on one line."""
    outcome: str = ""
    """`solved`, `unchecked`, ..., `running` or `cut off`; empty where it is not known."""
    libraries: str = ""
    """With their versions, for people."""
    cost: str = ""
    """What it took, for people; empty where it is not known."""
    resume: str = ""
    """The option that goes on from it, where it ended without a solution or was cut off, and left something."""


# ---- kernel to page, on the events comm


class Opening(BaseModel):
    """The data of the `comm_open`: who speaks, and every run of this kernel."""

    model_config = _MESSAGE
    version: int = VERSION
    package: str = ""
    """Version of the kernel's package."""
    reason: Literal["call", "hello"] = "call"
    """`call`: a cell calls now; the page whose session is the parent header's answers with `Hello` at once."""
    runs: list[RunView] = []


class CellsMessage(BaseModel):
    """Changes of a run's cells. `seq` counts these messages of the run from 1: a gap asks for `Sync`."""

    model_config = _MESSAGE
    type: Literal["cells"] = "cells"
    run: str
    seq: int
    changes: list[CellChange]


class StateMessage(BaseModel):
    """A run as it stands."""

    model_config = _MESSAGE
    type: Literal["state"] = "state"
    state: RunView


class WhoMessage(BaseModel):
    """Is the page that owns this run still there? It answers with `Here`, within three seconds."""

    model_config = _MESSAGE
    type: Literal["who"] = "who"
    run: str


class CleanMessage(BaseModel):
    """`%explora clean`: the notebook that called is to be cleaned of its explorations. Not answered."""

    model_config = _MESSAGE
    type: Literal["clean"] = "clean"
    session: str
    """The session id of the notebook's kernel connection; a page may show several notebooks on one kernel."""
    keep_solution: bool = False
    """Whether solutions stay, as cells of the user's own."""


FromKernel = Annotated[CellsMessage | StateMessage | WhoMessage | CleanMessage, Field(discriminator="type")]


# ---- page to kernel, on the control comm; `request` is the page's number for it, repeated in the answer


class Hello(BaseModel):
    """First message of a page, and its answer to an `Opening` with reason `call`. Answered by `Welcome`."""

    model_config = _MESSAGE
    type: Literal["hello"] = "hello"
    request: int = 0
    version: int = VERSION
    page: str
    """Id of the page: stays over a reload, differs between tabs."""
    session: str
    """The session id of the page's kernel connection, as in its messages' headers."""
    notebook: str = ""
    """Path of the notebook on the server, with `/`. A page sends another hello when the notebook is renamed."""


class Here(BaseModel):
    """The owner's answer to `who`. Not answered."""

    model_config = _MESSAGE
    type: Literal["here"] = "here"
    request: int = 0
    page: str
    run: str


class Sync(BaseModel):
    """A page with the calling cell asks for all cells of a run. Answered by `Snapshot`.

    A page that does not own the run becomes its owner if the owner does not answer `who` within three seconds.
    """

    model_config = _MESSAGE
    type: Literal["sync"] = "sync"
    request: int = 0
    page: str
    run: str


class Dismiss(BaseModel):
    """The user has deleted these cells of the run (none named: all of them): they must not come back."""

    model_config = _MESSAGE
    type: Literal["dismiss"] = "dismiss"
    request: int = 0
    run: str
    cells: list[str] = []


class StopRun(BaseModel):
    """Finish now and keep what was learned."""

    model_config = _MESSAGE
    type: Literal["stop"] = "stop"
    request: int = 0
    run: str


class SkipSubtask(BaseModel):
    """Give up this subtask and go on with the next."""

    model_config = _MESSAGE
    type: Literal["skip"] = "skip"
    request: int = 0
    run: str
    subtask: str


class RetrySubtask(BaseModel):
    """Explore this subtask again, from the state before it; the hint goes to the model. Later subtasks follow anew."""

    model_config = _MESSAGE
    type: Literal["retry"] = "retry"
    request: int = 0
    run: str
    subtask: str
    hint: str = ""


class ChooseCandidate(BaseModel):
    """Carry this candidate forward instead of the selected one. Later subtasks follow anew."""

    model_config = _MESSAGE
    type: Literal["choose"] = "choose"
    request: int = 0
    run: str
    candidate: str


class EditPlan(BaseModel):
    """Replace the subtasks that have not begun by these titles, in this order. While the plan is under review this is
    also the word to begin."""

    model_config = _MESSAGE
    type: Literal["plan"] = "plan"
    request: int = 0
    run: str
    titles: list[str]


class ExportTrace(BaseModel):
    """Write the trace without the candidates that lost. Answered by `Done` with the path in `link` or `said`."""

    model_config = _MESSAGE
    type: Literal["export"] = "export"
    request: int = 0
    run: str


ToKernel = Annotated[
    Hello | Here | Sync | Dismiss | StopRun | SkipSubtask | RetrySubtask | ChooseCandidate | EditPlan | ExportTrace,
    Field(discriminator="type"),
]


# ---- kernel to page, answers on the control comm


class Welcome(BaseModel):
    """Answer to `Hello`: what there is. The kernel has opened a new events comm just before."""

    model_config = _MESSAGE
    type: Literal["welcome"] = "welcome"
    request: int
    version: int = VERSION
    runs: list[RunView] = []
    traces: list[TraceView] = []


class Snapshot(BaseModel):
    """Answer to `Sync`: all cells of a run in order, those that the user deleted left out."""

    model_config = _MESSAGE
    type: Literal["snapshot"] = "snapshot"
    request: int
    run: str
    seq: int
    """Of the last `CellsMessage` that is contained."""
    cells: list[dict[str, JsonValue]]
    removed: list[str] = []
    """Ids of cells that the engine has taken back; a page that has them removes them."""
    state: RunView


class Done(BaseModel):
    """Answer to every other control: it is taken, or why not."""

    model_config = _MESSAGE
    type: Literal["done"] = "done"
    request: int
    problem: str = ""
    """One sentence; empty when it was taken."""
    said: str = ""
    link: str = ""


Answer = Annotated[Welcome | Snapshot | Done, Field(discriminator="type")]


# ---- page to kernel, in the metadata of the execution of a calling cell


class Continue(BaseModel):
    """`metadata.exploracoder_jupyter.continue` of a `%%explora` cell: go on from a run that has ended.

    What was selected before is run again from the kernel's present state, then the one thing is done that is asked
    for: retry a subtask, with or without a hint, or carry another candidate forward.
    """

    model_config = _MESSAGE
    run: str
    subtask: str = ""
    hint: str = ""
    candidate: str = ""


_TO_KERNEL: TypeAdapter[ToKernel] = TypeAdapter(ToKernel)


def control(data: object) -> ToKernel:
    """A control as it came over the comm. Raises pydantic.ValidationError."""
    return _TO_KERNEL.validate_python(data)


def plain(message: BaseModel) -> dict[str, JsonValue]:
    """A message as comm data."""
    data: dict[str, JsonValue] = message.model_dump(mode="json")
    return data
