"""Parses Python code that may be invalid, without warnings about it: it is not run here."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_FILE = "<parsed code>"
_INVALID = (SyntaxError, ValueError, RecursionError, MemoryError)
_FILTER = ("ignore", None, Warning, re.compile(re.escape(_FILE)), 0)


def parse_python(code: str) -> ast.Module:
    """Parse code; return an empty module if it cannot be parsed."""
    return parse_valid_python(code) or ast.Module([], [])


def parse_valid_python(code: str) -> ast.Module | None:
    """Parse code; return None if it cannot be parsed."""
    with _no_warnings(), suppress(*_INVALID):
        return ast.parse(code, _FILE)
    return None


def is_python(code: str) -> bool:
    """Whether the code can be compiled as a cell."""
    with _no_warnings(), suppress(*_INVALID):
        return bool(compile(code, _FILE, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
    return False


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Put a filter for this code alone into the current list of filters, and take it out of the same list.

    `catch_warnings` is not safe in threads, and could restore a list that another thread has left in the meantime.
    """
    filters = warnings.filters
    filters.insert(0, _FILTER)  # type: ignore[attr-defined]  # a list, declared as a sequence
    try:
        yield
    finally:
        with suppress(ValueError):  # `resetwarnings` empties the list
            filters.remove(_FILTER)  # type: ignore[attr-defined]
