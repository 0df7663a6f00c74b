"""Exceptions, grouped by who has to react.

    ExploraError                      one plain sentence and a remedy
    |-- UsageError                    the user: wrong option, empty task, unknown library, unwritable path (exit 2)
    |-- EndpointError                 the user: the model's endpoint refuses or cannot be reached (exit 2)
    |-- MissingRequirement                  the user: the sibling's environment lacks something (exit 2)
    |-- BudgetExceeded                the run: stops with what it has (exit 1)
    |-- ReplyError                    the model: an unusable reply; retried once, then the candidate fails
    |-- InternalError                 us: a bug; the run's results so far are kept (exit 3)
    `-- KernelError                   us: a sibling failed to start, or died while we, not a candidate, were using it
        `-- BranchingChanged          the pipeline: runs a subtask's candidates again, so that they stay comparable

A failing candidate is data (`Observation`), never an exception. Types are public API, messages are not.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

_MAX_DESCRIPTION = 300
_OLDEST_PYTHON = (3, 11)


class ExploraError(Exception):
    """Base class of all errors; `remedy` is a sentence that explains what to do."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.summary: Mapping[str, JsonValue] = {}
        """Summary of the run that the error ended, as printed by `--json`; empty if no run had started."""

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class UsageError(ExploraError):
    """The user's request cannot be carried out as given."""


class EndpointError(ExploraError):
    """The model's endpoint refused the request, or stayed unreachable within the retry limits."""


class MissingRequirement(ExploraError):
    """Something that the run needs is missing from the sibling's environment or from this machine."""


class BudgetExceeded(ExploraError):
    """The budget of tokens, seconds or executions is used up."""


class ReplyError(ExploraError):
    """A model reply is empty, a refusal, truncated, or malformed beyond repair."""


class InternalError(ExploraError):
    """An unexpected exception: a bug in this package."""


class KernelError(ExploraError):
    """A sibling kernel could not be started, or died outside a candidate."""


class BranchingChanged(KernelError):
    """The branching strategy has changed because the previous one cannot handle this state: its forks hang.

    Everything that ran in branches of the same base must run again in new ones; `message` explains why to the user.
    """


def refuse_old_python() -> None:
    """Raise MissingRequirement in an older Python. Called before the imports that fail there."""
    if sys.version_info[:2] < _OLDEST_PYTHON:
        oldest, here = (".".join(map(str, version)) for version in (_OLDEST_PYTHON, sys.version_info[:2]))
        raise MissingRequirement(f"exploracoder_jupyter needs Python {oldest} or newer, and this is Python {here}.")


def unwrap_group(error: BaseException) -> BaseException:
    """Return the error itself, or the relevant one of a group: the first `ExploraError`, else the first error."""
    leaves = list(_iter_leaves(error))
    return next((leaf for leaf in leaves if isinstance(leaf, ExploraError)), leaves[0])


def _iter_leaves(error: BaseException) -> Iterator[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for inner in error.exceptions:
        yield from _iter_leaves(inner)


def format_error(error: BaseException) -> str:
    """Return an error's type and message on one line, without a period, e.g. `KeyError: 'x'`."""
    return " ".join(traceback.format_exception_only(error)[-1].split())[:_MAX_DESCRIPTION].rstrip(".:")


def to_explora_error(error: BaseException) -> ExploraError:
    """Convert any exception: those of the operating system to `MissingRequirement`, other ones to `InternalError`."""
    error = unwrap_group(error)
    if isinstance(error, ExploraError):
        return error
    if isinstance(error, FileNotFoundError) and not error.filename and _current_folder_is_gone():
        return MissingRequirement("The current folder has been deleted.", remedy="Change to a folder that exists.")
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return MissingRequirement(
            f"The operating system reported an error: {error.strerror}{where}.", remedy="Fix it and try again."
        )
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of pathlib and platformdirs
        return MissingRequirement(
            "Your home folder could not be determined.",
            remedy="Set the environment variable HOME to a folder that you can write to.",
        )
    return InternalError(
        f"An internal error occurred: {format_error(error)}.", remedy="This is a bug; please report it."
    )


def _current_folder_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False
