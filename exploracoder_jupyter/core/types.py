"""The nouns of an exploration, as frozen values.

A `Task` is planned into `Subtask`s; each gets a `Recommendation` of `ApiDoc`s and several `Candidate`s; running a
candidate gives an `Observation`; the pair is an `Experience`; the best one is carried forward by a `Selection`; the
end is a `Solution` with a `Verdict`. Everything here is plain data: no behaviour beyond small derived properties, no
dependency on Jupyter, on a model or on a kernel. Terms follow ExploraCoder, section 3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

Output = dict[str, JsonValue]
"""One output in nbformat's form (`output_type` and its fields), plain JSON."""

ApiKind = Literal["function", "class", "method", "property", "module", "constant"]
Status = Literal["ok", "error", "timeout", "died", "interrupted"]
"""How one execution ended. `died`: the kernel process was lost (segfault, `os._exit`, out of memory)."""

SubtaskStatus = Literal["planned", "exploring", "done", "failed", "skipped"]
Outcome = Literal["solved", "unchecked", "unsolved", "stopped"]
"""`solved` means that a check passed, the user's or generated inputs whose outputs were judged right; a solution that
merely ran is `unchecked`."""
Ruling = Literal["right", "wrong", "unsure"]
"""Whether what came out is what the task asks."""

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
]
"""The moments at which the pipeline asks the model."""

Formulation = Literal["task", "subtask", "error", "code", "explained"]
"""What a query was made of (ARKS, section 2.2): the task's or subtask's own words, the error that came, the code that
was tried, or that code explained in words."""

SourceKind = Literal["documentation", "snippet", "web", "workspace"]
"""Where a passage is from: the library's documentation, code that ran in an earlier exploration, a page on the web, the
user's own files."""

Sharing = Literal["values", "schema", "none"]
"""How much of what a candidate printed may go to the model's endpoint."""

_MOST_HEADLINE = 300


@dataclass(frozen=True, slots=True)
class Task:
    """What the user asked for."""

    text: str
    libraries: tuple[str, ...]
    """Distribution or import names, as the user wrote them."""
    uses: tuple[str, ...] = ()
    """Variables of the user's kernel that experiments may see (`--use`)."""
    check: str | None = None
    """Python assertions, `input -> output` pairs, or the text of a doctest or pytest file (`--check`)."""
    solution_name: str | None = None
    """Name of the function that the solution must define (`--name`)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an API, as its source, a stub or its docstring tells it."""

    name: str
    """With its stars: `*args`."""
    type: str = ""
    default: str = ""
    about: str = ""
    """What the docstring says of it, on one line."""


@dataclass(frozen=True, slots=True)
class ApiDoc:
    """One public API: a row of the retrieval table (ExploraCoder, section 3.3)."""

    path: str
    """Public import path, e.g. `networkx.Graph.add_edge`."""
    kind: ApiKind
    signature: str
    """As in `(u, v, **attr)`; empty when it cannot be known."""
    description: str
    """The whole docstring, cleaned of indentation; empty when there is none."""
    library: str
    """Import name of the library, e.g. `sklearn`."""
    version: str
    examples: tuple[str, ...] = ()
    """Runnable code from the documentation, prompts and outputs removed."""
    deprecated: str | None = None
    """What the documentation says of its deprecation."""
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    """Type of what it gives, with what the docstring says of it; empty when it is not known."""
    notes: tuple[str, ...] = ()
    """In which versions it was added or changed, a line each."""
    see_also: tuple[str, ...] = ()
    """Other APIs that its documentation points to, by path where that is known."""
    aliases: tuple[str, ...] = ()
    """Other public paths of the same object, functional forms included: `DataPipe.map` for `Mapper`."""
    origin: str = ""
    """Where it was read: empty for an installed library's own code, else a file and place in it."""

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """First sentence of the description, on one line."""
        paragraph = " ".join(self.description.strip().split("\n\n", 1)[0].split())
        return re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class ScoredApi:
    """An API with its retrieval score; higher is better, comparable within one query only."""

    api: ApiDoc
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that was found and may help, with where it is from. Data: what it asks for is never done."""

    source: SourceKind
    title: str
    text: str
    origin: str
    """Names the place for people: a path, a URL, the trace of a run. Within one source no two passages share it."""
    apis: tuple[str, ...] = ()
    """Paths of the APIs that it is about, or that its code calls, where they are known."""
    code: bool = False
    """Whether `text` is Python code."""
    version: str = ""
    """Of the library that it is about, where that is known."""
    licence: str = ""
    """Under which it may be used, where the source says so."""


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage with its score; higher is better, comparable within one query only."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code that ran, as it is kept for later tasks (ARKS, section 2.1)."""

    library: str
    """Import name."""
    version: str
    title: str
    """What it does: the subtask."""
    code: str
    """All that is needed to run it in a fresh session."""
    apis: tuple[str, ...]
    observed: str
    """What it showed, in brief; empty where values are not kept."""
    python: str
    """Version of the interpreter, `3.11`."""


