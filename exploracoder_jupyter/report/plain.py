"""A cell's code as a program: what only IPython understands is made plain, or refused.

A notebook shows the value of a cell's last line; the program prints it, where the run has shown one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.pipeline.wholes import names_in

_MAGIC = re.compile(r"^(\s*)([%!].*)$", re.MULTILINE)
_METADATA = re.compile(r"^# /// script$\n(?:^#(?:| .*)$\n)+?^# ///$\n?", re.MULTILINE)
"""What a script needs, as PEP 723 writes it: there can be one such block."""
_REMEDY = "Export it with --to notebook."
_DISPLAY = "display = print  # in a notebook it shows more"


def program(code: str, *, shows_last: bool) -> str:
    """The code without magics; with `print` around its last line, where `shows_last` says that it had a value.

    Raises:
        UsageError: it needs IPython.
    """
    code = _METADATA.sub("", code).strip("\n")
    if not compiles(code):
        code = _MAGIC.sub(r"\1# \2  (a magic of IPython)", code)
    if not compiles(code):
        raise UsageError("The solution is no plain Python: it awaits or uses syntax of IPython.", remedy=_REMEDY)
    names = names_in(code)
    if "get_ipython" in names.read - names.bound:
        raise UsageError("The solution needs IPython: it calls get_ipython().", remedy=_REMEDY)
    code = _printing(code) if shows_last else code
    return behind_futures(code, [_DISPLAY]) if "display" in names.read - names.bound else code


def behind_futures(code: str, lines: Sequence[str]) -> str:
    """The code with these lines before it, but behind its docstring and its imports from `__future__`."""
    if not lines:
        return code
    at, written = 0, code.splitlines()
    for node in ast.parse(code).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            at = node.end_lineno or 0
    before = [*written[:at], ""] if at else []
    return "\n".join([*before, *lines, "", *written[at:]])


def compiles(code: str) -> bool:
    """Whether plain Python takes the code."""
    try:
        compile(code, "solution", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _printing(code: str) -> str:
    body = ast.parse(code).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
        return code
    lines = [line.encode() for line in code.split("\n")]  # columns of a tree count bytes
    end, begin = last.end_lineno - 1, last.lineno - 1
    lines[end] = lines[end][: last.end_col_offset] + b")" + lines[end][last.end_col_offset :]
    lines[begin] = lines[begin][: last.col_offset] + b"print(" + lines[begin][last.col_offset :]
    return b"\n".join(lines).decode()
