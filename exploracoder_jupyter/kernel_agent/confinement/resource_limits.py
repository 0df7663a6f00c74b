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
        with open("/proc/self/statm", encoding="ascii") as file:  # the field that counts towards the limit on data
            memory += int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    values = {
        "DATA": memory,
        "FSIZE": limits.get("file"),
        "CPU": limits.get("cpu"),
        "NOFILE": limits.get("open"),
        "CORE": 0,
        "NPROC": limits.get("processes"),
    }
    for name, value in values.items():
        limit = getattr(resource, f"RLIMIT_{name}", None)
        if limit is None or value is None:
            continue
        hard = resource.getrlimit(limit)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (soft, soft))
