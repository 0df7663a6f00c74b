"""The events of a run: the single source from which trace, cells, panel and summary are computed.

Only events that the pipeline emits change the state of a run. An event describes *what happened*, never how to display
it. `Record` adds order and time. `dump` and `load` convert records to one line of JSON and back; unknown fields are
ignored on reading, so that newer traces open in older versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal

from exploracoder_jupyter.core.configuration.sections import Formulation
from exploracoder_jupyter.core.messages import describe_cost, plural
from exploracoder_jupyter.core.types import (
    Candidate,
    Environment,
    Exchange,
    InputRun,
    Introduction,
    InventedInput,
    Judgement,
    LibraryInfo,
    Observation,
    Passage,
    Plan,
    ScoredApi,
    Selection,
    Solution,
    SubtaskStatus,
    Task,
    Usage,
    Verdict,
)
from exploracoder_jupyter.core.validation import Field, JsonValue, TypeAdapter


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Always the first event."""

    run_id: str
    """Eight hexadecimal digits."""
    task: Task
    settings: dict[str, JsonValue]
    """The resolved settings as JSON; never contains a key."""
    model: str
    environment: Environment
    version: str
    """Of this package."""
    resumes: str = ""
    """Id of the run that this one resumes; empty if it resumes none."""
    resumes_trace: str = ""
    """The trace of the resumed run: its file name if it is in the same folder as this trace, else its path."""
    resumes_from: str = ""
    """The cell of the resumed run at which this one starts; empty: where that run ended."""
    resumes_hint: str = ""
    """The hint for the model that this run started with."""
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a slow operation, e.g. indexing. Displayed, but not part of the notebook."""

    what: str
    done: int = 0
    total: int = 0
    """0 when unknown."""
    kind: Literal["progress"] = "progress"


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence to show to the user and to store in the trace."""

    text: str
    level: Literal["info", "warning"] = "info"
    details: str = ""
    """The traceback of an internal error: stored in the records, not displayed."""
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class LibraryRead:
    """The libraries have been indexed and introduced."""

    libraries: tuple[LibraryInfo, ...]
    apis: int
    """Number of APIs in the index."""
    introduction: Introduction
    kind: Literal["library_read"] = "library_read"


@dataclass(frozen=True, slots=True)
class Estimated:
    """The expected cost of the run, emitted before its first candidate."""

    calls: int
    tokens: int
    at_most: bool = False
    """Whether this is an upper bound, computed from the maximum number of subtasks because there is no plan yet."""
    cost: float | None = None
    """In money; `None` if the model has no price."""
    currency: str = ""
    kind: Literal["estimated"] = "estimated"

    def __str__(self) -> str:
        cost = "" if self.cost is None else f" ({describe_cost(self.cost, self.currency)})"
        counts = f"{plural(self.calls, 'call')} and {plural(self.tokens, 'token')}"
        return f"{'at most' if self.at_most else 'about'} {counts}{cost}"


@dataclass(frozen=True, slots=True)
class PlanMade:
    """A plan was made, or revised (`plan.revision > 0`)."""

    plan: Plan
    reason: str = ""
    kind: Literal["plan_made"] = "plan_made"


@dataclass(frozen=True, slots=True)
class SubtaskStarted:
    """The exploration of a subtask starts, with the APIs recommended for it."""

    subtask: str
    apis: tuple[ScoredApi, ...]
    kind: Literal["subtask_started"] = "subtask_started"


@dataclass(frozen=True, slots=True)
class CandidateProposed:
    """A snippet is about to run, unless it is a duplicate or has a problem."""

    candidate: Candidate
    kind: Literal["candidate_proposed"] = "candidate_proposed"


@dataclass(frozen=True, slots=True)
class CandidateObserved:
    """A snippet has run."""

    candidate: str
    observation: Observation
    apis: tuple[str, ...] = ()
    agrees_with: str = ""
    """Id of an earlier candidate of the subtask that computed the same; empty if there is none."""
    kind: Literal["candidate_observed"] = "candidate_observed"


@dataclass(frozen=True, slots=True)
class CandidateSelected:
    """One candidate of a subtask is carried forward."""

    selection: Selection
    kind: Literal["candidate_selected"] = "candidate_selected"


@dataclass(frozen=True, slots=True)
class SubtaskFinished:
    """A subtask is done, failed or skipped."""

    subtask: str
    status: SubtaskStatus
    reason: str = ""
    kind: Literal["subtask_finished"] = "subtask_finished"


@dataclass(frozen=True, slots=True)
class ReviewAsked:
    """The plan awaits the user's approval (`--review`), which is given by `Steered("replan")`."""

    kind: Literal["review_asked"] = "review_asked"


