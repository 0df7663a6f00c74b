"""A cell's code as a program: what only IPython understands is made plain, or refused.

A notebook shows the value of a cell's last line; the program prints it, where the run has shown one.
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
_FOREIGN: Final = re.compile(r"\s*%%(?!(?:time|timeit|capture|prun)\b)\w")
"""How a cell begins that another language is in."""
_METADATA: Final = re.compile(r"^# /// script$\n(?:^#(?:| .*)$\n)+?^# ///$\n?", re.MULTILINE)
"""What a script needs, as PEP 723 writes it: there can be one such block."""
_REMEDY: Final = "Export it with --to notebook."
_DISPLAY: Final = "display = print  # in a notebook it shows more"


def program(code: str, *, shows_last: bool) -> str:
    """The code without magics; with `print` around its last line, where `shows_last` says that it had a value.

    Raises:
        UsageError: it needs IPython.
    """
    code = re.sub(r"\r\n?", "\n", code)
    plain = _without_magics(_METADATA.sub("", code).strip("\n"))
    if _FOREIGN.match(code) or not compiles(plain):
        raise UsageError("The solution is no plain Python: it awaits or uses syntax of IPython.", remedy=_REMEDY)
    names = names_in(plain)
    if "get_ipython" in names.read - names.bound:
        raise UsageError("The solution needs IPython: it calls get_ipython().", remedy=_REMEDY)
    code = _futures_first(_printing(plain) if shows_last else plain)
    return behind_futures(code, [_DISPLAY]) if "display" in names.read - names.bound else code


def behind_futures(code: str, lines: Sequence[str]) -> str:
    """The code with these lines before it, but behind its imports from `__future__`."""
    if not lines:
        return code
    at = max((node.end_lineno or 0 for node in _futures(code)), default=0)
    written = code.split("\n")  # as Python counts lines, which `splitlines` does not
    before = [*written[:at], ""] if at else []
    return "\n".join([*before, *lines, "", *written[at:]])


def compiles(code: str) -> bool:
    """Whether plain Python takes the code."""
    try:
        compile(code, "solution", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_magics(code: str) -> str:
    """The code with the magics that Python stumbles over as comments; what `%time` times stays."""
    lines = code.split("\n")
    while magic := _MAGIC.fullmatch(lines[at := _refused_at(lines)]):
        timed = _TIMED.fullmatch(magic[0])
        lines[at] = f"{timed[1]}{timed[2]}" if timed else f"{magic[1]}# {magic[2]}  (a magic of IPython)"
    return "\n".join(lines)


def _refused_at(lines: Sequence[str]) -> int:
    """The index of the line that Python does not take; that of the first one where it takes all, or does not say."""
    try:
        compile("\n".join(lines), "solution", "exec", dont_inherit=True)
    except SyntaxError as error:
        return min(error.lineno or 1, len(lines)) - 1
    except (ValueError, RecursionError, MemoryError):
        return 0
    return 0


def _futures(code: str) -> list[ast.ImportFrom]:
    body = ast.parse(code).body
    return [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]


def _futures_first(code: str) -> str:
    """The code with its imports from `__future__` before its docstring: the script has another one above."""
    lines, moved = code.split("\n"), list[str]()
    for node in _futures(code):
        moved += lines[node.lineno - 1 : node.end_lineno]
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join([*moved, *lines]) if moved and ast.get_docstring(ast.parse(code)) is not None else code


def _printing(code: str) -> str:
    body = ast.parse(code).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
        return code
    lines = [line.encode() for line in code.split("\n")]  # columns of a tree count bytes
    end, begin = last.end_lineno - 1, last.lineno - 1
    opening, closing = (b"print((", b"))") if isinstance(last.value, ast.Tuple) else (b"print(", b")")
    lines[end] = lines[end][: last.end_col_offset] + closing + lines[end][last.end_col_offset :]
    lines[begin] = lines[begin][: last.col_offset] + opening + lines[begin][last.col_offset :]
    return b"\n".join(lines).decode()
