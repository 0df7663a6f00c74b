"""The protocol between kernel and page (JupyterLab, Notebook 7): one source for Python and TypeScript.

There are two comms, because a kernel routes incoming messages to the thread that last sent on the same comm, and a cell
may keep that thread busy. Events are sent on a comm that the kernel opens (`EVENTS`), and opens again whenever a page
must be informed of it: at each `%%explora`, and for each page that sends `Hello`. Controls are received on a comm that
the page opens (`CONTROL`), over a subshell if the kernel supports them; only answers to controls are sent on it.

All pages on one kernel receive all events. Only the `owner` of a run changes its cells: the page (browser tab) with the
calling cell, or the page that took over after that one was closed. `scripts/page_types` writes the JSON schema of this
module to `labextension/messages.schema.json`, from which the TypeScript types are generated.
"""

from __future__ import annotations

from typing import Annotated, Literal

from exploracoder_jupyter.core.validation import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter
from exploracoder_jupyter.protocol.form_messages import FormAnswer, FormRequest

EVENTS = "exploracoder_jupyter:events:v1"
CONTROL = "exploracoder_jupyter:control:v1"
VERSION = 1
"""Version of this protocol; if page and kernel differ, they ask the user to update one of them."""

RunStatus = Literal[
    "starting", "reviewing", "running", "stopping", "solved", "unchecked", "unsolved", "stopped", "failed"
]
"""`reviewing`: the plan awaits the user's approval. The last five are final; `failed`: the run did not start, or was
aborted."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class CellChange(_Message):
    """One change to the notebook's cells, which are identified by id. Apply in order; applying twice is harmless."""

    action: Literal["insert", "replace", "remove"]
    id: str
    after: str | None = None
    """Id of the preceding cell; `None` is the top of the notebook. Unset for `remove`."""
    cell: dict[str, JsonValue] | None = None
    """The whole cell in nbformat 4.5 format, including `id`; `None` for `remove`."""


class ApiView(_Message):
    """A recommended or used API, as shown in the sidebar."""

    path: str
    kind: str = ""
    signature: str = ""
    doc: str = ""
    """The first paragraph of its description, at most 600 characters."""
    recommended: bool = True
    used: bool = False
    """Whether the selected candidate actually calls it."""


class CandidateView(_Message):
    """One candidate, or a repair of one."""

    id: str
    round: int = 0
    repairs: str | None = None
    status: str = "running"
    """`running`, `ok`, `error`, `check failed`, `timeout`, ..., `duplicate`, `no code`, `not finished`."""
    seconds: float | None = None
    line: str = ""
    """One line of the observation: the first line of output, or the error."""
    selectable: bool = False
    """Whether the run can continue from this candidate, because it ran to completion."""
    apis: list[str] = []
    """Paths of the APIs that it actually calls."""
    edits: str | None = None
    """Id of the candidate whose code the user edited to get this one."""
    agrees_with: str = ""
    """Id of an earlier candidate of the subtask that computed the same; empty if there is none."""


class SubtaskView(_Message):
    """One subtask, or the solution (id `solution`)."""

    id: str
    title: str
    status: Literal["planned", "exploring", "done", "failed", "skipped"] = "planned"
    reason: str = ""
    hint: str = ""
    """The user's hint for the latest retry."""
    apis: list[ApiView] = []
    candidates: list[CandidateView] = []
    selected: str | None = None
    why: list[str] = []
    """The reasons why that candidate was selected, as text."""


class RunView(_Message):
    """A run as shown in the sidebar. Sent complete, at most five times per second, and at the end."""

    key: str
    """The kernel's identifier of the run, available before the engine assigns an id."""
    run_id: str = ""
    cell: str | None = None
    """Id of the calling cell."""
    owner: str = ""
    """Id of the page that changes the cells; empty if there is none yet."""
    status: RunStatus = "starting"
    task: str = ""
    setup: str = ""
    """Code that runs before the exploration, as given by the user."""
    origin: str = ""
    """How the run continues another one, if it does: `step 2 again, hint: ...`, `candidate 2.4 chosen`."""
    libraries: list[str] = []
    model: str = ""
    isolation: str = ""
    activity: str = ""
    """The current activity, or how the run ended; one sentence."""
    started: float | None = None
    """Seconds since the epoch, by the kernel's clock."""
    ended: float | None = None
    """End time, chosen so that the time since `started` equals the run's duration plus `waited`."""
    waited: float = 0.0
    """Seconds spent waiting for the user, which do not count as the run's time."""
    waiting_since: float | None = None
    """When the run started to wait for the user, by the kernel's clock; not included in `waited` yet."""
    now: float | None = None
    """When this message was sent, by the kernel's clock: pages continue counting with their own clocks."""
    estimate: str = ""
    calls: int = 0
    tokens: int = 0
    executions: int = 0
    cost: str = ""
    """What was spent in money, with its limit, and the cached tokens, as text; empty if there is neither."""
    budget_tokens: int | None = None
    budget_seconds: float | None = None
    subtasks: list[SubtaskView] = []
    may_explore_now: bool = False
    """Whether the run tries whole programs and can be asked to explore instead."""
    solution: SubtaskView | None = None
    """The solution attempts, once there are any."""
    code: str | None = None
    """The solution to offer to the user, if there is one."""
    patch: Literal["", "ready", "applied"] = ""
    """Whether the solution is a patch of a repository, and whether a page has applied it."""
    notices: list[str] = []
    card: dict[str, str] = {}
    """The result card by MIME type, once the run has ended; empty in lists of runs."""
    trace: str = ""
    """Absolute path of the trace, on the kernel's machine."""
    trace_link: str = ""
    """The path relative to the notebook's folder, with `/`; empty if the folder is not known, or if the trace is
    neither below it nor below the server's root."""


