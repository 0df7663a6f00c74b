"""Parses Python code that may be invalid, and writes trees that may be too deep."""

from __future__ import annotations

import ast


def parse_python(code: str) -> ast.Module:
    """Parse code; return an empty module if it cannot be parsed."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def unparse_python(node: ast.AST) -> str:
    """Return the code of a node; empty if it is nested too deeply, or has a number of too many digits."""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
