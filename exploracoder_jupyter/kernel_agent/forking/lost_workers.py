"""Threads and processes of this process that a fork leaves behind, told apart by whose they are.

A pool whose workers stay behind is worse than a missing thread: the pool's object does not know that they are gone, and
waits for them for ever. Threads of Jupyter itself are made anew in a fork and are not told, nor are pools that are
(asyncio's own, dask's). Only attributes of threads, processes and known libraries are read, straight from the
instance's dictionary.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import types
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_UNHARMED = {
    *("IPython", "anyio", "comm", "exploracoder_jupyter", "ipykernel", "jupyter_client", "tornado", "zmq"),
    *("debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle", "tqdm"),
    *("multiprocessing", "joblib", "distributed"),  # what serves their pools is told with the pool
}
_POOLS = {
    "concurrent.futures.thread": ("", "a thread pool"),
    "concurrent.futures.process": ("", "a process pool"),
    "multiprocessing.pool": ("", "a multiprocessing pool"),
    "joblib.externals.loky.process_executor": ("joblib", "a pool of worker processes"),
}
_RENEWED = ("asyncio_", "Dask-Offload")
_WORKING = {"PoolWorker": "a multiprocessing pool", "Manager": "a multiprocessing manager"}


class Workers(NamedTuple):
    """What a fork leaves behind."""

    pools: list[tuple[str, str]]
    """Library (empty for the standard one) and what it is, e.g. `a thread pool`."""
    threads: list[str]
    """Names of other threads."""
    processes: list[str]
    """Names of child processes that were started through multiprocessing and serve no pool."""


def look() -> Workers:
    """Look at all Python threads but this one and the main one, and at multiprocessing's children."""
    skipped = {threading.current_thread(), threading.main_thread(), *_of_dask()}
    threads = [thread for thread in threading.enumerate() if thread not in skipped]
    threads = [thread for thread in threads if not thread.name.startswith(_RENEWED)]
    pools = {_POOLS[module] for module in map(_module, threads) if module in _POOLS}
    children = _children()
    pools |= {("", kind) for name in children for mark, kind in _WORKING.items() if mark in name}
    homes = {*_UNHARMED, "concurrent"}
    return Workers(
        sorted(pools),
        [thread.name for thread in threads if _module(thread).partition(".")[0] not in homes],
        [] if pools else children,
    )


def attributes(instance: object) -> Mapping[str, object]:
    """The instance's own dictionary, or nothing; none of its class's code runs."""
    with contextlib.suppress(AttributeError):
        found = object.__getattribute__(instance, "__dict__")
        return found if isinstance(found, dict) else {}
    return {}


def module_variables(name: str) -> Mapping[str, object]:
    """Variables of a module if it is loaded; lazy modules stay as they are."""
    module = sys.modules.get(name)
    return types.ModuleType.__getattribute__(module, "__dict__") if issubclass(type(module), types.ModuleType) else {}


def _module(thread: threading.Thread) -> str:
    """The module of a thread's function; of its class, where that was derived."""
    target = attributes(thread).get("_target")
    function = target.__func__ if type(target) is types.MethodType else target
    if type(function) is types.FunctionType:
        return str(function.__module__)
    return str(type.__getattribute__(type(thread), "__module__"))


def _of_dask() -> set[threading.Thread]:
    """Threads of dask's own pool: it has one for each thread that computes, so a fork makes another."""
    threads = attributes(module_variables("dask.threaded").get("default_pool")).get("_threads")
    return {thread for thread in threads if isinstance(thread, threading.Thread)} if isinstance(threads, set) else set()


def _children() -> list[str]:
    """Names of the living child processes of multiprocessing."""
    known = module_variables("multiprocessing.process").get("_children")
    found = []
    for process in list(known) if isinstance(known, set) else []:
        own = attributes(process)
        pid = attributes(own.get("_popen")).get("pid")
        if isinstance(pid, int) and _is_living_child(pid):
            found.append(str(own.get("_name")))
    return sorted(found)


def _is_living_child(pid: int) -> bool:
    """Also tells a child from one of the process that this one was forked from."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, parent = file.read().rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return False
    return state != "Z" and int(parent) == os.getpid()
