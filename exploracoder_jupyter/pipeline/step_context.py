"""The context of every step: the ports and limits of the run, and the state that steps pass on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio.lowlevel

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE, Sharing
from exploracoder_jupyter.core.configuration.exploration_settings import Exploration
from exploracoder_jupyter.core.configuration.retrieval_settings import Retrieval
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Experience,
    Introduction,
    Passage,
    ScoredPassage,
    Snippet,
    SourceKind,
    Task,
)
from exploracoder_jupyter.pipeline.budget import Meter
from exploracoder_jupyter.pipeline.ports import Branch, Emit, Knowledge, Model, PassageSearch, Steering
from exploracoder_jupyter.pipeline.run_plan import Agenda, ResumePoint


class NoSources:
    """The search of a run without sources, which finds and stores nothing. Satisfies `ports.PassageSearch`."""

    kinds: frozenset[SourceKind] = frozenset()

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """Return nothing."""
        return ()

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store nothing."""

    async def forget(self, origins: Sequence[str]) -> None:
        """Drop nothing."""


@dataclass(slots=True)
class Progress:
    """What a run has learned so far: the result of a run that ends early is made from it."""

    experience: tuple[Experience, ...] = ()
    announced: bool = False
    """Whether an event has recorded which libraries the run is about."""
    attempts: tuple[Experience, ...] = ()
    seen: tuple[Experience, ...] = ()
    """These programs and the examples that ran after them, in order."""
    found: tuple[ApiDoc, ...] = ()
    """APIs found for whole programs, best first."""
    refuted: tuple[Experience, ...] = ()
    """Whole programs that ran and failed their check."""
    cut: str = ""
    """The problem of the latest reply with code if it was cut off (`prompting.truncated_replies`)."""
    looked_up: dict[str, ApiDoc] = field(default_factory=dict)
    """APIs that the model was shown when it looked them up, by path."""


@dataclass(frozen=True, slots=True)
class Run:
    """The ports and limits of one run, shared by all of its steps. Only meter, agenda and progress change."""

    task: Task
    settings: Exploration
    model: Model
    knowledge: Knowledge
    root: Branch
    """The initial state; only forked, never run in."""
    emit: Emit
    steering: Steering
    meter: Meter
    sharing: Sharing = "values"
    parallel: int = 4
    files: Path | None = None
    """New folder for the files that the solution writes; `None`: they are not copied."""
    unsent: str = ""
    """What branches would lack if they had to be made with another method than at the start; a sentence, or empty."""
    as_published: bool = False
    """Whether to follow a paper's procedure to the letter: every request it makes, all candidates at once, and no check
    but the user's. Otherwise the model is asked only where its reply may change what is done."""
    steerable: bool = False
    """Whether the run can be steered: then the states before the subtasks are kept, and the plan may be reviewed."""
    given: ResumePoint | None = None
    retrieval: Retrieval = field(default_factory=Retrieval)
    sources: PassageSearch = field(default_factory=NoSources)
    """Sources that are searched besides the index of the libraries' APIs."""
    python: str = ""
    """Version of the interpreter that experiments run in, such as `3.11.9`; empty if unknown."""
    interpreter: str = ""
    """Path of that interpreter, if it is not the one that runs this and is known; else empty."""
    workdir: Path = field(default_factory=Path)
    """The real working directory, of which branches have a private view."""
    agenda: Agenda = field(default_factory=Agenda)
    progress: Progress = field(default_factory=Progress)

    @property
    def asks_always(self) -> bool:
        """Whether every request is made, also one whose reply may change nothing: the offline model costs nothing."""
        return self.as_published or self.model.name == OFFLINE

    @property
    def subtask_context_tokens(self) -> int:
        """Maximum tokens of search results in a request about one subtask: except as published, half of a program's."""
        return self.retrieval.context_tokens // (1 if self.asks_always else 2)


@dataclass(frozen=True, slots=True)
class State:
    """The progress so far; immutable, replaced by each step."""

    introduction: Introduction
    branch: Branch
    """Memory and files after the candidates selected so far."""
    experience: tuple[Experience, ...] = ()
    """One selected experience per explored subtask, including failed ones (section 3.4)."""
    failures: tuple[Experience, ...] = ()
    """Distinct failures of candidates that were not selected, the latest last."""
    retrieved: tuple[ApiDoc, ...] = ()
    """APIs retrieved for all subtasks, best first, without repeats: the pool of the global re-rank."""
    passages: tuple[Passage, ...] = ()
    no_code_problems: tuple[str, ...] = ()
    """What was wrong with the replies for the latest subtasks, if none contained code."""

    @property
    def parent(self) -> str:
        """Id of the candidate that left the branch in its current state; empty at the start of the run."""
        return next((item.candidate.id for item in reversed(self.experience) if item.observation.ran), "")

    def with_experience(self, experience: Experience, branch: Branch) -> State:
        """Return the state after this experience was selected."""
        return replace(self, experience=(*self.experience, experience), branch=branch, no_code_problems=())


def merge_apis(*groups: tuple[ApiDoc, ...]) -> tuple[ApiDoc, ...]:
    """Concatenate the groups without repeating an API."""
    return tuple({api.path: api for group in groups for api in group}.values())


async def raise_if_cancelled() -> None:
    """Stop here if a user control has cancelled the phase; awaited before events that must not follow that."""
    await anyio.lowlevel.checkpoint_if_cancelled()
