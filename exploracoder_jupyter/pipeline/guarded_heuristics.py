"""Heuristics: steps that a run can do without. One that raises loses its own result and never ends the run.

`heuristic` marks a function as one, names it, and defines a fallback for its result. Within `reporting`, which a run
opens around itself, an exception is logged and becomes a warning with its traceback in the trace, once for each name.
Outside of it the exception is raised as usual. An `ExploraError` has a meaning for the caller and is always raised.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import iscoroutinefunction
from typing import TypeVar, cast

from exploracoder_jupyter.core.errors import ExploraError, format_error
from exploracoder_jupyter.core.events import Notice
from exploracoder_jupyter.pipeline.ports import Emit

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
