"""The context of every step: ports and limits of the run, its plan, operations on branches, and steps a run can do
without.
"""

from __future__ import annotations

import logging
import shutil
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import iscoroutinefunction
from itertools import zip_longest
from pathlib import Path
from typing import Final, Literal, TypeVar, cast

import anyio
import anyio.lowlevel

from exploracoder_jupyter.core.configuration.sections import OFFLINE, Exploration, Retrieval, Sharing
from exploracoder_jupyter.core.errors import BranchingChanged, ExploraError, KernelError, format_error
from exploracoder_jupyter.core.events import FilesKept, Notice
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Experience,
    Introduction,
    Observation,
    Passage,
    Plan,
    ScoredApi,
    ScoredPassage,
    Snippet,
    SourceKind,
    Subtask,
    Task,
)
from exploracoder_jupyter.pipeline.budget import Meter
from exploracoder_jupyter.pipeline.ports import Branch, Emit, Knowledge, Model, PassageSearch, Steering

# The plan of a run in its current form, and what the user asked for each subtask.
#
# States are replaced and can be returned to. The agenda is one mutable object for the whole run, changed by the
# model's revisions and by the user, and never reset: once a subtask has started, ids are not reused and hints are
# kept.

CHANGED_BY_USER = "changed by the user"
CHOSEN_BY_USER = "You chose to explore."


@dataclass(frozen=True, slots=True)
class CarriedSubtask:
    """The outcome of a subtask in an earlier run, reused without asking the model again."""

    code: str = ""
    """The selected snippet, which is run again; empty if there was none: then the subtask ends as it did before."""
    status: Literal["done", "failed", "skipped"] = "done"
    """How the subtask ended; a snippet that failed then may fail again."""
    reason: str = ""
    """Why the subtask was not done, if it was not."""
    apis: tuple[ScoredApi, ...] = ()
    retrieved: tuple[str, ...] = ()
    """Paths of the APIs retrieved for the subtask, best first."""
    used: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    failures: tuple[Experience, ...] = ()
    """Its other candidates that failed."""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where to resume an earlier run."""

    titles: tuple[str, ...] = ()
    """Titles of all subtasks; empty if there was no plan yet."""
    carried: tuple[CarriedSubtask | None, ...] = ()
    """What is reused for each subtask, in order; subtasks missing at the end are explored."""
    hint: str = ""
    """Hint for the first subtask that is explored."""
    queries: tuple[str, ...] = ()
    """Web search queries for the first subtasks, in order; may be empty."""
    revisions: int = 0
    fixed: bool = False
    """Whether the user had written the plan."""
    reviewed: bool = True
    """Whether the plan no longer needs the user's review."""
    introduction: Introduction | None = None
    """The introduction to the libraries, if the earlier run had one."""
    tried_programs: bool = False
    """Whether the earlier run tried whole programs before it planned, and nothing but their replies decided."""


