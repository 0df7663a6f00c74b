"""The ports of the pipeline: what it needs from the world, as small as it can be said.

Adapters live in `models`, `knowledge` and `execution` and never import one another; `session` wires them. Each port
has at least one honest fake that ships (`llm.scripted_model`, ...), so everything above a port is testable without
patching.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from exploracoder_jupyter.core.events import Event
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Call,
    Introduction,
    LibraryInfo,
    Message,
    Observation,
    Overview,
    Sampling,
    ScoredApi,
    ScoredPassage,
    Snippet,
    SourceKind,
    Step,
    Usage,
)
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import Inputs
from exploracoder_jupyter.pipeline.run_controls import Control


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that the model may call while it writes; it takes one text."""

    name: str
    about: str
    parameter: str
    """Name of what it takes."""
    wanted: str
    """What that is."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to the model.

    `messages` is the rendered prompt; `inputs` are the values it was rendered from, for models that are not language
    models (`offline`). A model answers from either, always in the form that the prompt asks for.
    """

    step: Step
    inputs: Inputs
    messages: tuple[Message, ...]
    sampling: Sampling
    subject: str = ""
    """A subtask or candidate id, or empty: with `step` it names the request for people and for replay."""
    schema: dict[str, JsonValue] | None = None
    """JSON schema of the wanted reply; `None` when code is wanted."""
    tools: tuple[Tool, ...] = ()
    """What may be called. The prompt names another form for models and endpoints that know no tools."""
    may_call: bool = True
    """Whether they may be called still: a conversation in which they were goes on knowing them."""
    tokens_left: int | None = None
    """What is left of the run's budget: a model may cut its replies where they exceed it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete choice."""

    index: int
    text: str
    usage: Usage
    """What this choice added; the sum over a request's replies is what the request cost. `calls` counts requests."""
    problem: str = ""
    """`truncated`, `refused`, `empty`: the text may still be usable."""
    calls: tuple[Call, ...] = ()
    """Tools that it calls, beside its text."""


class Model(Protocol):
    """Something that answers requests. Implementations: `llm.openai_model`, `offline`, `replay`, `scripted`."""

    @property
    def name(self) -> str:
        """Shown to the user and recorded, e.g. `qwen3-coder` or `offline`."""
        ...

    def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield `request.sampling.n` replies (fewer if the model has fewer to give), each as soon as it is complete.

        Raises:
            EndpointError: the endpoint refused, or stayed unreachable within the retry limits.
        """
        ...


class Knowledge(Protocol):
    """What is known of the task's libraries. Implementation: `knowledge.Library`."""

    @property
    def libraries(self) -> Sequence[LibraryInfo]:
        """The libraries, as found in the siblings' environment."""
        ...

    @property
    def size(self) -> int:
        """How many APIs are indexed."""
        ...

    @property
    def apis(self) -> Sequence[ApiDoc]:
        """Everything that is indexed."""
        ...

    def overview(self) -> Overview:
        """README text and example programs of the libraries, for the introduction and the planners."""
        ...

    async def search(self, query: str, k: int) -> Sequence[ScoredApi]:
        """The k APIs nearest to the query, best first."""
        ...

    async def search_together(self, queries: Sequence[str], k: int) -> Sequence[ScoredApi]:
        """The k APIs that serve several queries of one task best, best first (ExploraCoder, section 3.3)."""
        ...

    def lookup(self, path: str) -> ApiDoc | None:
        """The API with this path (public, or an alias of it), if it is indexed."""
        ...

    async def source(self, path: str) -> str:
        """Source code of the API with this path, its beginning where it is long; empty where there is none to read:
        the path is not indexed, or it is not written in Python. Never runs code of the library.

        Its first line is a comment that says where it is from, and begins with `privacy_filter.INSTALLED` where
        anybody could
        read that; all other source counts as the user's own."""
        ...

    def introduction(self, model: str) -> Introduction | None:
        """The introduction kept for these library versions and this model, if there is one."""
        ...

    def keep_introduction(self, model: str, introduction: Introduction) -> None:
        """Keep an introduction for later runs."""
        ...


class Source(Protocol):
    """One place to search for passages. Implementations: `knowledge` and `web`."""

    @property
    def kind(self) -> SourceKind:
        """What its passages are."""
        ...

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """At most k passages that may help, best first. Does not raise for what the source does: what cannot be
        searched gives nothing."""
        ...


class Soup(Protocol):
    """All sources of a run behind one search (ARKS, section 2.1). Implementation: `knowledge.Soup`."""

    @property
    def kinds(self) -> frozenset[SourceKind]:
        """What there is to search."""
        ...

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """The k passages nearest to the query over the sources of these kinds (none given: all), best first."""
        ...

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Keep code that ran for later tasks, where that is wanted."""
        ...

    async def forget(self, origins: Sequence[str]) -> None:
        """Drop kept snippets that do not run any more, by the origin of their passages."""
        ...


class Branch(Protocol):
    """One state of a sibling kernel: memory and files. Implementations: fork and rerun, in `execution`."""

    async def run(self, code: str, *, timeout: float) -> Observation:
        """Run code here, changing this state. Never raises for what the code does: a loop, an exit, a crash, a flood
        of output are observations. `timeout` is in seconds.

        Raises:
            KernelError: the sibling could not be started at all.
            BranchingChanged: branches of this state hang and are made in another way from now on; see the error.
        """
        ...

    def expect(self, n: int) -> None:
        """Say that `n` forks of this state will soon be asked for, so that they can be made ready ahead. Returns at
        once; a hint."""
        ...

    async def files(self, folder: Path) -> tuple[str, ...]:
        """Copy what was written in this branch since the root into a new folder, at most as much as the working
        directory may have; the relative paths of what was copied, sorted.

        Raises:
            OSError: it could not be copied.
        """
        ...

    async def fork(self, n: int) -> Sequence[Branch]:
        """`n` new branches that start from exactly this state. This one stays as it is."""
        ...

    async def close(self) -> None:
        """End it, with every process that it started. Idempotent."""
        ...


class Emit(Protocol):
    """Takes the events of a run, in order. Must not block for long and must not raise."""

    def __call__(self, event: Event) -> None:
        """Take one event."""
        ...


class Steering(Protocol):
    """What the user asks for while a run is under way."""

    async def next(self) -> Control:
        """Wait for the next control. Where this is cancelled, none is lost."""
        ...
