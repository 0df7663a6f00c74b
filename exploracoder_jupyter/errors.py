"""Errors, by who must react.

    ExploraError                      one plain sentence, and a remedy
    |-- UsageError                    the user: wrong option, empty task, unknown library, unwritable path (exit 2)
    |-- EndpointError                 the user: the model's endpoint refuses or cannot be reached (exit 2)
    |-- MissingMeans                  the user: the sibling's environment lacks something (exit 2)
    |-- BudgetSpent                   the run: stops with what it has (exit 1)
    |-- ReplyError                    the model: a reply that cannot be used; asked once more, then a failed candidate
    `-- KernelError                   us: a sibling could not be started or was lost while we, not a candidate, used it
        `-- BranchingChanged          the pipeline: runs a subtask's candidates again, so that they stay comparable

A failing candidate is data (`Observation`), never an exception. Types are public API, messages are not.
"""

from __future__ import annotations


class ExploraError(Exception):
    """Base of all; `remedy` says what to do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

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


class KernelError(ExploraError):
    """A sibling kernel could not be started, or died outside a candidate."""


class BranchingChanged(KernelError):
    """Branches are made in another way from now on, because the one in use cannot carry this state: its forks hang.

    What ran in branches of the same base is to be run again in new ones; `message` says why, for people.
    """


def unwrapped(error: BaseException) -> BaseException:
    """The error itself, or the one that matters in a group of them: the first of ours, else the first."""
    while isinstance(error, BaseExceptionGroup):
        error = next((inner for inner in error.exceptions if isinstance(inner, ExploraError)), error.exceptions[0])
    return error
