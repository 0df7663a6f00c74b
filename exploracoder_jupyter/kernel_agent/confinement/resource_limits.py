"""Limits that a process sets on itself before it runs code of a model.

They are inherited by all its descendants and cannot be raised again. Limits that cannot be set here (an older system, a
lower hard limit) are skipped: processes outside watch memory and process counts as well.
"""

from __future__ import annotations

import contextlib
import os


def apply(limits: dict[str, int | None]) -> None:
    """Set the limits of this process.

    Keys, each optional: `memory` and `file` in bytes, `cpu` in seconds, `processes` (including threads) and `open`
    (files) as counts, and `beyond`: whether `memory` counts from the current use.
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    # DATA rather than AS: libraries reserve address space by the gigabyte and touch little of it.
    memory = limits.get("memory")
    if memory is not None and limits.get("beyond"):
        memory += _data_size()
    _set(resource.RLIMIT_DATA, memory)
    _set(resource.RLIMIT_FSIZE, limits.get("file"))
    _set(resource.RLIMIT_CPU, limits.get("cpu"))
    _set(resource.RLIMIT_NOFILE, limits.get("open"))
    _set(resource.RLIMIT_CORE, 0)
    if hasattr(resource, "RLIMIT_NPROC"):
        _set(resource.RLIMIT_NPROC, limits.get("processes"))


def _data_size() -> int:
    """Return this process's bytes that count towards the limit on data."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")


def _set(limit: int, value: int | None) -> None:
    import resource

    if value is None:
        return
    hard = resource.getrlimit(limit)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(limit, (soft, soft))
