"""Locates an exception: the user's own frames with the failing expression, and the values in it without running
code.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import forked_probe
from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter

# Locates an exception: the user's own frames with the failing expression, and the last frame of each library
# section.
#
# A frame is the user's if it runs in the namespace of the cells or its file is below the working directory.

_MAX_FIRST, _MAX_LAST = 3, 5
_INSTALLED = ("site-packages", "dist-packages")


class UserFrame(NamedTuple):
    """A frame of the user's code."""

    location: str
    """`line 2 of the cell`."""
    line: str
    """Its source line; empty if unavailable."""
    expression: str
    """The part of the source that failed, usually one expression; empty if unknown."""
    frame: FrameType
    in_cell: bool
    """Whether it belongs to the cell that was run, not to an earlier cell or a file."""


Entry = UserFrame | str
"""A frame of the user's code, or a line that summarizes other frames."""


def relevant_frames(error: BaseException, namespace: Mapping[str, Any], cell: str) -> list[Entry]:
    """Return the relevant frames, outermost first.

    `cell` is the file name of the cell's code; if it is empty, that of the first frame. Frames before the first frame
    of a cell belong to the shell and are left out.
    """
    frames = list(_frames(error.__traceback__))
    cells = [index for index, (frame, _, _) in enumerate(frames) if frame.f_globals is namespace]
    user_indices = cells or [index for index, (frame, _, _) in enumerate(frames) if _is_user_frame(frame, namespace)]
    if not user_indices:
        return []
    frames = frames[user_indices[0] :]
    cell = cell or frames[0][0].f_code.co_filename
    entries: list[Entry] = []
    for is_user, group in groupby(frames, key=lambda item: _is_user_frame(item[0], namespace)):
        section = list(group)
        entries += [_user_frame(*item, namespace, cell) for item in section] if is_user else [_library_line(section)]
    return _shorten(entries)


def cell_filename(error: BaseException, namespace: Mapping[str, Any]) -> str:
    """Return the file name of the code of the cell that raised the error; empty if unknown."""
    frames = (frame for frame, _, _ in _frames(error.__traceback__))
    return next((frame.f_code.co_filename for frame in frames if frame.f_globals is namespace), "")


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    while traceback:
        yield traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next


def _is_user_frame(frame: FrameType, namespace: Mapping[str, Any]) -> bool:
    return frame.f_globals is namespace or bool(_path_below_workdir(frame.f_code.co_filename))


def _path_below_workdir(filename: str) -> str:
    """Return the file's path relative to the working directory; empty if it is outside or installed."""
    if not os.path.isabs(filename) or any(part in filename for part in _INSTALLED):
        return ""
    workdir = os.path.join(os.path.realpath(os.getcwd()), "")
    filename = os.path.realpath(filename)
    if not filename.startswith(workdir) or filename.startswith(os.path.join(os.path.realpath(sys.prefix), "")):
        return ""
    return filename[len(workdir) :]


def _user_frame(frame: FrameType, number: int, instruction: int, namespace: Mapping[str, Any], cell: str) -> UserFrame:
    code = frame.f_code
    lines = linecache.getlines(code.co_filename)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    in_cell = code.co_filename == cell
    if frame.f_globals is namespace:
        home = "the cell" if in_cell else "an earlier cell" if line else "code without source"
    else:
        home = _path_below_workdir(code.co_filename)
    function = "" if code.co_name == "<module>" else f"{code.co_name}, "
    return UserFrame(f"{function}line {number} of {home}", line, _expression(code, instruction, lines), frame, in_cell)


def _expression(code: CodeType, instruction: int, lines: list[str]) -> str:
    if not hasattr(code, "co_positions"):  # before Python 3.11, which a kernel may have
        return ""
    first, last, first_column, last_column = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if first is None or last is None or first_column is None or last_column is None or last > len(lines):
        return ""
    part = [line.encode() for line in lines[first - 1 : last]]  # columns are in bytes
    part[-1] = part[-1][:last_column]
    part[0] = part[0][first_column:]
    return b"".join(part).decode(errors="replace")


def _library_line(frames: list[tuple[FrameType, int, int]]) -> str:
    frame, number, _ = frames[-1]
    filename = frame.f_code.co_filename
    folders = [os.path.join(folder, "") for folder in sys.path if folder]
    imported_from = max((folder for folder in folders if filename.startswith(folder)), key=len, default="")
    path = filename.removeprefix(imported_from) if imported_from else os.path.basename(filename)
    last = f"in {path} {frame.f_code.co_name}, line {number}"
    return last if len(frames) == 1 else f"{last} (the last of {len(frames):,} frames of libraries)"


