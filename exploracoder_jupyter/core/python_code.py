"""Parses Python code that may be invalid, without warnings about it: it is not run here."""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress

_FILE = "<parsed code>"
_FILTER = ("ignore", None, Warning, re.compile(re.escape(_FILE)), 0)


def parse_python(code: str) -> ast.Module:
    """Parse code; return an empty module if it cannot be parsed."""
    return parse_valid_python(code) or ast.Module([], [])


def parse_valid_python(code: str) -> ast.Module | None:
    """Parse code; return None if it cannot be parsed.

    A filter for warnings about this code alone is put into the current list of filters and taken out of the same list:
    `catch_warnings` is not safe in threads, and could restore a list that another thread has left in the meantime.
    """
    filters = warnings.filters
    filters.insert(0, _FILTER)  # type: ignore[attr-defined]  # a list, declared as a sequence
    try:
        return ast.parse(code, _FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    finally:
        with suppress(ValueError):  # `resetwarnings` empties the list
            filters.remove(_FILTER)  # type: ignore[attr-defined]
