"""The events of a run: the single source from which trace, cells, panel and summary are computed.

The pipeline emits events; nothing else changes what a run means. An event says *what happened*, never how to show
it. `Record` adds order and time. `dump`/`load` turn records into one line of JSON and back; unknown fields are
ignored on reading, so that newer traces open in older versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from exploracoder_jupyter.core.types import (
    Candidate,
    Environment,
    Exchange,
    Formulation,
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
from exploracoder_jupyter.core.wording import plural


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Always the first event."""

    run_id: str
    """Eight hexadecimal digits."""
    task: Task
    settings: dict[str, JsonValue]
    """The resolved settings as JSON; never holds a key."""
    model: str
    environment: Environment
    version: str
    """Of this package."""
    resumes: str = ""
    """Id of the run that this one goes on from; empty: from none."""
    resumes_trace: str = ""
    """The trace of that run: its name where it lies beside this one, else its path."""
    resumes_from: str = ""
    """The cell of that run that this one goes on from; empty: where it ended."""
    resumes_hint: str = ""
    """The hint that this one began with."""
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that takes a while, e.g. indexing. Shown, not part of the notebook."""

    what: str
    done: int = 0
    total: int = 0
    """0 when unknown."""
    kind: Literal["progress"] = "progress"


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence the user should see and the trace should keep."""

    text: str
    level: Literal["info", "warning"] = "info"
    details: str = ""
    """The traceback of an internal error: kept in the records, not shown."""
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class LibraryRead:
    """The libraries are indexed and introduced."""

    libraries: tuple[LibraryInfo, ...]
    apis: int
    """How many APIs the index holds."""
    introduction: Introduction
    kind: Literal["library_read"] = "library_read"


@dataclass(frozen=True, slots=True)
class Estimated:
    """What the run is expected to cost, said before its first candidate."""

    calls: int
    tokens: int
    at_most: bool = False
    """Before there is a plan: for the largest number of subtasks."""
    kind: Literal["estimated"] = "estimated"

    def __str__(self) -> str:
        return (
            f"{'at most' if self.at_most else 'about'} {plural(self.calls, 'call')} and {plural(self.tokens, 'token')}"
        )


@dataclass(frozen=True, slots=True)
class PlanMade:
    """A plan, or its revision (`plan.revision > 0`)."""

    plan: Plan
    reason: str = ""
    kind: Literal["plan_made"] = "plan_made"


@dataclass(frozen=True, slots=True)
class SubtaskStarted:
    """Exploration of one subtask begins, with the APIs recommended for it."""

    subtask: str
    apis: tuple[ScoredApi, ...]
    kind: Literal["subtask_started"] = "subtask_started"


@dataclass(frozen=True, slots=True)
class CandidateProposed:
    """A snippet exists and is about to run (or is a duplicate, or has a problem, and will not)."""

    candidate: Candidate
    kind: Literal["candidate_proposed"] = "candidate_proposed"


@dataclass(frozen=True, slots=True)
class CandidateObserved:
    """A snippet has been run."""

    candidate: str
    observation: Observation
    apis: tuple[str, ...] = ()
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
    """The plan waits for the user's word (`--review`); `Steered("replan")` is that word."""

    kind: Literal["review_asked"] = "review_asked"


@dataclass(frozen=True, slots=True)
class Steered:
    """The user took the wheel.

    `skip`: the subtask is given up. `retry`: back to the state before `subtask`, explored again with the `hint`.
    `choose`: back to that state too, and `candidate` is carried forward. `replan`: the subtasks that have not begun are
    replaced, or a review ends. After `retry` and `choose` the later subtasks are planned again, not begun; what was
    tried for them stays on record, and a `PlanMade` never follows from it.
    """

    what: Literal["skip", "retry", "choose", "replan"]
    subtask: str = ""
    candidate: str = ""
    hint: str = ""
    kind: Literal["steered"] = "steered"


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A request to the model was answered, or failed for good."""

    exchange: Exchange
    kind: Literal["model_called"] = "model_called"


@dataclass(frozen=True, slots=True)
class KnowledgeSearched:
    """The libraries' documentation and the other sources were searched, for a subtask or after something failed."""

    subject: str
    """`plan`, `solution`, the id of a subtask, or that of the candidate that failed."""
    round: int
    """0 for the first search of a subtask, then 1, 2, ..."""
    formulation: Formulation
    query: str
    apis: tuple[str, ...]
    """Paths of what was found, best first."""
    passages: tuple[Passage, ...] = ()
    agreed: bool = False
    """Whether it found what the round before found, so that no further round follows."""
    kind: Literal["knowledge_searched"] = "knowledge_searched"

    @property
    def made_of(self) -> str:
        """The formulation, as people call it."""
        return "explained code" if self.formulation == "explained" else f"the {self.formulation}"


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The model asked for an API while it was writing (ToolCoder, section 3)."""

    subject: str
    """A subtask or candidate id, as in the request that it happened in."""
    tool: str
    """`search_api`, `get_signature`, `get_source` or `get_examples`."""
    argument: str
    answer: str
    kind: Literal["looked_up"] = "looked_up"


@dataclass(frozen=True, slots=True)
class FilesKept:
    """What the solution wrote was copied out of its branch."""

    folder: str
    """Where the copies are, beside the trace."""
    files: tuple[str, ...]
    """Paths relative to the folder, as they were to the working directory."""
    kind: Literal["files_kept"] = "files_kept"


@dataclass(frozen=True, slots=True)
class InputsInvented:
    """The model has written inputs on which solutions will be tried."""

    inputs: tuple[InventedInput, ...]
    kind: Literal["inputs_invented"] = "inputs_invented"


@dataclass(frozen=True, slots=True)
class SolutionTested:
    """A solution has been run on the inputs."""

    candidate: str
    results: tuple[InputRun, ...]
    kind: Literal["solution_tested"] = "solution_tested"


@dataclass(frozen=True, slots=True)
class SolutionJudged:
    """The model has said whether what a solution gave is what the task asks."""

    candidate: str
    judgement: Judgement
    kind: Literal["solution_judged"] = "solution_judged"


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Always the last event of a run that was not cut off."""

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
    """An event with its place and time."""

    seq: int
    at: float
    """Seconds since the epoch."""
    event: Event


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def dump(record: Record) -> str:
    """The record as one line of JSON."""
    return _RECORD.dump_json(record).decode()


def load(line: str | bytes) -> Record:
    """The record of a line written by `dump`.

    Raises:
        pydantic.ValidationError: the line is not a record.
    """
    return _RECORD.validate_json(line)
