"""Locates an exception: the user's own frames with the failing expression, and the last frame of each library section.

A frame is the user's if it runs in the namespace of the cells or its file is below the working directory.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

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
