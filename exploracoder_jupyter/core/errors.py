"""Errors, by who must react.

    ExploraError                      one plain sentence, and a remedy
    |-- UsageError                    the user: wrong option, empty task, unknown library, unwritable path (exit 2)
    |-- EndpointError                 the user: the model's endpoint refuses or cannot be reached (exit 2)
    |-- MissingMeans                  the user: the sibling's environment lacks something (exit 2)
    |-- BudgetSpent                   the run: stops with what it has (exit 1)
    |-- ReplyError                    the model: a reply that cannot be used; asked once more, then a failed candidate
    |-- InternalError                 us: a bug; what the run has found is kept (exit 3)
    `-- KernelError                   us: a sibling could not be started or was lost while we, not a candidate, used it
        `-- BranchingChanged          the pipeline: runs a subtask's candidates again, so that they stay comparable

A failing candidate is data (`Observation`), never an exception. Types are public API, messages are not.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

_LONGEST = 300


class ExploraError(Exception):
    """Base of all; `remedy` says what to do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.summary: Mapping[str, JsonValue] = {}
        """Of the run that it ended, once that had begun: the object of `--json`."""

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class UsageError(ExploraError):
    """The user asked for something that cannot be done as asked."""


class EndpointError(ExploraError):
    """The model's endpoint refused, or stayed unreachable within the retry limits."""


class MissingMeans(ExploraError):
    """Something the run needs is not in the sibling's environment or on this machine."""


class BudgetSpent(ExploraError):
    """Tokens, seconds or executions are used up."""


class ReplyError(ExploraError):
    """A model reply is empty, refused, truncated or malformed beyond mending."""


class InternalError(ExploraError):
    """An exception that nothing here expects: a bug in this package."""


class KernelError(ExploraError):
    """A sibling kernel could not be started, or died outside a candidate."""


class BranchingChanged(KernelError):
    """Branches are made in another way from now on, because the one in use cannot carry this state: its forks hang.

    What ran in branches of the same base is to be run again in new ones; `message` says why, for people.
    """


def unwrapped(error: BaseException) -> BaseException:
    """The error itself, or the one that matters in a group of them: the first of ours, else the first."""
    found = list(_leaves(error))
    return next((one for one in found if isinstance(one, ExploraError)), found[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group and in the groups within it, in order."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in error.exceptions:
        yield from _leaves(inner)


def described(error: BaseException) -> str:
    """Type and message of an error on one line, without a full stop, e.g. `KeyError: 'x'`."""
    return " ".join(traceback.format_exception_only(error)[-1].split())[:_LONGEST].rstrip(".:")


def as_known(error: BaseException) -> ExploraError:
    """The error as one of these: the one in a group that matters, what the machine refuses, else an internal error."""
    error = unwrapped(error)
    if isinstance(error, ExploraError):
        return error
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return MissingMeans(f"The machine refused: {error.strerror}{where}.", remedy="Mend that and try again.")
    return InternalError(f"An internal error occurred: {described(error)}.", remedy="This is a bug; please report it.")
