"""Parses Python code that may be invalid."""

from __future__ import annotations

import ast
import warnings


def parse_python(code: str) -> ast.Module:
    """Parse code; return an empty module if it cannot be parsed."""
    return parse_valid_python(code) or ast.Module([], [])


def parse_valid_python(code: str) -> ast.Module | None:
    """Parse code; return None if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes, in code that is not run here
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
