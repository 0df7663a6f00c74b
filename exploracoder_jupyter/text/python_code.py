"""Parses Python code that may be invalid."""

from __future__ import annotations

import ast


def parse_python(code: str) -> ast.Module:
    """Parse code; return an empty module if it cannot be parsed."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
