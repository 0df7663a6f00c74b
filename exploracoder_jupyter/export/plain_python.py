"""Converts a cell's code to plain Python: IPython syntax is replaced, or rejected.

A notebook displays the value of a cell's last expression; the program prints it, if the run displayed one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.pipeline.exploring.dependency_slice import names_in

_MAGIC: Final = re.compile(r"(\s*)([%!].*)")
_TIMED: Final = re.compile(r"(\s*)%time\s+(\S.*)")
_CELL_MAGIC: Final = re.compile(r"\s*%%(?!(?:time|timeit|capture|prun)\b)\w")
"""Matches the start of a cell whose body is not Python."""
_METADATA: Final = re.compile(r"^# /// script$\n(?:^#(?:| .*)$\n)+?^# ///$\n?", re.MULTILINE)
"""Inline script metadata (PEP 723), of which a script may contain only one block."""
_REMEDY: Final = "Export it with --to notebook."
_DISPLAY: Final = "display = print  # in a notebook it shows more"


def to_plain_python(code: str, *, shows_last: bool) -> str:
    """Convert code to plain Python without magics; if `shows_last`, its last expression is printed."""
    code = re.sub(r"\r\n?", "\n", code)
    plain = _without_magics(_METADATA.sub("", code).strip("\n"))
    if _CELL_MAGIC.match(code) or not compiles(plain):
        raise UsageError("The solution is not plain Python: it uses await or IPython syntax.", remedy=_REMEDY)
    names = names_in(plain)
    if "get_ipython" in names.read - names.bound:
        raise UsageError("The solution needs IPython: it calls get_ipython().", remedy=_REMEDY)
    code = _move_futures_first(_print_last_expression(plain) if shows_last else plain)
    return insert_after_futures(code, [_DISPLAY]) if "display" in names.read - names.bound else code


def insert_after_futures(code: str, lines: Sequence[str]) -> str:
    """Insert lines at the beginning of the code, but after its imports from `__future__`."""
    if not lines:
        return code
    at = max((node.end_lineno or 0 for node in _future_imports(code)), default=0)
    code_lines = code.split("\n")  # Python's own line count, unlike `splitlines`
    before = [*code_lines[:at], ""] if at else []
    return "\n".join([*before, *lines, "", *code_lines[at:]])


def compiles(code: str) -> bool:
    """Return whether the code compiles as plain Python."""
    try:
        compile(code, "solution", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_magics(code: str) -> str:
    """Comment out magics that are syntax errors in Python; the statement after `%time` is kept."""
    lines = code.split("\n")
    while magic := _MAGIC.fullmatch(lines[at := _syntax_error_line(lines)]):
        timed = _TIMED.fullmatch(magic[0])
        lines[at] = f"{timed[1]}{timed[2]}" if timed else f"{magic[1]}# {magic[2]}  (a magic of IPython)"
    return "\n".join(lines)


def _syntax_error_line(lines: Sequence[str]) -> int:
    """Return the index of the line with a syntax error; 0 if there is none, or if its line is not known."""
    try:
        compile("\n".join(lines), "solution", "exec", dont_inherit=True)
    except SyntaxError as error:
        return min(error.lineno or 1, len(lines)) - 1
    except (ValueError, RecursionError, MemoryError):
        return 0
    return 0


def _future_imports(code: str) -> list[ast.ImportFrom]:
    body = ast.parse(code).body
    return [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]


def _move_futures_first(code: str) -> str:
    """Move imports from `__future__` before the code's docstring, because the script has another docstring above."""
    lines, moved = code.split("\n"), list[str]()
    for node in _future_imports(code):
        moved += lines[node.lineno - 1 : node.end_lineno]
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join([*moved, *lines]) if moved and ast.get_docstring(ast.parse(code)) is not None else code


def _print_last_expression(code: str) -> str:
    body = ast.parse(code).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
        return code
    lines = [line.encode() for line in code.split("\n")]  # column offsets of `ast` are in bytes
    end, begin = last.end_lineno - 1, last.lineno - 1
    opening, closing = (b"print((", b"))") if isinstance(last.value, ast.Tuple) else (b"print(", b")")
    lines[end] = lines[end][: last.end_col_offset] + closing + lines[end][last.end_col_offset :]
    lines[begin] = lines[begin][: last.col_offset] + opening + lines[begin][last.col_offset :]
    return b"\n".join(lines).decode()