class TraceView(_Message):
    """A past exploration: a run in the user's history, or a trace next to this notebook."""

    link: str
    """Path of the trace relative to the notebook's folder, with `/`; empty if the page cannot open it."""
    path: str = ""
    """Absolute path of the trace, on the kernel's machine; empty if there never was one."""
    gone: bool = False
    """Whether there was a trace that no longer exists."""
    changed: float
    """When the run last made progress, or its trace was last written, in seconds since the epoch."""
    started: float | None = None
    """When the run started, in seconds since the epoch; `None` if the file does not contain it."""
    task: str = ""
    """The beginning of the task, on one line."""
    outcome: str = ""
    """`solved`, `unchecked`, ..., `running` or `cut off`; empty if not known."""
    libraries: str = ""
    """The libraries with their versions, as text."""
    cost: str = ""
    """Calls, tokens, executions and time, as text; empty if not known."""
    resume: str = ""
    """The option that resumes the run; empty unless it was cut off or found no solution, and left a trace."""


# ---- kernel to page, on the events comm


class Opening(_Message):
    """The data of the `comm_open`: the kernel's version and all its runs."""

    version: int = VERSION
    package: str = ""
    """Version of the kernel's package."""
    reason: Literal["call", "hello"] = "call"
    """`call`: a cell is calling; the page whose session is that of the parent header answers with `Hello` at once."""
    runs: list[RunView] = []


class CellsMessage(_Message):
    """Changes to a run's cells. `seq` counts these messages per run, from 1; after a gap, the page sends `Sync`."""

    type: Literal["cells"] = "cells"
    run: str
    seq: int
    changes: list[CellChange]


class StateMessage(_Message):
    """The current state of a run."""

    type: Literal["state"] = "state"
    state: RunView


class WhoMessage(_Message):
    """Asks whether the page that owns this run still exists. It answers with `Here` within three seconds."""

    type: Literal["who"] = "who"
    run: str


class CleanMessage(_Message):
    """`%explora clean`: remove the explorations from the calling notebook. Not answered."""

    type: Literal["clean"] = "clean"
    session: str
    """The session id of the notebook's kernel connection; a page may show several notebooks on one kernel."""
    keep_solution: bool = False
    """Whether to keep solutions, as ordinary cells of the user."""


FromKernel = Annotated[CellsMessage | StateMessage | WhoMessage | CleanMessage, Field(discriminator="type")]


# ---- page to kernel, on the control comm; `request` is a number assigned by the page and repeated in the answer


class Hello(_Message):
    """First message of a page, and its answer to an `Opening` with reason `call`. Answered by `Welcome`."""

    type: Literal["hello"] = "hello"
    request: int = 0
    version: int = VERSION
    page: str
    """Id of the page: persists across reloads, differs between tabs."""
    session: str
    """The session id of the page's kernel connection, as in its messages' headers."""
    notebook: str = ""
    """Path of the notebook on the server, with `/`. A page sends `Hello` again when the notebook is renamed."""


class Here(_Message):
    """The owner's answer to `WhoMessage`. Not answered."""

    type: Literal["here"] = "here"
    request: int = 0
    page: str
    run: str


class Sync(_Message):
    """A page with the calling cell requests all cells of a run. Answered by `Snapshot`.

    A page that does not own the run becomes its owner if the owner does not answer `WhoMessage` within three seconds.
    """

    type: Literal["sync"] = "sync"
    request: int = 0
    page: str
    run: str


class Dismiss(_Message):
    """The user has deleted these cells of the run (empty: all of them), so they must not be inserted again."""

    type: Literal["dismiss"] = "dismiss"
    request: int = 0
    run: str
    cells: list[str] = []


class StopRun(_Message):
    """Finish now and keep the results so far."""

    type: Literal["stop"] = "stop"
    request: int = 0
    run: str


class ExploreNow(_Message):
    """Plan and explore now, instead of trying whole programs first."""

    type: Literal["explore"] = "explore"
    request: int = 0
    run: str


class SkipSubtask(_Message):
    """Abandon this subtask and continue with the next one."""

    type: Literal["skip"] = "skip"
    request: int = 0
    run: str
    subtask: str


