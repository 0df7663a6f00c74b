"""Where an exception came from: the user's own frames, with the expression that failed; of libraries the last frame.

A frame is the user's if it runs in the namespace of the cells, or is of a file below the working directory.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

_FIRST, _LAST = 3, 5
_INSTALLED = ("site-packages", "dist-packages")


class Place(NamedTuple):
    """A frame of the user's."""

    where: str
    """`line 2 of the cell`."""
    line: str
    """Its source; empty where there is none."""
    expression: str
    """The part of the source that failed, as a rule one expression; empty where it is not known."""
    frame: FrameType
    own: bool
    """Whether it is of the cell that was run, not of an earlier one or of a file."""


class Elsewhere(NamedTuple):
    """Frames that are not told one by one."""

    words: str


def places(error: BaseException, namespace: Mapping[str, Any], cell: str = "") -> list[Place | Elsewhere]:
    """The frames, the outermost first, as few as tell. `cell`: name of the cell's code; else that of the first frame.

    Frames before the first one of a cell belong to the shell, and are left out.
    """
    frames = list(_frames(error.__traceback__))
    cells = [index for index, (frame, _, _) in enumerate(frames) if frame.f_globals is namespace]
    users = cells or [index for index, (frame, _, _) in enumerate(frames) if _of_user(frame, namespace)]
    if not users:
        return []
    frames = frames[users[0] :]
    cell = cell or frames[0][0].f_code.co_filename
    told: list[Place | Elsewhere] = []
    for of_user, group in groupby(frames, key=lambda item: _of_user(item[0], namespace)):
        several = list(group)
        if of_user:
            told += [_place(*item, namespace, cell) for item in several]
        else:
            told.append(_library(several))
    return _few(told)


def cell_of(error: BaseException, namespace: Mapping[str, Any]) -> str:
    """Name of the code of the cell that ended with the error; empty where that is not known."""
    frames = (frame for frame, _, _ in _frames(error.__traceback__))
    return next((frame.f_code.co_filename for frame in frames if frame.f_globals is namespace), "")


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    while traceback:
        yield traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next


def _of_user(frame: FrameType, namespace: Mapping[str, Any]) -> bool:
    return frame.f_globals is namespace or bool(_below_here(frame.f_code.co_filename))


def _below_here(filename: str) -> str:
    """The file's path below the working directory; empty where it is elsewhere, or installed."""
    if not os.path.isabs(filename) or any(part in filename for part in _INSTALLED):
        return ""
    here = os.path.join(os.path.realpath(os.getcwd()), "")
    filename = os.path.realpath(filename)
    if not filename.startswith(here) or filename.startswith(os.path.join(os.path.realpath(sys.prefix), "")):
        return ""
    return filename[len(here) :]


def _place(frame: FrameType, number: int, at: int, namespace: Mapping[str, Any], cell: str) -> Place:
    code = frame.f_code
    lines = linecache.getlines(code.co_filename)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    own = code.co_filename == cell
    if frame.f_globals is namespace:
        home = "the cell" if own else "an earlier cell" if line else "code without source"
    else:
        home = _below_here(code.co_filename)
    function = "" if code.co_name == "<module>" else f"{code.co_name}, "
    return Place(f"{function}line {number} of {home}", line, _expression(code, at, lines), frame, own)


def _expression(code: CodeType, at: int, lines: list[str]) -> str:
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return ""
    first, last, begin, end = next(islice(code.co_positions(), at // 2, None), (None,) * 4)
    if first is None or last is None or begin is None or end is None or last > len(lines):
        return ""
    part = [line.encode() for line in lines[first - 1 : last]]  # columns count bytes
    part[-1] = part[-1][:end]
    part[0] = part[0][begin:]
    return b"".join(part).decode(errors="replace")


def _library(frames: list[tuple[FrameType, int, int]]) -> Elsewhere:
    frame, number, _ = frames[-1]
    last = f"in {_short_path(frame.f_code.co_filename)} {frame.f_code.co_name}, line {number}"
    return Elsewhere(last if len(frames) == 1 else f"{last} (the last of {len(frames):,} frames of libraries)")


def _short_path(filename: str) -> str:
    """The path below the folder it is imported from."""
    folders = [os.path.join(folder, "") for folder in sys.path if folder]
    inside = [folder for folder in folders if filename.startswith(folder)]
    return filename[len(max(inside, key=len)) :] if inside else os.path.basename(filename)


def _few(told: list[Place | Elsewhere]) -> list[Place | Elsewhere]:
    told = [kept for _, group in groupby(told, key=_code_at) for kept in _once(list(group))]
    missing = len(told) - _FIRST - _LAST
    if missing <= 1:
        return told
    return [*told[:_FIRST], Elsewhere(f"... {missing:,} more frames ..."), *told[-_LAST:]]


def _code_at(place: Place | Elsewhere) -> str:
    return place.where if isinstance(place, Place) else place.words


def _once(same: list[Place | Elsewhere]) -> list[Place | Elsewhere]:
    """Of a recursion the first frame and the last."""
    return same if len(same) <= 2 else [same[0], Elsewhere(f"... the same {len(same) - 2:,} times ..."), same[-1]]
