"""What Linux and macOS do differently from Windows; see the package. Nothing here needs `/proc`."""

from __future__ import annotations

import fcntl
import os
import secrets
import shlex
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

NEW_SESSION: Final[dict[str, Any]] = {"start_new_session": True}
OWN_LIMITS: Final = True


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Lock an open file, without waiting; see the package."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(file: int) -> None:
    """Lock an open file; wait until no other process has a lock on it."""
    fcntl.flock(file, fcntl.LOCK_EX)


def replace(source: Path, target: Path) -> None:
    """Rename a file to a name that another one may have."""
    source.replace(target)


def ask_to_end(process: subprocess.Popen[Any]) -> None:
    """Ask a process that leads a session, and what it has started, to end."""
    _signal_group(process, signal.SIGTERM)


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process that leads a session, and what it has started in that."""
    _signal_group(process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        process.send_signal(number)


def interrupt(process: subprocess.Popen[Any]) -> None:
    """Interrupt a process as Ctrl+C does."""
    process.send_signal(signal.SIGINT)


def open_lifeline() -> tuple[int, int]:
    """Return two ends: the standard input of a process, and what is kept open here; see the package."""
    theirs, ours = socket.socketpair()  # not a pipe: any process that sees one in `/proc` can open its other end
    return theirs.detach(), ours.detach()


def split_words(line: str) -> list[str]:
    """Split a line as the usual shell does. Raises ValueError: a quote is not closed."""
    return shlex.split(line)


def quote(word: str) -> str:
    """Return the word as the usual shell reads it."""
    return shlex.quote(word)


def account_home() -> Path | None:
    """Return the home folder of the account, which `HOME` may differ from."""
    import pwd  # takes a file or a directory service

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a user id without an account, as in containers
        return None


def can_enter(folder: Path) -> bool:
    """Whether file modes alone, without the privileges of root, let this user enter the folder."""
    if os.geteuid() != 0:
        return os.access(folder, os.X_OK)
    status = folder.stat()
    if status.st_uid == 0:
        return bool(status.st_mode & stat.S_IXUSR)
    in_group = status.st_gid in (os.getegid(), *os.getgroups())
    return bool(status.st_mode & (stat.S_IXGRP if in_group else stat.S_IXOTH))


def open_below(folder: Path, path: Path) -> int:
    """Open a file below the folder for reading, folder by folder, without following links. Raises OSError."""
    handle = os.open(folder, _OPEN | os.O_DIRECTORY)
    try:
        for part in path.parts[:-1]:
            inner = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        return os.open(path.name, _OPEN, dir_fd=handle)
    finally:
        os.close(handle)


# The folder of each run for everything temporary: made, removed at the end, and removed later if its run was
# killed.
#
# All runs of a user share one private folder within the folder for temporary files, where anybody may make anything
# under any name. So it counts only if its descriptor shows that it belongs to this user and that nobody else can
# enter it; if somebody else holds its name, one with an unpredictable name is made. Whatever is opened or removed
# is reached by descriptors and through no link, and nothing that belongs to others is touched.
#
# `$XDG_RUNTIME_DIR` is private as well, but is a small file system in memory, whereas runs copy working
# directories.

_LONGEST_FOLDER: Final = 60
_STALE_SECONDS: Final = 60.0
_ROUNDS: Final = 3
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FOLDER: Final = _OPEN | getattr(os, "O_DIRECTORY", 0)
_OPEN_PATH: Final = getattr(os, "O_PATH", 0)


def short_temporary_folder() -> Path:
    """Return the folder for temporary folders that contain sockets, whose paths are limited."""
    usual = Path(tempfile.gettempdir()).resolve()
    return usual if len(str(usual)) <= _LONGEST_FOLDER else Path("/tmp")


@contextmanager
def open_run_folder() -> Iterator[Path]:
    """Yield a new folder for one run, whose path is short; removed on exit. Removes those of killed runs first.

    Blocks. Raises OSError: it could not be made.
    """
    path, private, name = _make_run_folder()
    try:
        _remove_stale_folders(private)
        lock = os.open(path / name / "lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            try_lock(lock)  # marks the folder as in use until this process ends
            try:
                yield path / name
            finally:
                _remove(name, private)
        finally:
            os.close(lock)
    finally:
        os.close(private)
        with suppress(OSError):  # other runs are active
            path.rmdir()


def remove_tree(folder: Path) -> None:
    """Remove a folder, even if a process in it removed its own permissions. Files that cannot be removed stay."""
    with suppress(OSError), _opened(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as parent:
        _remove(folder.name, parent)


def _make_run_folder() -> tuple[Path, int, str]:
    """Make a folder for one run; return the private folder, a descriptor of that, and the name in it."""
    while True:
        path, private = _open_private_folder()
        try:
            return path, private, _make_folder(private)
        except FileNotFoundError:  # the last of the other runs has just removed it
            os.close(private)
        except BaseException:
            os.close(private)
            raise


def _open_private_folder() -> tuple[Path, int]:
    """Return the path and a descriptor of the folder that this user's runs share, which is made if there is none."""
    shared, prefix = short_temporary_folder(), f"xplora-{os.geteuid()}"
    with suppress(OSError):
        (shared / prefix).mkdir(mode=0o700)
    if (private := _open_if_private(shared / prefix)) is not None:
        return shared / prefix, private
    for path in sorted(shared.glob(f"{prefix}-*")):
        if (private := _open_if_private(path)) is not None:
            return path, private
    path = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=shared))
    return path, os.open(path, _OPEN_FOLDER)


