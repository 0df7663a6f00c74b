"""The data types of an exploration, as frozen dataclasses.

A `Task` is planned into `Subtask`s; each gets recommended `ApiDoc`s and several `Candidate`s; running a candidate
gives an `Observation`; the pair is an `Experience`; the best one is carried forward by a `Selection`; the result is a
`Solution` with a `Verdict`. Everything here is plain data: no behaviour beyond small derived properties, no dependency
on Jupyter, a model or a kernel. Terms follow ExploraCoder, section 3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from exploracoder_jupyter.core.validation import JsonValue

Output = dict[str, JsonValue]
"""One output in nbformat's format (`output_type` and its fields), plain JSON."""

ApiKind = Literal["function", "class", "method", "property", "module", "constant"]
Status = Literal["ok", "error", "timeout", "died", "interrupted"]
"""How one execution ended. `died`: the kernel process terminated (segfault, `os._exit`, out of memory)."""

SubtaskStatus = Literal["planned", "exploring", "done", "failed", "skipped"]
Outcome = Literal["solved", "unchecked", "unsolved", "stopped"]
"""`solved` means that the user's check passed, or that the outputs for generated inputs were judged right; a solution
that merely ran is `unchecked`."""
StopCause = Literal["", "budget", "futile", "user", "error"]
"""What stopped a run before its end: the budget, the failure of too many subtasks, the user, or an error; empty if
nothing did."""
Unmet = Literal["", "check", "name", "input"]
"""What a program that ran to its end did not fulfill: its check, the demand to define a function of this name, or the
demand to use a variable of the user's instead of making it up."""
Ruling = Literal["right", "wrong", "unsure"]
"""Whether the outputs fulfill the task."""

Step = Literal[
    "introduce",
    "planners",
    "plan",
    "recommend",
    "recommend_global",
    "propose",
    "debug",
    "solve",
    "repair",
    "invent",
    "judge",
    "explain",
    "strategy",
]
"""The steps in which the pipeline calls the model; `strategy` is any prompt of a strategy's own."""

SourceKind = Literal["documentation", "snippet", "web", "workspace"]
"""Where a passage comes from: the library's documentation, code that ran in an earlier exploration, a web page, or the
user's own files."""

_MAX_HEADLINE = 300


@dataclass(frozen=True, slots=True)
class RepositoryTask:
    """What is written in a repository, whose folder is the working directory of the run."""

    target: str
    """`FILE::NAME` (`--target`)."""
    tests: tuple[str, ...] = ()
    """Arguments of pytest that select the tests (`--tests`); empty: all of them."""
    command: str = ""
    """A test command for a shell, in place of pytest (`--test-command`)."""


@dataclass(frozen=True, slots=True)
class UserVariable:
    """A variable of the user's kernel that the task or its check names."""

    name: str
    type: str = ""
    """Import path of its type."""
    given: bool = False
    """Whether the task treats it as given: then no program may make it up."""
    schema: str = ""
    """Its summary without any data, such as columns with their types; empty if it is not known."""
    lacking: str = ""
    """Why experiments do not have it, as a clause; empty if they have it."""


