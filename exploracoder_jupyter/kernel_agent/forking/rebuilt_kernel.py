"""Takes a kernel's shell out of the application it was in and puts a new one around it, on new sockets.

What a forked process inherits of the old application (event loops, ZeroMQ contexts, threads that are gone, locks that
they may have held) is neither used nor closed nor collected: a loop that is closed would take descriptors out of an
epoll instance that is shared with the parent. Works with ipykernel 6.31 to 7.4.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import faulthandler
import gc
import logging
import os
import sys
import threading
from collections.abc import Collection, Iterable
from typing import Any, ClassVar

import zmq
from traitlets.config import Config
from zmq.utils import garbage

_KEPT: list[object] = []
"""What must never be collected."""
_plumbing: dict[int, str] = {}
"""Descriptors that the application made here opened, and what each is: a number may mean something else later."""
_PORTS = ("shell", "iopub", "stdin", "control", "hb")
_STEPS = (
    "init_sockets",
    "init_heartbeat",
    "log_connection_info",
    "init_io",
    "init_signal",
    "init_kernel",
    "init_shell",
)


def history_file(shell: Any) -> str:
    """Path of the shell's history, of which a fork has none; the line end where there is none, which no path is."""
    history = shell.history_manager
    return str(getattr(history, "hist_file", "")) or "\n"


def plumbing() -> set[int]:
    """Descriptors of the application that was made here."""
    return {number for number, what in _plumbing.items() if _descriptors([number]).get(number) == what}


def close_own_plumbing(keep: Collection[int]) -> None:
    """In a fork of a branch: close what its application had opened. Its objects are kept and never used again.

    `keep` are descriptors of the fork itself: when it is made while the first cell begins they were seen as well.
    """
    for number in plumbing().difference(keep):
        os.close(number)
    _plumbing.clear()


def addresses(shell: Any) -> set[int | str]:
    """Ports or paths of the kernel's own sockets, as far as its application tells."""
    app = shell.kernel.parent
    ports = [getattr(app, f"{name}_port", 0) for name in _PORTS]
    if getattr(app, "transport", "tcp") == "ipc":
        return {f"{app.ip}-{port}" for port in ports}
    return {*ports, getattr(getattr(app, "iopub_thread", None), "_pipe_port", 0)}


def detach(shell: Any) -> None:
    """Let go of the application and everything of its process that has not come along. May be called again."""
    gc.disable()
    gc.freeze()
    atexit._clear()
    kernel = shell.kernel
    _KEPT.append((kernel, kernel.parent, sys.stdout, sys.stderr, sys.displayhook, asyncio.get_event_loop_policy()))
    _without_application()
    shell.display_trap._nested_level = shell.builtin_trap._nested_level = 0  # the fork may have been within a cell
    if hasattr(shell, "enable_tip"):
        shell.enable_tip = False  # a tip is drawn whenever a client asks who we are: the user's random state would move
    _without_history(shell)
    _without_helpers()
    gc.enable()


def _without_application() -> None:
    asyncio._set_running_loop(None)
    asyncio.set_event_loop_policy(None)
    zmq.Context._instance = None
    _without_collector()
    sys.stdout, sys.stderr, sys.displayhook = sys.__stdout__, sys.__stderr__, sys.__displayhook__


def _without_collector() -> None:
    """pyzmq frees messages of more than 64 kB with a thread and a context of its own, which are the parent's: the next
    such message would be sent over what is gone, which ends the process."""
    collector: Any = garbage.gc
    _KEPT.append((collector._context, collector._push, collector.thread, collector.refs, collector._lock))
    collector._context = collector._push = collector._push_mutex = collector.thread = None
    collector.refs, collector._lock = {}, threading.Lock()


def application(shell: Any, connection: dict[str, Any]) -> Any:
    """A kernel application around the shell that serves this connection; to be started."""
    old_kernel, before = shell.kernel, _descriptors()
    old_app = old_kernel.parent
    asyncio.set_event_loop(asyncio.new_event_loop())
    for cls in (type(old_app), type(old_kernel)):
        cls.clear_instance()
    with _unchanged_globals(), _unseen_modules():
        app = type(old_app).instance(config=_configuration(old_app), log=old_app.log)
        _connect(app, old_app, connection)
    shell.configurables[:] = [item for item in shell.configurables if item is not old_app]
    shell.kernel = shell.parent = app.kernel
    if hasattr(old_kernel, "_kernel_modules"):
        app.kernel._kernel_modules[:] = old_kernel._kernel_modules
    _note_plumbing(shell, before)
    return app


def _note_plumbing(shell: Any, before: Collection[int]) -> None:
    """What is open right before the first cell, beyond what was inherited, is the application's; threads open late."""

    def note(_info: Any) -> None:
        shell.events.unregister("pre_run_cell", note)
        _plumbing.update({number: what for number, what in _descriptors().items() if number not in before})

    shell.events.register("pre_run_cell", note)


def _connect(app: Any, old_app: Any, connection: dict[str, Any]) -> None:
    """The steps of the application's `initialize` that have to do with sockets, and no others."""
    app.profile_dir = old_app.profile_dir
    app.transport, app.ip = connection["transport"], connection["ip"]
    for name in _PORTS:
        setattr(app, f"{name}_port", connection[f"{name}_port"])
    app.session.key = connection["key"].encode()
    for step in _STEPS:
        getattr(app, step)()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _configuration(app: Any) -> Config:
    """The application's configuration without what belongs to its own connection."""
    config: Config = app.config.copy()
    for name in ("connection_file", "ip", "transport", *(f"{port}_port" for port in _PORTS)):
        config.IPKernelApp.pop(name, None)
    return config


@contextlib.contextmanager
def _unchanged_globals() -> Any:
    """Undo what each new application adds to handlers and functions of the whole process."""
    tornado = logging.getLogger("tornado")
    handlers, enable, register = [*tornado.handlers], faulthandler.enable, faulthandler.register
    try:
        yield
    finally:
        tornado.handlers[:] = handlers
        faulthandler.enable, faulthandler.register = enable, register


@contextlib.contextmanager
def _unseen_modules() -> Any:
    """A new kernel lists the files of all modules for its debugger; to look at each copies a page of memory for it."""

    class System:
        modules: ClassVar[dict[str, Any]] = {}

        def __getattr__(self, name: str) -> Any:
            return getattr(sys, name)

    ipkernel: Any = sys.modules["ipykernel.ipkernel"]
    ipkernel.sys = System()
    try:
        yield
    finally:
        ipkernel.sys = sys


def _without_history(shell: Any) -> None:
    """The history's thread and database are the parent's, its locks may be held for ever."""
    history = shell.history_manager
    if history is None:
        return
    history.enabled = False
    history.save_thread = None
    for name in ("db_input_cache_lock", "db_output_cache_lock"):
        if hasattr(history, name):
            setattr(history, name, threading.Lock())


def _without_helpers() -> None:
    """Helper processes of the parent's multiprocessing are not ours; new ones are started when needed."""
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    if tracker is not None:
        tracker._resource_tracker.__init__()
    server = sys.modules.get("multiprocessing.forkserver")
    if server is not None:
        server._forkserver.__init__()


def _descriptors(numbers: Iterable[int] | None = None) -> dict[int, str]:
    """What each open descriptor, or each of these, is: for sockets and pipes a name that no other ever has."""
    listed = map(int, os.listdir("/proc/self/fd")) if numbers is None else numbers
    return {number: what for number in listed if (what := _what(number))}


def _what(number: int) -> str:
    """Empty for none, as for that of the listing itself."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""