def _open_if_private(path: Path) -> int | None:
    """Open a folder that belongs to this user and that only this user can enter; return `None` for any other."""
    try:
        folder = os.open(path, _OPEN_FOLDER)
    except OSError:
        return None
    status = os.fstat(folder)
    if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return folder
    os.close(folder)
    return None


def _make_folder(parent: int) -> str:
    """Make a folder with a new short name, and return the name."""
    while True:
        name = secrets.token_hex(2)
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
            return name


def _remove_stale_folders(private: int) -> None:
    """Remove the folders of runs that were killed: their locks are old, and no process has them."""
    for name in _names(private):
        with suppress(OSError), _opened(name, _OPEN_FOLDER, private) as folder, _opened("lock", _OPEN, folder) as lock:
            status = os.fstat(lock)
            own = status.st_uid == os.fstat(folder).st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)
            if own and time.time() - status.st_mtime >= _STALE_SECONDS and try_lock(lock):
                _remove(name, private)


def _remove(name: str, parent: int) -> None:
    """Remove a file, or a folder with its content: inner folders are moved to the top first, so that no depth matters.

    A link is removed, and what it points to is not looked at. Processes may still change the content meanwhile.
    """
    with suppress(OSError):
        if _unlink(name, parent):
            return
        with _entered(name, parent) as top:
            for _ in range(_ROUNDS):
                waiting = _names(top)
                while waiting:
                    with suppress(OSError):
                        waiting += _empty(waiting.pop(), top)
        os.rmdir(name, dir_fd=parent)


def _empty(name: str, top: int) -> list[str]:
    """Remove an entry of a folder; return the names that the folders in it have there now."""
    if _unlink(name, top):
        return []
    moved = []
    with _entered(name, top) as folder:
        for child in _names(folder):
            with suppress(OSError):
                if _unlink(child, folder):
                    continue
                with _entered(child, folder):  # moving it needs permissions on it, as its parent changes
                    moved.append(secrets.token_hex(8))
                    os.rename(child, moved[-1], src_dir_fd=folder, dst_dir_fd=top)
    os.rmdir(name, dir_fd=top)
    return moved


def _names(folder: int) -> list[str]:
    return os.listdir(folder)


def _unlink(name: str, parent: int) -> bool:
    """Remove an entry unless it is a folder; return whether it is gone."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def _entered(name: str, parent: int) -> Iterator[int]:
    """Yield a descriptor of a folder, on which its owner gets all permissions. Raises OSError: it is not a folder."""
    with suppress(OSError):
        if _OPEN_PATH:  # a folder without permissions can be opened in no other way
            with _opened(name, _OPEN_PATH | _OPEN_FOLDER, parent) as handle:
                if stat.S_IMODE(os.fstat(handle).st_mode) & 0o700 != 0o700:
                    Path(f"/proc/self/fd/{handle}").chmod(0o700)
        else:
            os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
    with _opened(name, _OPEN_FOLDER, parent) as folder:
        yield folder


@contextmanager
def _opened(path: str | Path, flags: int, parent: int | None = None) -> Iterator[int]:
    """Yield a descriptor, closed afterwards."""
    descriptor = os.open(path, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
