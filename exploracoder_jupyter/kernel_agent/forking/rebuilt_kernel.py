"""Takes a kernel's shell out of its application and builds a new application around it, on new sockets.

What a forked process inherits of the old application (event loops, ZeroMQ contexts, threads that are gone, locks that
they may have held) is neither used nor closed nor garbage-collected: closing a loop would remove descriptors from an
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
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import zmq
from traitlets.config import Config
from zmq.utils import garbage

from exploracoder_jupyter.kernel_agent.forking.fork_hazards import descriptor_targets

_UNCOLLECTED: list[object] = []
"""Objects that must never be garbage-collected."""
_own_descriptors: dict[int, str] = {}
"""Descriptors opened by the application made here, with their targets, which are unique for sockets and pipes: a number
may be reused later."""
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


def standard_streams() -> set[int]:
    """Return the descriptors behind standard output and error: often the log of the server that started the kernel."""
    found = {1, 2}
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # replaced by an object of another library
            found.add(stream.fileno())
    return found


def own_descriptors() -> set[int]:
    """Return the descriptors that the application made here has opened and that are still open."""
    return {descriptor for descriptor, _ in _own_descriptors.items() & descriptor_targets().items()}


def close_own_descriptors(keep: Collection[int]) -> None:
    """In a fork of a branch, close what its application had opened. The objects are kept but never used again.

    `keep` are descriptors of the fork itself, which are recorded too if it is made while the first cell starts.
    """
    for descriptor in own_descriptors().difference(keep):
        os.close(descriptor)
    _own_descriptors.clear()


def socket_addresses(shell: Any) -> set[int | str]:
    """Return the ports or paths of the kernel's own sockets, as far as its application reveals them."""
    app = shell.kernel.parent
    ports = [getattr(app, f"{name}_port", 0) for name in _PORTS]
    if getattr(app, "transport", "tcp") == "ipc":
        return {f"{app.ip}-{port}" for port in ports}
    return {*ports, getattr(getattr(app, "iopub_thread", None), "_pipe_port", 0)}


def detach_shell(shell: Any) -> None:
    """Detach the shell from the application and everything else that a fork loses. May be called again."""
    gc.disable()
    gc.freeze()
    atexit._clear()
    kernel = shell.kernel
    policy = asyncio.get_event_loop_policy()
    _UNCOLLECTED.append((kernel, kernel.parent, sys.stdout, sys.stderr, sys.displayhook, policy))
    asyncio._set_running_loop(None)
    asyncio.set_event_loop_policy(None)
    zmq.Context._instance = None
    _reset_zmq_collector()
    sys.stdout, sys.stderr, sys.displayhook = sys.__stdout__, sys.__stderr__, sys.__displayhook__
    shell.display_trap._nested_level = shell.builtin_trap._nested_level = 0  # the fork may have been made in a cell
    if hasattr(shell, "enable_tip"):
        shell.enable_tip = False  # drawing a tip for each `kernel_info` request would advance the user's random state
    history = shell.history_manager
    if history is not None:  # its thread and database are the parent's, and its locks may be held forever
        history.enabled, history.save_thread = False, None
        for name in ("db_input_cache_lock", "db_output_cache_lock"):
            if hasattr(history, name):
                setattr(history, name, threading.Lock())
    for name, helper in (("resource_tracker", "_resource_tracker"), ("forkserver", "_forkserver")):
        if module := sys.modules.get(f"multiprocessing.{name}"):
            getattr(module, helper).__init__()  # forgets the parent's process; a new one is started when needed
    gc.enable()


def _reset_zmq_collector() -> None:
    """Reset pyzmq's collector, which frees messages of more than 64 kB with a thread and context of the parent.

    Otherwise the next such message would be sent over what is gone, which ends the process.
    """
    collector: Any = garbage.gc
    _UNCOLLECTED.append((collector._context, collector._push, collector.thread, collector.refs, collector._lock))
    collector._context = collector._push = collector._push_mutex = collector.thread = None
    collector.refs, collector._lock = {}, threading.Lock()


def build_application(shell: Any, connection: dict[str, Any]) -> Any:
    """Build a kernel application around the shell that serves this connection; the caller starts it."""
    old_kernel, inherited = shell.kernel, descriptor_targets()
    old_app = old_kernel.parent
    asyncio.set_event_loop(asyncio.new_event_loop())
    for cls in (type(old_app), type(old_kernel)):
        cls.clear_instance()
    config: Config = old_app.config.copy()
    for name in ("connection_file", "ip", "transport", *(f"{port}_port" for port in _PORTS)):
        config.IPKernelApp.pop(name, None)
    with _contained():
        app = type(old_app).instance(config=config, log=old_app.log)
        app.profile_dir = old_app.profile_dir
        app.transport, app.ip = connection["transport"], connection["ip"]
        for name in _PORTS:
            setattr(app, f"{name}_port", connection[f"{name}_port"])
        app.session.key = connection["key"].encode()
        for step in _STEPS:  # those of the application's `initialize` that concern sockets
            getattr(app, step)()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    shell.configurables[:] = [item for item in shell.configurables if item is not old_app]
    shell.kernel = shell.parent = app.kernel
    if hasattr(old_kernel, "_kernel_modules"):
        app.kernel._kernel_modules[:] = old_kernel._kernel_modules
    _record_own_descriptors(shell, inherited)
    return app


def _record_own_descriptors(shell: Any, inherited: Collection[int]) -> None:
    """Record what is opened before the first cell and was not inherited; some threads open descriptors late."""

    def record(_info: Any) -> None:
        shell.events.unregister("pre_run_cell", record)
        opened = descriptor_targets()
        _own_descriptors.update({number: opened[number] for number in opened.keys() - inherited})

    shell.events.register("pre_run_cell", record)


@contextlib.contextmanager
def _contained() -> Iterator[None]:
    """Undo the changes of a new application to process-wide handlers and functions.

    Also hides the modules from its kernel, which lists their files for its debugger: this would copy a page for each.
    """

    class System:
        modules: ClassVar[dict[str, Any]] = {}

        def __getattr__(self, name: str) -> Any:
            return getattr(sys, name)

    tornado, ipkernel = logging.getLogger("tornado"), sys.modules["ipykernel.ipkernel"]
    handlers, enable, register = [*tornado.handlers], faulthandler.enable, faulthandler.register
    vars(ipkernel)["sys"] = System()
    try:
        yield
    finally:
        vars(ipkernel)["sys"] = sys
        tornado.handlers[:] = handlers
        faulthandler.enable, faulthandler.register = enable, register
