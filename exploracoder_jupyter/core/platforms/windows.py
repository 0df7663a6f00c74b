"""What Windows does differently from POSIX; see the package.

Processes have no signals and no groups to which a signal goes: an interrupt is a console event for a process group, and
a tree is ended process by process. A file that is open cannot be removed or replaced. Files are private because the
user's folder for temporary files is.
"""

from __future__ import annotations

import msvcrt
import os
import secrets
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil

assert sys.platform == "win32"

NEW_SESSION: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
OWN_LIMITS: Final = False

_LOCKED_BYTE: Final = 1 << 30
"""Beyond the content: a lock on Windows keeps others from reading what it covers."""
_PAUSE: Final = 0.05
_ATTEMPTS: Final = 40
_STALE_SECONDS: Final = 60.0


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Lock an open file, without waiting; see the package. There are no `shared` locks: one process has it."""
    place = os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    finally:
        os.lseek(file, place, os.SEEK_SET)
    return True


def lock(file: int) -> None:
    """Lock an open file; wait until no other process has a lock on it."""
    while not try_lock(file):
        time.sleep(_PAUSE)


def replace(source: Path, target: Path) -> None:
    """Rename a file to a name that another one may have; waits two seconds at most while somebody reads that."""
    for _ in range(_ATTEMPTS):
        with suppress(PermissionError):
            source.replace(target)
            return
        time.sleep(_PAUSE)
    source.replace(target)


def ask_to_end(process: subprocess.Popen[Any]) -> None:
    """Ask a process started with `NEW_SESSION`, and what it has started, to end."""
    with suppress(OSError):  # it has no console, or is gone
        process.send_signal(signal.CTRL_BREAK_EVENT)


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process with everything below it."""
    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    process.kill()


def interrupt(process: subprocess.Popen[Any]) -> None:
    """Interrupt a process started with `NEW_SESSION`. It gets Ctrl+Break, which it must handle: see `cli`."""
    ask_to_end(process)


def open_lifeline() -> tuple[int, int]:
    """Return two ends: the standard input of a process, and what is kept open here; see the package."""
    return os.pipe()  # a socket cannot be standard input


def split_words(line: str) -> list[str]:
    """Split a line, with backslashes as they are: paths have them. Raises ValueError: a quote is not closed."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def quote(word: str) -> str:
    """Return the word as `cmd` and PowerShell read it."""
    return subprocess.list2cmdline([word])


def account_home() -> Path | None:
    """Return the home folder of the account."""
    found = os.environ.get("USERPROFILE")
    return Path(found) if found else None


def can_enter(folder: Path) -> bool:
    """Whether this user can enter the folder."""
    return os.access(folder, os.R_OK)


def open_below(folder: Path, path: Path) -> int:
    """Open a file below the folder for reading, if its path leads through no link. Raises OSError: it does.

    A link could be made after it was looked for: there are no descriptors of folders here.
    """
    for part in (*reversed(path.parents), path):
        if _is_link(folder / part):
            raise OSError(f"{folder / part} is a link")
    return os.open(folder / path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def _is_link(path: Path) -> bool:
    status = path.lstat()
    point = getattr(status, "st_file_attributes", 0) & stat.FILE_ATTRIBUTE_REPARSE_POINT
    return stat.S_ISLNK(status.st_mode) or bool(point)


def short_temporary_folder() -> Path:
    """Return the folder for temporary folders."""
    return Path(tempfile.gettempdir()).resolve()


@contextmanager
def open_run_folder() -> Iterator[Path]:
    """Yield a new folder for one run, removed on exit. Removes those of killed runs first. Blocks.

    Raises OSError: it could not be made.
    """
    shared = short_temporary_folder() / "xplora"
    shared.mkdir(mode=0o700, exist_ok=True)
    _remove_stale_folders(shared)
    folder = shared / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    lock_file = os.open(folder / "lock", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        try_lock(lock_file)  # marks the folder as in use until this process ends
        yield folder
    finally:
        os.close(lock_file)  # an open file could not be removed
        remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove a folder; waits two seconds at most for files that processes still close. What cannot be removed stays."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, onerror=_make_writable)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


def _make_writable(remove: Callable[[str], object], path: str, _error: object) -> None:
    with suppress(OSError):
        os.chmod(path, stat.S_IWRITE)  # noqa: PTH101 - what `shutil` gives
        remove(path)


def _remove_stale_folders(shared: Path) -> None:
    """Remove the folders of runs that were killed: their locks are old, and no process has them."""
    for folder in shared.iterdir():
        with suppress(OSError):
            file = os.open(folder / "lock", os.O_RDWR)
            try:
                stale = time.time() - os.fstat(file).st_mtime >= _STALE_SECONDS and try_lock(file)
            finally:
                os.close(file)
            if stale:
                remove_tree(folder)
