"""The ports of the pipeline: minimal interfaces to everything outside it.

Adapters live in `llm`, `knowledge` and `kernels` and never import one another; `runs` wires them. Each port ships with
at least one working fake (`llm.scripted_model`, ...), so everything above a port is testable without patching.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
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
from exploracoder_jupyter.protocol.messages import Control


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call while it writes code; it takes one text argument."""

    name: str
    about: str
    parameter: str
    wanted: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model.

    `messages` is the rendered prompt; `inputs` are the values it was rendered from, for models that are not language
    models (`offline`). A model answers from either, always in the form that the prompt asks for.
    """

    step: Step
    inputs: Inputs
    messages: tuple[Message, ...]
    sampling: Sampling
    subject: str = ""
    """A subtask or candidate id, or empty; together with `step` it identifies the request for people and for replay."""
    schema: dict[str, JsonValue] | None = None
    """JSON schema of the wanted reply; `None` when code is wanted."""
    tools: tuple[Tool, ...] = ()
    """Tools that may be called. The prompt describes a text form for models and endpoints without tool support."""
    may_call: bool = True
    """Whether tools may still be called; a conversation with tool calls keeps listing the tools even if not."""
    inline_lookups: bool = False
    """Whether the model looks APIs up in the middle of its code (`prompting.inline_lookups`). It should stop where an
    answer belongs; text after that is ignored. A last message of the assistant is then to be continued."""
    tokens_left: int | None = None
    """Tokens left in the run's budget; a model may cut replies that exceed it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete choice."""

    index: int
    text: str
    usage: Usage
    """Usage added by this choice; the sum over a request's replies is its cost. `calls` counts requests."""
    problem: str = ""
    """`truncated`, `refused`, `empty`: the text may still be usable. `truncated by SETTING` where the limit is not the
    server's, but ours (`pipeline.prompting.requests`)."""
    calls: tuple[Call, ...] = ()
    """Tool calls of the reply, in addition to its text."""


class Model(Protocol):
    """A model that answers requests. Implementations: `llm.endpoint.model`, `offline`, `replay`, `scripted`."""

    @property
    def name(self) -> str:
        """Name shown to the user and recorded, such as `qwen3-coder` or `offline`."""

    def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield `request.sampling.n` replies (fewer if the model has fewer to give), each as soon as it is complete.

        Raises:
            EndpointError: the endpoint refused, or stayed unreachable within the retry limits.
        """


class Knowledge(Protocol):
    """Knowledge of the task's libraries. Implementation: `knowledge.Library`."""

    @property
    def libraries(self) -> Sequence[LibraryInfo]:
        """The libraries, as found in the siblings' environment."""

    @property
    def size(self) -> int:
        """Number of indexed APIs."""

    @property
    def apis(self) -> Sequence[ApiDoc]:
        """All indexed APIs."""

    def overview(self) -> Overview:
        """Return README text and example programs of the libraries, for the introduction and the planners."""

    async def search(self, query: str, k: int) -> Sequence[ScoredApi]:
        """Return the k APIs nearest to the query, best first."""

    async def search_together(self, queries: Sequence[str], k: int) -> Sequence[ScoredApi]:
        """Return the k APIs that best serve several queries of one task, best first (ExploraCoder, section 3.3)."""

    def lookup(self, path: str) -> ApiDoc | None:
        """Return the API with this path (public, or an alias of it), if it is indexed."""

    async def source(self, path: str) -> str:
        """Return the source code of the API with this path, truncated if it is long. Never runs code of the library.

        Empty if there is no source to read: the path is not indexed, or the API is not written in Python. The first
        line is a comment that names the origin. It begins with `observations.INSTALLED` if the source is publicly
        available; all other source counts as the user's own.
        """

    def introduction(self, model: str) -> Introduction | None:
        """Return the stored introduction for these library versions and this model, if there is one."""

    def keep_introduction(self, model: str, introduction: Introduction) -> None:
        """Store an introduction for later runs."""


class Source(Protocol):
    """One source of passages. Implementations: `knowledge` and `web`."""

    @property
    def kind(self) -> SourceKind:
        """Kind of its passages."""

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k passages that may help, best first.

        Does not raise if the source fails: a source that cannot be searched returns nothing.
        """


class PassageSearch(Protocol):
    """All sources of a run behind one search: the "soup" of ARKS (section 2.1); `knowledge.SourceSearch`."""

    @property
    def kinds(self) -> frozenset[SourceKind]:
        """Kinds of the sources that can be searched."""

    async def search(
        self, query: str, k: int, *, among: Collection[SourceKind] | None = None
    ) -> Sequence[ScoredPassage]:
        """Return the k passages nearest to the query from the sources of these kinds (default: all), best first."""

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store code that ran for later tasks, if enabled."""

    async def forget(self, origins: Sequence[str]) -> None:
        """Drop stored snippets that no longer run, by the origin of their passages."""


class Branch(Protocol):
    """One state of a sibling kernel: memory and files. Implementations: fork and rerun, in `kernels`."""

    async def run(self, code: str, *, timeout: float) -> Observation:
        """Run code in this branch, changing its state.

        Never raises for what the code does: a loop, an exit, a crash or a flood of output is an observation. `timeout`
        is in seconds.

        Raises:
            KernelError: the sibling could not be started at all.
            BranchingChanged: branches of this state hang, and are made with another method from now on; see the error.
        """

    def expect(self, n: int) -> None:
        """Announce that `n` forks of this state will be requested soon, so that they can be prepared."""

    async def files(self, folder: Path) -> tuple[str, ...]:
        """Copy the files written in this branch since the root into a new folder; return their relative paths, sorted.

        At most as much is copied as the working directory may hold.

        Raises:
            OSError: the files could not be copied.
        """

    async def fork(self, n: int) -> Sequence[Branch]:
        """Return `n` new branches that start from exactly this state, which stays unchanged."""

    async def close(self) -> None:
        """Close the branch and end every process that it started. Idempotent."""


Emit = Callable[[Event], None]
"""Receives the events of a run, in order. Must not block for long and must not raise."""


class Steering(Protocol):
    """The user's controls while a run is in progress."""

    async def next(self) -> Control:
        """Wait for the next control. Cancelling the wait loses none."""