@dataclass(frozen=True, slots=True)
class Task:
    """The user's request."""

    text: str
    libraries: tuple[str, ...]
    """Distribution or import names, as written by the user."""
    uses: tuple[str, ...] = ()
    """Variables of the user's kernel that experiments may see (`--use`)."""
    check: str | None = None
    """Python assertions, `input -> output` pairs, or the text of a doctest or pytest file (`--check`)."""
    solution_name: str | None = None
    """Name of the function that the solution must define (`--name`)."""
    setup: str = ""
    """Code that makes the variables of which the task speaks (`--setup`): runs before everything else, and is not part
    of the solution."""
    repository: RepositoryTask | None = None
    """Set if the solution is a class or function of a repository."""
    variables: tuple[UserVariable, ...] = ()
    """What is known of the variables that it names; those that experiments have are among `uses` too."""

    @property
    def subject(self) -> str:
        """What it is about, as text: the libraries, or the target in a repository."""
        return ", ".join(self.libraries) or (self.repository.target if self.repository else "")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an API, from its source code, a stub or its docstring."""

    name: str
    """Including stars: `*args`."""
    type: str = ""
    default: str = ""
    about: str = ""
    """Its description in the docstring, on one line."""


_BOXES = re.compile(r"\A(?:(?:!!!|\?\?\?) [^\n]*\n(?:[ \t]+[^\n]*\n|[ \t]*\n)*)+")
"""Boxes of MkDocs at the beginning of a docstring: their title, and what is indented below it."""


@dataclass(frozen=True, slots=True)
class ApiDoc:
    """One public API: a row of the retrieval table (ExploraCoder, section 3.3)."""

    path: str
    """Public import path, e.g. `networkx.Graph.add_edge`."""
    kind: ApiKind
    signature: str
    """As in `(u, v, **attr)`; empty if it cannot be determined."""
    description: str
    """The whole docstring without indentation; empty if there is none."""
    library: str
    """Import name of the library, e.g. `sklearn`."""
    version: str
    examples: tuple[str, ...] = ()
    """Runnable code from the documentation, prompts and outputs removed."""
    deprecated: str | None = None
    """The documentation's note on its deprecation."""
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    """Return type, with its description in the docstring; empty if not known."""
    notes: tuple[str, ...] = ()
    """Versions in which it was added or changed, one line each."""
    see_also: tuple[str, ...] = ()
    """Other APIs that its documentation refers to, by path if that is known."""
    aliases: tuple[str, ...] = ()
    """Other public paths of the same object, functional forms included: `DataPipe.map` for `Mapper`."""
    origin: str = ""
    """Where the documentation was read: empty for an installed library's own code, else a file and a position in it."""
    members: tuple[str, ...] = ()
    """Of a class, the names of its methods and properties, of an enum those of its values."""
    foreign: bool = False
    """Whether it is a member that a class inherits from another library."""

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """First sentence of the description, on one line; titles of boxes (`!!! note`) are not sentences."""
        paragraph = " ".join(_BOXES.sub("", self.description.lstrip()).split("\n\n", 1)[0].split())
        return re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class ScoredApi:
    """An API with its retrieval score; higher is better, comparable within one query only."""

    api: ApiDoc
    score: float

    @property
    def listed(self) -> ScoredApi:
        """With the first paragraph of its documentation, as people are shown it; prompts are recorded in full."""
        api = self.api
        first = api.description.strip().split("\n\n", 1)[0]
        short = ApiDoc(api.path, api.kind, api.signature, first, api.library, api.version, deprecated=api.deprecated)
        return ScoredApi(short, self.score)


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved text that may help, with its origin. Treated as data: instructions in it are never followed."""

    source: SourceKind
    title: str
    text: str
    origin: str
    """Human-readable location: a path, a URL, the trace of a run. Unique among the passages of one source."""
    apis: tuple[str, ...] = ()
    """Paths of the APIs that the text describes or that its code calls, if known."""
    code: bool = False
    """Whether `text` is Python code."""
    version: str = ""
    """Version of the library that the text describes, if known."""
    licence: str = ""
    """License of the text, if the source states it."""


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage with its score; higher is better, comparable within one query only."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code that ran, as stored for later tasks (ARKS, section 2.1)."""

    library: str
    """Import name."""
    version: str
    title: str
    """What the code does: the title of the subtask."""
    code: str
    """Complete code that runs in a fresh session."""
    apis: tuple[str, ...]
    observed: str
    """Summary of its output; empty if values are not stored."""
    python: str
    """Version of the interpreter, e.g. `3.11`."""