@dataclass(frozen=True, slots=True)
class EffortChosen:
    """The run tries whole programs (`direct`), or plans and explores subtasks (`explore`), from now on."""

    effort: Literal["direct", "explore"]
    reason: str
    """One sentence."""
    kind: Literal["effort_chosen"] = "effort_chosen"


@dataclass(frozen=True, slots=True)
class Steered:
    """The user changed the course of the run.

    `skip`: the subtask is abandoned. `retry`: the run returns to the state before `subtask` and explores it again with
    the `hint`. `choose`: the run returns to that state too, and `candidate` is carried forward. `replan`: the subtasks
    that have not started are replaced, or a review ends. After `retry` and `choose` the later subtasks are `planned`
    again, as if they had not started; their earlier attempts stay recorded, and no `PlanMade` is emitted for this.
    `edit`: the code of `candidate`, as the user edited it, is run as a candidate of its own while the run goes on.
    """

    what: Literal["skip", "retry", "choose", "replan", "edit"]
    subtask: str = ""
    candidate: str = ""
    hint: str = ""
    kind: Literal["steered"] = "steered"


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A request to the model was answered, or failed permanently."""

    exchange: Exchange
    kind: Literal["model_called"] = "model_called"


@dataclass(frozen=True, slots=True)
class KnowledgeSearched:
    """The libraries' documentation and the other sources were searched, for a subtask or after a failure."""

    subject: str
    """`plan`, `solution`, the id of a subtask, or the id of the candidate that failed."""
    round: int
    """0 for the first search of a subtask, then 1, 2, ..."""
    formulation: Formulation
    query: str
    apis: tuple[str, ...]
    """Paths of the APIs found, best first."""
    passages: tuple[Passage, ...] = ()
    agreed: bool = False
    """Whether the results equal those of the previous round, so that no further round follows."""
    kind: Literal["knowledge_searched"] = "knowledge_searched"

    @property
    def made_of(self) -> str:
        """What the query was made from, in words."""
        return "explained code" if self.formulation == "explained" else f"the {self.formulation}"


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The model looked up an API while it was writing code (ToolCoder, section 3)."""

    subject: str
    """A subtask or candidate id, the same as in the model request that contained the lookup."""
    tool: str
    """`search_api`, `get_signature`, `get_source` or `get_examples`."""
    argument: str
    answer: str
    kind: Literal["looked_up"] = "looked_up"


@dataclass(frozen=True, slots=True)
class FilesKept:
    """Files that the solution wrote were copied out of its branch."""

    folder: str
    """Folder with the copies, next to the trace."""
    files: tuple[str, ...]
    """Paths relative to the folder, the same as they were relative to the working directory."""
    kind: Literal["files_kept"] = "files_kept"


@dataclass(frozen=True, slots=True)
class InputsInvented:
    """The model has written test inputs for solutions."""

    inputs: tuple[InventedInput, ...]
    kind: Literal["inputs_invented"] = "inputs_invented"


@dataclass(frozen=True, slots=True)
class SolutionTested:
    """A solution has run on the test inputs."""

    candidate: str
    results: tuple[InputRun, ...]
    kind: Literal["solution_tested"] = "solution_tested"


@dataclass(frozen=True, slots=True)
class SolutionJudged:
    """The model has judged whether a solution's results fulfill the task."""

    candidate: str
    judgement: Judgement
    kind: Literal["solution_judged"] = "solution_judged"


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Always the last event, unless the run was cut off."""

    verdict: Verdict
    solution: Solution | None
    usage: Usage
    usage_by_step: dict[str, Usage] = field(default_factory=dict)
    kind: Literal["run_finished"] = "run_finished"


Event = Annotated[
    RunStarted
    | Progress
    | Notice
    | LibraryRead
    | Estimated
    | PlanMade
    | SubtaskStarted
    | CandidateProposed
    | CandidateObserved
    | CandidateSelected
    | SubtaskFinished
    | ReviewAsked
    | EffortChosen
    | Steered
    | ModelCalled
    | KnowledgeSearched
    | LookedUp
    | FilesKept
    | InputsInvented
    | SolutionTested
    | SolutionJudged
    | RunFinished,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, slots=True)
class Record:
    """An event with its sequence number and time."""

    seq: int
    at: float
    """Seconds since the epoch."""
    event: Event


@cache
def _records() -> TypeAdapter[Record]:
    """Return the parser of records; building it takes longer than most searches."""
    return TypeAdapter(Record)


def dump(record: Record) -> str:
    """Serialize a record to one line of JSON."""
    return _records().dump_json(record).decode()


def load(line: str | bytes) -> Record:
    """Parse a line written by `dump`. Raises ValidationError."""
    return _records().validate_json(line)
