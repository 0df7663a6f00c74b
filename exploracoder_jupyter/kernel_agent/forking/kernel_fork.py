"""Forks this kernel into another kernel with the same memory.

A short-lived or idle helper thread makes the fork and becomes the child's main thread: signals work there, the stack is
shallow, no event loop is running, and an OpenMP thread team of the old main thread is not inherited. Between fork and
first message the child is single-threaded: in this phase it is confined (`confine`), its inherited descriptors and
mappings are replaced by its own, and a new kernel application is built around the existing shell.

    parent kernel --fork--> middle --fork--> branch         the middle process exits at once: no zombie is left
                              `--spawn--> reaper            first of the process namespace; ends with the engine

A branch serves requests on its channel (`process_fork`): `fork` creates another generation, an end of file ends it. A
branch that is only forked and never runs anything (`serve` false) has no kernel and no second thread.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import shutil
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, NoReturn

from exploracoder_jupyter.kernel_agent.confinement import branch_environment, linux_calls, namespaces, resource_limits
from exploracoder_jupyter.kernel_agent.forking import (
    fork_hazards,
    inheritance,
    process_fork,
    rebuilt_kernel,
)
from exploracoder_jupyter.kernel_agent.forking.inheritance import InheritedDescriptors, make_private
from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report

_ORDER_SECONDS = 10
"""Seconds a forked process waits for its order, as a thread of its parent waits for it."""


def fork(shell: Any, address: str) -> None:
    """Fork this kernel, between or during cells, into a branch that connects to the engine at the address.

    May be called from any thread. It blocks until the engine has sent the order and the child has been forked: a few
    milliseconds, and at most ten seconds if the engine does not answer. Other threads are blocked only during the fork
    itself, about a millisecond per gigabyte of arrays.

    Raises OSError if the system refused the fork.
    """
    refused: list[OSError] = []

    def run() -> None:
        try:
            _fork(shell, lambda: process_fork.connect(address))
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=_latest_context(shell).run, args=(run,), name="explora-fork")
    thread.start()
    thread.join()
    if refused:
        raise refused[0]


def listen(shell: Any, channel: socket.socket) -> threading.Thread:
    """Serve the engine's requests in a separate thread until the channel closes."""
    track_context(shell)
    thread = threading.Thread(target=_serve_requests, args=(shell, channel), daemon=True, name="explora-line")
    thread.start()
    return thread


def track_context(shell: Any) -> None:
    """Store the context variables now and after every cell: a thread that forks cannot read those of another thread.

    Call this in the thread that runs the cells; repeating is fine. What a running cell has set is not included.
    """
    if not hasattr(shell, "explora_context"):

        def store(_result: Any) -> None:
            shell.explora_context = copy_context()

        shell.events.register("post_run_cell", store)
    shell.explora_context = copy_context()


def _latest_context(shell: Any) -> Context:
    """Return a copy of the context for the next cell, as far as this thread can know it."""
    context = getattr(shell, "explora_context", None)
    if isinstance(context, Context) and threading.current_thread() is not threading.main_thread():
        return context.copy()
    return copy_context()


def _serve_requests(shell: Any, channel: socket.socket) -> NoReturn:
    try:
        while True:
            message, descriptors = process_fork.receive(channel)
            if message["ask"] == "fork" and descriptors:  # no descriptor: the limit is reached; the sender sees an end
                _handle_fork_request(shell, channel, descriptors[0], message)
    finally:  # the channel is closed, or an error: a branch that no longer serves requests would never end
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _handle_fork_request(shell: Any, channel: socket.socket, descriptor: int, message: dict[str, Any]) -> None:
    with socket.socket(fileno=descriptor) as child_channel:
        child_channel.settimeout(_ORDER_SECONDS)
        try:
            refusal = _refusal_reason(shell, channel, message)
            if not refusal:
                _latest_context(shell).run(_fork, shell, lambda: child_channel, parent_channel=channel)
        except Exception as error:
            refusal = {"error": f"{type(error).__name__}: {error}"}
        if refusal:  # answer in place of the child, after reading its order: unread data would reset the connection
            with contextlib.suppress(EOFError, OSError):
                for given in process_fork.receive(child_channel)[1]:
                    os.close(given)
            process_fork.send_if_open(child_channel, refusal)


def _refusal_reason(shell: Any, channel: socket.socket, message: dict[str, Any]) -> dict[str, str] | None:
    """Return why this state must not be forked: `refused`, a clause, and the `library` that causes it."""
    for library in message["suspects"]:
        if library in sys.modules:
            return {"refused": f"forks of a kernel that had {library} loaded have hung before", "library": library}
    if not message["check"]:
        return None
    hazards = fork_hazards.find_hazards(shell.user_ns, ours={channel.fileno(), *rebuilt_kernel.own_descriptors()})
    refused = next((hazard for hazard in hazards if hazard["kind"] == "refuse"), None)
    return {"refused": refused["what"], "library": refused["library"]} if refused else None


def _fork(shell: Any, get_channel: Callable[[], socket.socket], *, parent_channel: socket.socket | None = None) -> None:
    state = random.getstate()  # the module reseeds itself in every child
    middle = process_fork.fork()
    if middle == 0:
        _run_middle_process(shell, get_channel, parent_channel, state)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(middle, 0)