@dataclass(frozen=True, slots=True)
class LibraryInfo:
    """One library in the sibling's environment."""

    name: str
    """Import name."""
    distribution: str
    version: str
    """Empty if not known."""

    @property
    def titled(self) -> str:
        """Name and version, e.g. `networkx 3.6.1`, or the name alone."""
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True, slots=True)
class Overview:
    """Raw material for the introduction `s` and the planners `D`: README text and example programs."""

    text: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planner:
    """An example plan derived from the documentation: a requirement and the steps that fulfill it (section 3.2)."""

    requirement: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Introduction:
    """The condensed library introduction `s` with its few-shot planners `D`."""

    text: str
    planners: tuple[Planner, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtask:
    """One step of the plan, requiring one or two API calls."""

    id: str
    """`"1"`, `"2"`, ...: stable across plan revisions, and never reused in a run once a subtask has started; after a
    review the subtasks are numbered in order."""
    title: str
    online: str = ""
    """Web search query to run before the subtask; empty for none (CoCoST, section 3.1)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The subtasks in order; `revision` counts from 0."""

    subtasks: tuple[Subtask, ...]
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One experimental snippet."""

    id: str
    """`"2.3"` for the third of subtask 2; its first repair is `"2.3r1"`; a solution is `"s1"`, `"s2"`, ..., and the
    example of the task that ran in the state after it `"s1e"`."""
    subtask: str
    """Id of the subtask; `"solution"` for solutions."""
    code: str
    round: int = 0
    """0 for a first attempt, r for debug round r."""
    repairs: str | None = None
    """Id of the failed candidate that this one repairs."""
    duplicate_of: str | None = None
    """Id of an identical candidate that ran instead."""
    problem: str | None = None
    """Why there is no code: an empty, refused or malformed reply."""
    parent: str = ""
    """Id of the candidate from whose state this one starts; empty: the state at the start of the run. A candidate
    chosen by the user runs again from the state in which its subtask then starts."""
    edits: str | None = None
    """Id of the candidate whose code the user edited to get this one."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception in a sibling, as text."""

    name: str
    message: str
    traceback: str = ""
    """Plain text, without terminal colors."""
    report: str = ""
    """The error as shown to the model: the frames of user code with the failing expression and its values, the complete
    message, and the chain of causes. Empty if it could not be created; then `traceback` is shown."""
    schema: str = ""
    """The report without any values."""
    nearest: tuple[str, ...] = ()
    """Names similar to a missing one, with their signatures, from the namespace and the libraries' APIs."""

    @property
    def headline(self) -> str:
        """Type and message, e.g. `KeyError: 'x'`, on one line of at most 300 characters."""
        line = f"{self.name}: {self.message}".splitlines()[0] if self.message else self.name
        return line if len(line) <= _MAX_HEADLINE else f"{line[: _MAX_HEADLINE - 3]}..."


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of executed code on one public name."""

    name: str
    how: Literal["new", "rebound", "mutated"]
    """`mutated`: the name is bound to the same object, but the object has visibly changed."""
    type: str
    """Import path of the value's type."""
    summary: str = ""
    """The value as shown to the model; several lines."""
    schema: str = ""
    """The summary without any data: type, shape, names of columns and fields."""
    before: str = ""
    """Previous shape or size, if known and different."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of running a candidate: executability, error, program output (section 3.4)."""

    status: Status
    outputs: tuple[Output, ...] = ()
    """nbformat outputs, not yet sanitized."""
    error: ErrorInfo | None = None
    text: str = ""
    """The outputs as shown to the model: streams and plain-text results, shortened to a budget with a note on what was
    cut."""
    seconds: float = 0.0
    names: tuple[tuple[str, str], ...] = ()
    """New or rebound names with their type, e.g. `("G", "networkx.Graph")`."""
    note: str = ""
    """One sentence that explains the status, if needed, e.g. which limit was exceeded."""
    changes: tuple[Change, ...] = ()
    """Effects on public names, with their current values; empty in traces from older versions."""
    schema: str = ""
    """`text` without any values: shown to the model if only the schema is shared."""
    warnings: tuple[str, ...] = ()
    """Warnings and deprecations, one line each: `FutureWarning: ...`."""
    logs: tuple[str, ...] = ()
    """Log records of level WARNING and above, one line each."""
    files: tuple[str, ...] = ()
    """Files written below the working directory, as paths seen from within the branch."""
    memory: int = 0
    """Growth of the process in bytes; 0 if not known."""
    unmet: Unmet = ""
    """What a program did not fulfill that ran to its end, and whose status is therefore that of its check."""

    @property
    def ran(self) -> bool:
        """Whether the code ran to its end, and fulfilled its check if it has one."""
        return self.status == "ok"


@dataclass(frozen=True, slots=True)
class Experience:
    """A subtask, a candidate for it, and the observation."""

    subtask: Subtask
    candidate: Candidate
    observation: Observation
    apis: tuple[str, ...] = ()
    """Paths of the APIs that the code actually calls."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidate carried forward, and why."""

    subtask: str
    candidate: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InventedInput:
    """A test input written by the model, always without an expected output (CoCoST, section 3.2.2)."""

    id: str
    """`"t1"`, `"t2"`, ...: the same in every round."""
    title: str
    before: str = ""
    """Code to run before the program: defines or replaces what the program reads."""
    after: str = ""
    """Code to run after the program: displays the result for this input."""


@dataclass(frozen=True, slots=True)
class InputRun:
    """The result of a program for an invented input."""

    input: str
    """Id of the input."""
    observation: Observation
    usable: bool = True
    """False if the input's own `before` failed, so that the result says nothing about the program."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """The judge's opinion on the result for one input."""

    input: str
    ruling: Ruling
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The model's judgement of all results of a program (CoCoST, section 3.2.1)."""

    ruling: Ruling
    reason: str = ""
    opinions: tuple[Opinion, ...] = ()
    """One for each input that the judge commented on."""

    @property
    def summary(self) -> str:
        """Ruling and reason, e.g. `wrong: it pairs NaN with NaN`, on one line without a period."""
        reason = " ".join(self.reason.split()).rstrip(".")
        return f"{self.ruling}: {reason}" if reason else self.ruling


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources consumed; values can be added."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    executions: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the endpoint had in its cache; `prompt_tokens` includes them."""
    cost: float | None = None
    """In money; `None` if the model has no price."""
    currency: str = ""
    """Of the cost, as the user's settings label it."""

    def __add__(self, other: Usage) -> Usage:
        costs = [one.cost for one in (self, other) if one.cost is not None]
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            self.executions + other.executions,
            self.cached_tokens + other.cached_tokens,
            sum(costs) if costs else None,
            self.currency or other.currency,
        )

    @property
    def tokens(self) -> int:
        """Sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Call:
    """A lookup that the model requests while it writes code (ToolCoder, section 3)."""

    tool: str
    """The tool as named by the model, e.g. `search_api`."""
    argument: str
    """The query, or the path of an API."""
    id: str = ""
    """The endpoint's id for the call; empty if the call was written in the text of the reply."""
    extra: str = ""
    """Further fields that the endpoint sent with the call, as JSON; it wants them back with the answer. E.g. Gemini's
    signature of a thought."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    """`tool`: the answer to a call."""
    content: str
    calls: tuple[Call, ...] = ()
    """Tool calls of the assistant, made through the endpoint's API."""
    answers: str = ""
    """Id of the call that a `tool` message answers."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters for the model; `None` means the server's default."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    n: int = 1


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to the model with all replies, as recorded."""

    id: int
    step: Step
    subject: str
    """The subtask or candidate id that the request concerns, or empty."""
    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    replies: tuple[str, ...]
    usage: Usage
    problem: str = ""
    """The problem with the replies, if any."""
    calls: tuple[tuple[Call, ...], ...] = ()
    """Lookups requested by each reply in addition to its text; empty if there were none at all."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of the run, with one sentence of explanation."""

    outcome: Outcome
    reason: str
    stopped_by: StopCause = ""
    """Empty also in traces from older versions."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The assembled program."""

    code: str
    candidate: str
    """Id of the solution candidate that contains the code."""
    apis: tuple[str, ...] = ()
    patch: str = ""
    """The change of the repository in git's form, for a run in a repository."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where the siblings run; recorded in the trace."""

    python: str
    platform: str
    kernel: str
    """Name of the kernelspec, e.g. `python3`."""
    isolation: str
    """The isolation level in effect, e.g. `bubblewrap` or `limits and a copied working directory`."""
    branching: str
    """`rerun` or `fork`."""
    packages: tuple[str, ...] = field(default=())
    """`name==version` lines of the sibling's environment."""
    state: str = ""
    """`live` or `fresh`, followed by a colon and the reason; empty in traces from older versions."""
    folder: str = ""
    """The working directory; empty in traces from older versions."""
    hash_seed: str = ""
    """`PYTHONHASHSEED` of the siblings, or `random`: then the order of sets differs between kernels, but is the same in
    all forks of one kernel. Empty in traces from older versions."""
    time_zone: str = ""
    """Name and offset from UTC, e.g. `CET+0100`; empty in traces from older versions."""
    unindexed: tuple[str, ...] = ()
    """Names of packages that were installed from a folder, an archive or a repository instead of a package index: an
    index may have a different package of that name. Empty in traces from older versions."""

    @property
    def confinement(self) -> str:
        """Isolation and state on one line, e.g. `namespaces; state live: nothing speaks against it`."""
        return f"{self.isolation}; state {self.state}" if self.state else self.isolation