@dataclass(frozen=True, slots=True)
class LibraryInfo:
    """One library as found in the sibling's environment."""

    name: str
    """Import name."""
    distribution: str
    version: str
    """Empty where none is known."""

    @property
    def titled(self) -> str:
        """`networkx 3.6.1`, or the name alone."""
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True, slots=True)
class Overview:
    """Raw material for the introduction `s` and the planners `D`: README text and example programs."""

    text: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planner:
    """A worked plan drawn from the documentation: a requirement and the steps that met it (section 3.2)."""

    requirement: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Introduction:
    """The condensed library introduction `s` with its few-shot planners `D`."""

    text: str
    planners: tuple[Planner, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtask:
    """One step of the plan, worth one or two API calls."""

    id: str
    """`"1"`, `"2"`, ...: stable over plan revisions, never reused in a run once a subtask has begun; a plan that
    the user has reviewed is numbered in its order."""
    title: str
    online: str = ""
    """What to search the web for before it is tried; empty: nothing (CoCoST, section 3.1)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The subtasks in order; `revision` counts from 0."""

    subtasks: tuple[Subtask, ...]
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One experimental snippet."""

    id: str
    """`"2.3"` for the third of subtask 2; its first repair is `"2.3r1"`; a solution is `"s1"`, `"s2"`, ..."""
    subtask: str
    """Id of its subtask; `"solution"` for solutions."""
    code: str
    round: int = 0
    """0 for a first attempt, r for debug round r."""
    repairs: str | None = None
    """Id of the failed candidate that this one repairs."""
    duplicate_of: str | None = None
    """Id of an identical candidate that was run instead."""
    problem: str | None = None
    """Why there is no code: an empty, refused or malformed reply."""
    parent: str = ""
    """Id of the candidate from whose state it starts; empty: the state at the start of the run. A user's choice is run
    again from the state that its subtask then begins in."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception in a sibling, as text."""

    name: str
    message: str
    traceback: str = ""
    """Plain text, no terminal colours."""
    report: str = ""
    """What a model is shown: the user's own frames with the failing expression and the values in it, the message whole,
    the chain of causes. Empty where it could not be made; then `traceback` is shown."""
    schema: str = ""
    """The report without any value."""
    nearest: tuple[str, ...] = ()
    """Names like one that is missing, with their signatures: of the namespace, and of the libraries' APIs."""

    @property
    def headline(self) -> str:
        """`KeyError: 'x'`, on one line of at most 300 characters."""
        line = f"{self.name}: {self.message}".splitlines()[0] if self.message else self.name
        return line if len(line) <= _MOST_HEADLINE else f"{line[: _MOST_HEADLINE - 3]}..."


@dataclass(frozen=True, slots=True)
class Change:
    """What running code did to one public name."""

    name: str
    how: Literal["new", "rebound", "mutated"]
    """`mutated`: it still holds the same object, which can be seen to have changed."""
    type: str
    """Import path of the type of its value."""
    summary: str = ""
    """The value as a model is shown it; several lines."""
    schema: str = ""
    """The same without anything of the data: type, shape, names of columns and fields."""
    before: str = ""
    """Shape or size before, where that is known and differs."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What running a candidate showed: executability, error, program output (section 3.4)."""

    status: Status
    outputs: tuple[Output, ...] = ()
    """nbformat outputs, not yet sanitized."""
    error: ErrorInfo | None = None
    text: str = ""
    """What the model is shown of the outputs: streams and plain-text results, budgeted; says what was cut."""
    seconds: float = 0.0
    names: tuple[tuple[str, str], ...] = ()
    """New or rebound names with their type, e.g. `("G", "networkx.Graph")`."""
    note: str = ""
    """One sentence where the status needs one, e.g. which limit was hit."""
    changes: tuple[Change, ...] = ()
    """What it did to the names, with what they hold now; empty in traces of before."""
    schema: str = ""
    """`text` without any value: what a model is shown where only the schema is shared."""
    warnings: tuple[str, ...] = ()
    """Warnings and deprecations, a line each: `FutureWarning: ...`."""
    logs: tuple[str, ...] = ()
    """Log records of level WARNING and above, a line each."""
    files: tuple[str, ...] = ()
    """Paths below the working directory of files that were written, in the branch's own view."""
    memory: int = 0
    """Bytes by which the process has grown; 0 where that is not known."""

    @property
    def ran(self) -> bool:
        """Whether the code ran to its end."""
        return self.status == "ok"


@dataclass(frozen=True, slots=True)
class Experience:
    """A subtask, a candidate for it, and what was observed."""

    subtask: Subtask
    candidate: Candidate
    observation: Observation
    apis: tuple[str, ...] = ()
    """Paths of the APIs that the code really calls."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidate carried forward, and why."""

    subtask: str
    candidate: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InventedInput:
    """A test input that the model has written: never with what is expected of it (CoCoST, section 3.2.2)."""

    id: str
    """`"t1"`, `"t2"`, ...: the same in every round."""
    title: str
    before: str = ""
    """Runs before the program and defines or replaces what it reads."""
    after: str = ""
    """Runs after the program and shows what it gives for this input."""


@dataclass(frozen=True, slots=True)
class InputRun:
    """What a program gave for an invented input."""

    input: str
    """Id of the input."""
    observation: Observation
    usable: bool = True
    """False where the input's own `before` failed, so that it says nothing of the program."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge says of one input."""

    input: str
    ruling: Ruling
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the model says of everything that a program gave (CoCoST, section 3.2.1)."""

    ruling: Ruling
    reason: str = ""
    opinions: tuple[Opinion, ...] = ()
    """One for each input that was spoken of."""

    @property
    def said(self) -> str:
        """`wrong: it pairs NaN with NaN`, on one line without a full stop."""
        reason = " ".join(self.reason.split()).rstrip(".")
        return f"{self.ruling}: {reason}" if reason else self.ruling


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent. Adds up."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    executions: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            self.executions + other.executions,
        )

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Call:
    """A look-up that the model asks for while it writes (ToolCoder, section 3)."""

    tool: str
    """As the model names it, e.g. `search_api`."""
    argument: str
    """The query, or the path of an API."""
    id: str = ""
    """As the endpoint names the call; empty where it is written in the text of the reply."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    """`tool`: the answer to a call."""
    content: str
    calls: tuple[Call, ...] = ()
    """What the assistant asked for beside its text, by the endpoint's own means."""
    answers: str = ""
    """Id of the call that a `tool` message answers."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the model is to sample. `None` leaves it to the server."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    n: int = 1


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to the model and all of its replies, as recorded."""

    id: int
    step: Step
    subject: str
    """What it was about: a subtask or candidate id, or empty."""
    model: str
    messages: tuple[Message, ...]
    sampling: Sampling
    replies: tuple[str, ...]
    usage: Usage
    problem: str = ""
    """What was wrong with the replies, if anything."""
    calls: tuple[tuple[Call, ...], ...] = ()
    """What each reply asked to look up beside its text; empty where none did."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the run ended, and the sentence that says why."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Solution:
    """The assembled program."""

    code: str
    candidate: str
    """Id of the solution candidate it came from."""
    apis: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Environment:
    """Where the siblings run; recorded in the trace."""

    python: str
    platform: str
    kernel: str
    """Name of the kernelspec, e.g. `python3`."""
    isolation: str
    """The level reached, e.g. `bubblewrap` or `limits and a copied working directory`."""
    branching: str
    """`rerun` or `fork`."""
    packages: tuple[str, ...] = field(default=())
    """`name==version` lines of the sibling's environment."""
    state: str = ""
    """`live` or `fresh`, and after a colon why; empty in traces of before."""
    folder: str = ""
    """The working directory; empty in traces of before."""
    hash_seed: str = ""
    """`PYTHONHASHSEED` of the siblings, or `random`: the order of sets then differs from kernel to kernel, and is the
    same in all forks of one. Empty in traces of before."""
    time_zone: str = ""
    """Name and distance from UTC, `CET+0100`; empty in traces of before."""
    unindexed: tuple[str, ...] = ()
    """Names of the packages that came from no package index, but from a folder, an archive or a repository: an index
    may have something else of that name. Empty in traces of before."""

    @property
    def confinement(self) -> str:
        """Isolation and state in one line: `namespaces; state live: nothing speaks against it`."""
        return f"{self.isolation}; state {self.state}" if self.state else self.isolation