@dataclass(slots=True)
class Agenda:
    """The current plan and the requests for its subtasks, by subtask id."""

    plan: Plan = field(default_factory=lambda: Plan(()))
    revisions: int = 0
    fixed: bool = False
    """Whether the user wrote the plan; the model may no longer change it then."""
    hints: dict[str, str] = field(default_factory=dict)
    """The user's hints for subtasks that are to be explored again; may be empty."""
    unannounced: dict[str, str] = field(default_factory=dict)
    """Hints that this run starts with, until an event records them."""
    skipped: set[str] = field(default_factory=set)
    """Subtasks not started yet that the user has skipped."""
    carried: dict[str, CarriedSubtask] = field(default_factory=dict)
    """Outcomes reused from an earlier run without asking the model."""
    chosen: dict[str, Experience] = field(default_factory=dict)
    """Candidates to be run again and carried forward."""
    ran: dict[str, Experience] = field(default_factory=dict)
    """Candidates that ran to completion, by id."""
    agreeing: dict[str, str] = field(default_factory=dict)
    """Maps candidates to an earlier one of their subtask that computed the same, by id."""
    files_kept: bool = False
    """Whether the files of a solution have been copied to their final folder."""
    _ids: int = 0
    _numbers: Counter[str] = field(default_factory=Counter)

    def next_number(self, subtask: str) -> int:
        """Return the next free number for a candidate of the subtask."""
        self._numbers[subtask] += 1
        return self._numbers[subtask]

    def new_subtasks(self, titles: Sequence[str], queries: Sequence[str] = ()) -> tuple[Subtask, ...]:
        """Create subtasks with these titles; `queries` are the web search queries of the first ones."""
        first = self._ids + 1
        self._ids += len(titles)
        pairs = zip_longest(titles, queries[: len(titles)], fillvalue="")
        return tuple(Subtask(str(id_), title, query) for id_, (title, query) in enumerate(pairs, first))

    def renumber(self, subtasks: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """Renumber the subtasks from 1 in order. Only before any has started, while nothing refers to one."""
        numbered = tuple(replace(subtask, id=str(id_)) for id_, subtask in enumerate(subtasks, 1))
        self._ids = len(numbered)
        now = {before.id: after.id for before, after in zip(subtasks, numbered, strict=True)}
        self.carried = {now[id_]: known for id_, known in self.carried.items() if id_ in now}
        self.hints = {now[id_]: hint for id_, hint in self.hints.items() if id_ in now}
        self.unannounced = {now[id_]: hint for id_, hint in self.unannounced.items() if id_ in now}
        return numbered

    def adopt(self, given: ResumePoint) -> None:
        """Adopt the plan of an earlier run, with the outcomes to reuse."""
        subtasks = self.new_subtasks(given.titles, given.queries)
        self.plan, self.revisions, self.fixed = Plan(subtasks), given.revisions, given.fixed
        self.carried = {subtask.id: known for subtask, known in zip(subtasks, given.carried, strict=False) if known}
        self.add_hint(given.hint)

    def add_hint(self, hint: str) -> None:
        """Attach a hint to the first subtask that is explored."""
        first = next((subtask.id for subtask in self.plan.subtasks if subtask.id not in self.carried), "")
        if first and hint:
            self.hints[first] = self.unannounced[first] = hint

    def forget_choices(self, subtasks: Sequence[Subtask]) -> None:
        """Forget what the user asked for these subtasks, except for hints."""
        ids = {subtask.id for subtask in subtasks}
        self.skipped -= ids
        self.carried = {id_: known for id_, known in self.carried.items() if id_ not in ids}
        self.chosen = {id_: item for id_, item in self.chosen.items() if id_ not in ids}


# The context of every step: the ports and limits of the run, and the state that steps pass on.


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
    """The problem of the latest reply with code if it was cut off (`requests`)."""
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


# Branch operations besides running code: closing, copying files out, handling a change of the branching method.
#
# A branch may hang because of something that the forked kernel had loaded. From then on branches are made with
# another method, and everything observed in the old ones is observed again: candidates of a subtask are compared
# with one another, so all of them have to start alike.

MOST_CHANGES = 2
"""How often the branching method may change within one subtask."""
OWN_END: Final = "The program ended itself with `sys.exit`, status 0."
_NO_FAULT: Final = ("", "0", "None", "False")
"""The text of a `SystemExit` whose status is 0."""


def notify_branching_change(run: Run, change: BranchingChanged) -> None:
    """Notify the user why branches are made with another method, and what they lack now."""
    run.emit(Notice(f"{change.message} {run.unsent}".strip(), "warning"))


def accept_own_end(seen: Observation) -> Observation:
    """Return what was seen of a program that ended itself with status 0, which in a script is not a failure, as `ok`.

    Not for a check: it has to come to its end.
    """
    if seen.status != "error" or seen.error is None or seen.error.name != "SystemExit":
        return seen
    if seen.error.message not in _NO_FAULT:
        return seen
    outputs = tuple(output for output in seen.outputs if output.get("ename") != "SystemExit")
    return replace(seen, status="ok", error=None, outputs=outputs, note=OWN_END)


async def close_branches(branches: Iterable[Branch]) -> None:
    """Close the branches, also while the run is being cancelled."""
    with anyio.CancelScope(shield=True):
        for branch in branches:
            await branch.close()


async def keep_files(run: Run, branch: Branch) -> None:
    """Copy the solution's files out of its branch if requested, replacing earlier ones; a failure is only a notice."""
    if run.files is None:
        return
    try:
        if run.agenda.files_kept:  # files of a solution that has been corrected since
            shutil.rmtree(run.files)
        files = await branch.files(run.files)
    except (OSError, KernelError) as error:
        run.emit(Notice(f"The files of the solution could not be saved: {error}.", "warning"))
        return
    run.agenda.files_kept = True
    run.emit(FilesKept(str(run.files), files))


# Heuristics: steps that a run can do without. One that raises loses its own result and never ends the run.
#
# `heuristic` marks a function as one, names it, and defines a fallback for its result. Within `reporting`, which a
# run opens around itself, an exception is logged and becomes a warning with its traceback in the trace, once for
# each name. Outside of it the exception is raised as usual. An `ExploraError` has a meaning for the caller and is
# always raised.

_F = TypeVar("_F", bound=Callable[..., object])
_Report = Callable[[str, Exception], None]

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())  # without one, Python prints to standard error, which the command line draws on
_report: ContextVar[_Report | None] = ContextVar("report", default=None)


@contextmanager
def reporting(emit: Emit) -> Iterator[None]:
    """Report heuristics that raise within this context as notices instead."""
    reported: set[str] = set()

    def report(name: str, error: Exception) -> None:
        _log.error("the heuristic for %s failed", name, exc_info=error)
        if name in reported:
            return
        reported.add(name)
        emit(failure_notice(f"An internal error occurred while {name}; the run continues without it:", error))

    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def failure_notice(what: str, error: BaseException) -> Notice:
    """Return a warning made of this text and the error, with the traceback for the trace."""
    return Notice(f"{what} {format_error(error)}.", "warning", "".join(traceback.format_exception(error)))


def heuristic(name: str, fallback: Callable[..., object]) -> Callable[[_F], _F]:
    """Mark a function, or a coroutine function, as a heuristic.

    Args:
        name: what it does, as in "while comparing outputs".
        fallback: returns the neutral result for the same arguments.
    """

    def mark(function: _F) -> _F:
        @wraps(function)
        def call_guarded(*args: object, **kwargs: object) -> object:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                _handle(name, error)
            return fallback(*args, **kwargs)

        @wraps(function)
        async def await_guarded(*args: object, **kwargs: object) -> object:
            try:
                return await cast(Awaitable[object], function(*args, **kwargs))
            except Exception as error:
                _handle(name, error)
            return fallback(*args, **kwargs)

        return cast(_F, await_guarded if iscoroutinefunction(function) else call_guarded)

    return mark


def _handle(name: str, error: Exception) -> None:
    """Report the error of a heuristic; raise it outside of a run, or if it has a meaning for the caller."""
    report = _report.get()
    if report is None or isinstance(error, ExploraError):
        raise error
    report(name, error)