def _run_middle_process(
    shell: Any, get_channel: Callable[[], socket.socket], parent_channel: socket.socket | None, state: tuple[Any, ...]
) -> NoReturn:
    """Prepare what the branch needs before it exists, fork the branch, exit."""
    channel: socket.socket | None = None
    gc_enabled = gc.isenabled()
    try:
        gc.disable()
        channel = get_channel()
        channel.settimeout(_ORDER_SECONDS)
        if parent_channel is not None:
            parent_channel.close()
        rebuilt_kernel.close_own_descriptors(keep=[channel.fileno()])
        # Immediately, as until then the parent may move offsets.
        inherited = InheritedDescriptors.survey(keep=[channel.fileno()])
        order, descriptors = process_fork.receive(channel)
        channel.settimeout(None)
        received = dict(zip(order["given"], descriptors, strict=True))
        reaper = _enter_namespaces(order, received, inherited)
        if os.fork():
            os._exit(0)
        random.setstate(state)
        os.setsid()
        _run_branch(shell, order, channel, inherited, reaper, received.get("filter"), gc_enabled)
    except BaseException:
        if channel is not None:
            process_fork.send_if_open(channel, {"error": traceback.format_exc(limit=-3).strip()})
    finally:
        os._exit(1)


def _enter_namespaces(order: dict[str, Any], received: dict[str, int], inherited: InheritedDescriptors) -> int | None:
    """Enter new namespaces if ordered, and start a reaper in them; return a descriptor of the reaper.

    Closes the received descriptors that the branch itself must not have.
    """
    try:
        if order["level"] != "namespaces":
            return None
        namespaces.enter_namespaces(network=order["network"], proc=received.get("proc"), permit=received.get("permit"))
        return _start_reaper(received["lifeline"], inherited)
    finally:
        for name in received.keys() - {"filter"}:
            os.close(received[name])


def _start_reaper(lifeline: int, inherited: InheritedDescriptors) -> int:
    """Start the first process of the namespace: it exits when its standard input ends, which ends the namespace."""
    program = shutil.which("cat", path=os.defpath)
    if program is None:
        raise OSError("the program `cat` was not found")
    null_devices = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    closings = [(os.POSIX_SPAWN_CLOSE, one.number) for one in inherited.descriptors if one.number > 2]
    actions = [(os.POSIX_SPAWN_DUP2, lifeline, 0), *null_devices, *closings]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # inherited by the reaper: its children leave no zombies
    try:
        reaper = os.posix_spawn(program, ["explora-branch"], {}, file_actions=actions, setsigdef=[signal.SIGTERM])
        return os.pidfd_open(reaper)
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _run_branch(
    shell: Any,
    order: dict[str, Any],
    channel: socket.socket,
    inherited: InheritedDescriptors,
    reaper: int | None,
    syscall_filter: int | None,
    gc_enabled: bool,
) -> NoReturn:
    notes, proc = _isolate(shell, order, inherited)
    rebuilt_kernel.detach_shell(shell)
    (gc.enable if gc_enabled else gc.disable)()
    if order["first"]:  # prepare what all later generations inherit
        if order["level"] != "open":
            inheritance.erase_keys(shell.kernel.parent)
        if order["environ"] is not None:
            branch_environment.clean_environment(order["environ"])
        if order["output"] is not None:
            bounded_output.OutputLimits(order["output"]).install_once()
            branch_environment.forget_kernel_arguments(shell)
            cell_report.CellReporter.of(shell)
    branch_environment.use_own_folders(order)
    if order["level"] != "open":
        resource_limits.apply(order["limits"])
    if syscall_filter is not None:
        linux_calls.install_filter(syscall_filter)
        os.close(syscall_filter)
    returned = [descriptor for descriptor in (reaper, proc) if descriptor is not None]
    app = rebuilt_kernel.build_application(shell, order["connection"]) if order["serve"] else None
    loaded = fork_hazards.risky_libraries_in(sys.modules)
    process_fork.send(channel, {"ready": True, "notes": notes, "loaded": loaded}, returned)
    for descriptor in returned:
        os.close(descriptor)
    if app is None:
        _warm_up(shell)
        _serve_requests(shell, channel)
    listen(shell, channel)
    app.start()
    os._exit(0)


def _isolate(shell: Any, order: dict[str, Any], inherited: InheritedDescriptors) -> tuple[list[str], int | None]:
    """Stop sharing memory, files and descriptors with the parent.

    Returns one clause for each thing that is missing from now on, and the result of `namespaces.build_view`.
    """
    if shared := make_private():
        raise RuntimeError(f"memory would still be shared: {'; '.join(shared)}")
    history = str(getattr(shell.history_manager, "hist_file", "")) or "\n"  # which starts no path
    addresses = rebuilt_kernel.socket_addresses(shell)
    quiet = inherited.of_kernel(addresses, rebuilt_kernel.standard_streams(), history)
    carried, proc = branch_environment.enter_view(order)
    return inherited.replace_all(carried, hidden=order["hidden"], shown=order["shown"], quiet=quiet), proc


def _warm_up(shell: Any) -> None:
    """Load what renders tracebacks: a fifth of a second, which the failing experiments would otherwise spend each."""
    try:
        raise RuntimeError
    except RuntimeError:
        with contextlib.suppress(Exception):
            shell.InteractiveTB.structured_traceback(*sys.exc_info())
