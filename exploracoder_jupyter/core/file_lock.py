"""Locks on open files, which the operating system releases when their process ends, however it ends."""

from __future__ import annotations


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Lock an open file, without waiting, until the last copy of the descriptor is closed. Returns whether it is.

    Other processes may have `shared` locks at the same time. Raises OSError or ImportError where there are no locks.
    """
    import fcntl  # not available on Windows

    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(file: int) -> None:
    """Lock an open file; wait until no other process has a lock on it. Raises as `try_lock` does."""
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)
