"""Finds threads and child processes that a fork loses, and who started them.

A pool that loses its workers is worse than a missing thread: the pool's object does not know that they are gone, and
waits for them forever. Threads of Jupyter are recreated in a fork and not reported, nor are pools that are recreated
(asyncio's own, dask's). Only attributes of threads, processes and known libraries are read, directly from the
instance's dictionary.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import types
from collections.abc import Mapping

_IGNORED_MODULES = {
    *("IPython", "anyio", "comm", "exploracoder_jupyter", "ipykernel", "jupyter_client", "tornado", "zmq"),
    *("debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle", "tqdm"),
    *("multiprocessing", "joblib", "distributed", "concurrent"),  # their threads are reported with the pool they serve
}
_POOLS = {
    "concurrent.futures.thread": ("", "a thread pool"),
    "concurrent.futures.process": ("", "a process pool"),
    "multiprocessing.pool": ("", "a multiprocessing pool"),
    "joblib.externals.loky.process_executor": ("joblib", "a pool of worker processes"),
}
_RECREATED_THREADS = ("asyncio_", "Dask-Offload")
_POOL_PROCESSES = {"PoolWorker": "a multiprocessing pool", "Manager": "a multiprocessing manager"}


def find_workers() -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Inspect all Python threads except this one and the main one, and multiprocessing's children.

    Returns pools, each as its library (empty for the standard library) and description (`a thread pool`), and the names
    of threads and processes that belong to none.
    """
    # Dask keeps one pool per computing thread, so a fork creates another.
    dask = instance_attributes(module_variable("dask.threaded", "default_pool")).get("_threads")
    skipped = {threading.current_thread(), threading.main_thread(), *(dask if isinstance(dask, set) else ())}
    modules = {
        thread: _function_module(thread)
        for thread in threading.enumerate()
        if thread not in skipped and not thread.name.startswith(_RECREATED_THREADS)
    }
    pools = {_POOLS[module] for module in modules.values() if module in _POOLS}
    children = _child_processes()
    pools |= {("", kind) for name in children for marker, kind in _POOL_PROCESSES.items() if marker in name}
    threads = [thread.name for thread, module in modules.items() if module.partition(".")[0] not in _IGNORED_MODULES]
    return sorted(pools), threads, [] if pools else children


def instance_attributes(instance: object) -> Mapping[str, object]:
    """Return the own dictionary of an instance or class, or an empty one, without running code of its class."""
    with contextlib.suppress(AttributeError):
        found = object.__getattribute__(instance, "__dict__")
        if isinstance(found, (dict, types.MappingProxyType)):
            return found
    return {}


def module_variable(name: str, variable: str) -> object:
    """Return a variable of a module; None if the module is not loaded. Lazy modules are not triggered."""
    module = sys.modules.get(name)
    if not issubclass(type(module), types.ModuleType):
        return None
    return types.ModuleType.__getattribute__(module, "__dict__").get(variable)


def _function_module(thread: threading.Thread) -> str:
    """Return the module of a thread's function, or of its class if that is a subclass."""
    target = instance_attributes(thread).get("_target")
    function = target.__func__ if type(target) is types.MethodType else target
    if type(function) is types.FunctionType:
        return str(function.__module__)
    return str(type.__getattribute__(type(thread), "__module__"))


def _child_processes() -> list[str]:
    """Return the names of the living processes that multiprocessing has started from here, not from our parent."""
    processes = module_variable("multiprocessing.process", "_children")
    found = []
    for process in list(processes) if isinstance(processes, set) else []:
        variables = instance_attributes(process)
        pid = instance_attributes(variables.get("_popen")).get("pid")
        with (
            contextlib.suppress(OSError, ValueError),
            open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
        ):
            state, parent = file.read().rpartition(")")[2].split()[:2]
            if state != "Z" and int(parent) == os.getpid():
                found.append(str(variables.get("_name")))
    return sorted(found)