def _shorten(entries: list[Entry]) -> list[Entry]:
    """Reduce recursions to their first and last frame, and many frames to the first and last ones."""
    short: list[Entry] = []
    for _, group in groupby(entries, key=lambda entry: entry if isinstance(entry, str) else entry.location):
        same = list(group)
        short += same if len(same) <= 2 else [same[0], f"... the same {len(same) - 2:,} times ...", same[-1]]
    missing = len(short) - _MAX_FIRST - _MAX_LAST
    if missing <= 1:
        return short
    return [*short[:_MAX_FIRST], f"... {missing:,} more frames ...", *short[-_MAX_LAST:]]


# Finds the values in a failing expression without running any of their code.

MISSING: Any = object()
"""Result where there is no value."""

_MAX_VALUES = 6
_MAX_CHARACTERS = 160
_CONTAINER_TYPES = (dict, list, tuple)
_KEY_TYPES = (str, int, bool, bytes, type(None))
_CODE_TYPES = (ModuleType, FunctionType, BuiltinFunctionType, MethodType, type)


def values_in_expression(user_frame: UserFrame) -> list[tuple[str, Any]]:
    """Return the names, attributes and items in the expression with their values: at most six, no functions."""
    found: dict[str, Any] = {}
    for node in failing_nodes(user_frame):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = resolve(node, user_frame.frame)
            if value is not MISSING and not issubclass(type(value), _CODE_TYPES):
                found.setdefault(ast.unparse(node), value)
    return list(found.items())[:_MAX_VALUES]


def describe_values(values: Sequence[Any]) -> dict[int, str]:
    """Describe each value in a few words, keyed by `id`. Unsafe code runs in a separate process."""
    by_id = {id(value): value for value in values}

    def send_description(value: Any, send: forked_probe.Send) -> None:
        send(ShortFormatter(apart=True, letters=_MAX_CHARACTERS)(value))

    results = forked_probe.run([partial(send_description, value) for value in by_id.values()])
    describe = ShortFormatter(apart=False, letters=_MAX_CHARACTERS)
    texts = {}
    for (key, value), result in zip(by_id.items(), results, strict=True):
        kind, text = type_path(value), result.pieces[0] if result.pieces else describe(value)
        texts[key] = text if text.startswith(kind) else f"{kind} {text}"
    return texts


def failing_nodes(user_frame: UserFrame) -> Iterator[ast.AST]:
    """Yield the nodes of the failing expression, outermost first, or those of its line if it cannot be parsed alone.

    If unpacking in an assignment failed, these are the nodes of the assigned value.
    """
    expression = _parse_first(f"({user_frame.expression}\n)", user_frame.expression)
    line = _parse_first(user_frame.line, f"{user_frame.line} pass")
    match line:
        case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value) if expression:
            if ast.unparse(target) == ast.unparse(expression):
                expression = value
    node = expression or line
    return ast.walk(node) if node else iter(())


def _parse_first(*sources: str) -> ast.AST | None:
    for source in sources:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            if body := ast.parse(source).body:
                return body[0]
    return None


def resolve(node: ast.AST, frame: FrameType) -> Any:
    """Return the value of a name, attribute or item in this frame, or `MISSING` if unknown."""
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, MISSING))
        case ast.Attribute(value=owner, attr=name):
            owner_value = resolve(owner, frame)
            return MISSING if owner_value is MISSING else _stored_attribute(owner_value, name)
        case ast.Subscript(value=owner, slice=index):
            owner_value = resolve(owner, frame)
            key = index.value if isinstance(index, ast.Constant) else resolve(index, frame)
            if type(owner_value) in _CONTAINER_TYPES and type(key) in _KEY_TYPES:
                with suppress(KeyError, IndexError, TypeError):
                    return owner_value[key]
    return MISSING


def _stored_attribute(owner: Any, name: str) -> Any:
    """Return an attribute as stored in the instance or class, without running descriptors or `__getattr__`."""
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return MISSING
    if type(found) is MemberDescriptorType:
        with suppress(AttributeError):
            return found.__get__(owner)
        return MISSING
    if issubclass(type(found), (staticmethod, classmethod)):
        return found.__func__
    return MISSING if type(found) is property else found