class RetrySubtask(_Message):
    """Explore this subtask again, from the state before it, with a hint for the model. Later subtasks are repeated."""

    type: Literal["retry"] = "retry"
    request: int = 0
    run: str
    subtask: str
    hint: str = ""


class ChooseCandidate(_Message):
    """Carry this candidate forward instead of the selected one. Later subtasks are repeated."""

    type: Literal["choose"] = "choose"
    request: int = 0
    run: str
    candidate: str


class RunEditedCandidate(_Message):
    """Run a candidate's code as the user edited it, from the state before its subtask, as a candidate of its own."""

    type: Literal["edit"] = "edit"
    request: int = 0
    run: str
    candidate: str
    """Id of the candidate whose code was edited."""
    code: str


class EditPlan(_Message):
    """Replace the subtasks that have not started with these titles, in this order. While the plan is under review,
    this also approves it."""

    type: Literal["plan"] = "plan"
    request: int = 0
    run: str
    titles: list[str]


class ExportTrace(_Message):
    """Export the trace without unselected candidates. Answered by `Done` with the path in `link` or `said`."""

    type: Literal["export"] = "export"
    request: int = 0
    run: str


class ChangeRepository(_Message):
    """Write the run's patch into its repository, or undo that. Answered by `Done` with a sentence in `said`."""

    type: Literal["change"] = "change"
    request: int = 0
    run: str
    action: Literal["apply", "undo"]


class FindReplaced(_Message):
    """A cell with a solution is about to run: which variables of the user would it replace? Answered by `Replaced`."""

    type: Literal["find_replaced"] = "find_replaced"
    request: int = 0
    run: str = ""
    """Key or id of the run, which the kernel may not know any more."""
    cell: str
    """Id of the cell."""
    code: str
    """Its present source."""
    given: list[str] = []
    """Variables that the task treats as given, as far as the mark of the cell names them."""


RunControl = (
    Sync
    | Dismiss
    | StopRun
    | ExploreNow
    | SkipSubtask
    | RetrySubtask
    | ChooseCandidate
    | RunEditedCandidate
    | EditPlan
    | ExportTrace
    | ChangeRepository
)
"""A control that refers to a run."""

ToKernel = Annotated[
    Hello | Here | RunControl | FindReplaced | FormRequest,
    Field(discriminator="type"),
]


# ---- kernel to page, answers on the control comm


class Welcome(_Message):
    """Answer to `Hello`: all runs and traces. The kernel opens a new events comm just before it."""

    type: Literal["welcome"] = "welcome"
    request: int
    version: int = VERSION
    runs: list[RunView] = []
    traces: list[TraceView] = []


class Snapshot(_Message):
    """Answer to `Sync`: all cells of a run in order, without those that the user deleted."""

    type: Literal["snapshot"] = "snapshot"
    request: int
    run: str
    seq: int
    """`seq` of the last `CellsMessage` included."""
    cells: list[dict[str, JsonValue]]
    removed: list[str] = []
    """Ids of cells that the engine has removed; a page that still has them removes them."""
    state: RunView


class ReplacedVariable(_Message):
    """A variable of the user that a solution would replace."""

    name: str
    kind: str = ""
    """The type and size of its value, without data; empty if not known."""
    given: bool = False
    """Whether the task treats it as given."""


class Replaced(_Message):
    """Answer to `FindReplaced`: the given variables first.

    Left out are variables that the task asks to set, and those whose value an earlier run of the same cell has made.
    """

    type: Literal["replaced"] = "replaced"
    request: int
    variables: list[ReplacedVariable] = []


class Done(_Message):
    """Answer to every other control: it was accepted, or why not."""

    type: Literal["done"] = "done"
    request: int
    problem: str = ""
    """Why the control was rejected, in one sentence; empty if it was accepted."""
    said: str = ""
    link: str = ""


Answer = Annotated[Welcome | Snapshot | Replaced | Done | FormAnswer, Field(discriminator="type")]


# ---- page to kernel, in the metadata of the execution of a calling cell


class Continue(_Message):
    """`metadata.exploracoder_jupyter.continue` of a `%%explora` cell: continue a run that has ended.

    The selected candidates run again from the kernel's current state; then the requested action follows: retry a
    subtask, with or without a hint, or carry another candidate forward, possibly with edited code.
    """

    run: str
    subtask: str = ""
    hint: str = ""
    candidate: str = ""
    code: str = ""
    """The candidate's code as the user edited it; empty: as it was."""


_TO_KERNEL: TypeAdapter[ToKernel] = TypeAdapter(ToKernel)


def parse_control(data: object) -> ToKernel:
    """Parse a control received over the comm. Raises ValidationError."""
    return _TO_KERNEL.validate_python(data)


def to_comm_data(message: BaseModel) -> dict[str, JsonValue]:
    """Convert a message to comm data."""
    data: dict[str, JsonValue] = message.model_dump(mode="json")
    return data
