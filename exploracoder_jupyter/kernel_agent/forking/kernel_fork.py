"""Forks this kernel into another kernel that has the same memory.

The fork is made by a short-lived or idle helper thread, which in the child is the main thread: signals work there, the
stack is shallow, no event loop is running, and a team of OpenMP threads that belongs to the old main thread is not
inherited. Between fork and first message the child is single-threaded: there it is confined (`confine`), its inherited
descriptors and mappings are made its own, and a new kernel application is put around the shell that is already there.

    parent kernel --fork--> middle --fork--> branch         the middle one is gone at once: no zombie is left
                              `--spawn--> reaper            first of the process namespace; ends with the engine

A branch listens on its line (`line`): `fork` makes another generation, an end of file ends it. A branch that is only
forked and never runs anything (`serve` false) has no kernel and no second thread.
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
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from exploracoder_jupyter.kernel_agent.confinement import branch_environment, confine, resource_limits, syscalls
from exploracoder_jupyter.kernel_agent.forking import (
    context_variables,
    fork_channel,
    fork_hazards,
    message_signing,
    process_fork,
    rebuilt_kernel,
    warm_up,
)
from exploracoder_jupyter.kernel_agent.forking.descriptors import Inherited
from exploracoder_jupyter.kernel_agent.forking.memory_mappings import make_private
from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report

_ORDER_SECONDS = 10
"""A forked process waits no longer for its order, since a thread of its parent waits for it."""


def fork(shell: Any, address: str) -> None:
    """Fork this kernel, between or during cells, into a branch that connects to the engine at the address.

    From any thread, which is held up until the engine has sent the order and the child has left: a few milliseconds,
    and not more than ten seconds when the engine does not answer. Other threads are held up for the fork itself only,
    about a millisecond for a gigabyte of arrays.

    Raises:
        OSError: the system refused the fork.
    """
    refused: list[OSError] = []

    def make() -> None:
        try:
            _fork(shell, lambda: fork_channel.connect(address))
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=context_variables.latest(shell).run, args=(make,), name="explora-fork")
    thread.start()
    thread.join()
    if refused:
        raise refused[0]


def listen(shell: Any, own: socket.socket) -> threading.Thread:
    """Answer the engine from a thread of its own, until the line ends."""
    context_variables.follow(shell)
    thread = threading.Thread(target=_answer, args=(shell, own), daemon=True, name="explora-line")
    thread.start()
    return thread


def _answer(shell: Any, own: socket.socket) -> NoReturn:
    try:
        while True:
            message, descriptors = fork_channel.receive(own)
            if message["ask"] == "fork" and descriptors:  # none: no number was free for it, and the asker sees an end
                _fork_for(shell, own, descriptors[0], message)
    finally:
        _end()  # the end of the line, or a fault: a branch that no longer listens would never end


def _fork_for(shell: Any, own: socket.socket, descriptor: int, message: dict[str, Any]) -> None:
    with socket.socket(fileno=descriptor) as other:
        other.settimeout(_ORDER_SECONDS)
        try:
            declined = _refusal(shell, own, message)
            if not declined:
                context_variables.latest(shell).run(_fork, shell, lambda: other, leave=own)
        except Exception as error:
            declined = {"error": f"{type(error).__name__}: {error}"}
        if declined:
            _decline(other, declined)


def _decline(other: socket.socket, why: dict[str, str]) -> None:
    """Answer in the place of a child that is not made. Its order is taken: what lies unread would break the line."""
    with contextlib.suppress(EOFError, OSError):
        for descriptor in fork_channel.receive(other)[1]:
            os.close(descriptor)
    fork_channel.tell(other, why)


def _refusal(shell: Any, own: socket.socket, message: dict[str, Any]) -> dict[str, str] | None:
    """Why this state is not to be forked: `refused`, a clause, and the `library` that is to blame."""
    for library in message["suspects"]:
        if library in sys.modules:
            return {"refused": f"forks of a kernel that had {library} loaded have hung before", "library": library}
    if not message["check"]:
        return None
    found = fork_hazards.find(shell.user_ns, ours={own.fileno(), *rebuilt_kernel.plumbing()})
    refused = next((hazard for hazard in found if hazard["kind"] == "refuse"), None)
    return {"refused": refused["what"], "library": refused["library"]} if refused else None


def _end() -> NoReturn:
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _fork(shell: Any, get_line: Callable[[], socket.socket], *, leave: socket.socket | None = None) -> None:
    state = random.getstate()  # the module seeds itself anew in every child
    middle = process_fork.fork()
    if middle == 0:
        _descend(shell, get_line, leave, state)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(middle, 0)


def _descend(
    shell: Any, get_line: Callable[[], socket.socket], leave: socket.socket | None, state: tuple[Any, ...]
) -> NoReturn:
    """The middle process: prepare what needs a process before the branch, make the branch, go."""
    own: socket.socket | None = None
    collecting = gc.isenabled()
    try:
        gc.disable()
        own = get_line()
        own.settimeout(_ORDER_SECONDS)
        if leave is not None:
            leave.close()
        rebuilt_kernel.close_own_plumbing(keep=[own.fileno()])
        inherited = Inherited.survey(keep=[own.fileno()])  # at once: until then the parent may move offsets
        order, descriptors = fork_channel.receive(own)
        own.settimeout(None)
        given = dict(zip(order["given"], descriptors, strict=True))
        reaper = _enter(order, given, inherited)
        if os.fork():
            os._exit(0)
        random.setstate(state)
        os.setsid()
        _become(shell, order, own, inherited, reaper, given.get("filter"), collecting)
    except BaseException:
        if own is not None:
            fork_channel.tell(own, {"error": traceback.format_exc(limit=-3).strip()})
    finally:
        os._exit(1)


def _enter(order: dict[str, Any], given: dict[str, int], inherited: Inherited) -> int | None:
    """Enter new namespaces, if the order says so, and start what reaps in them; a descriptor of it.

    Closes what the branch itself must not have of what was given.
    """
    try:
        if order["level"] != "namespaces":
            return None
        confine.enter_namespaces(network=order["network"], proc=given.get("proc"), permit=given.get("permit"))
        return _start_reaper(given["lifeline"], inherited)
    finally:
        for name in given.keys() - {"filter"}:
            os.close(given[name])


def _start_reaper(lifeline: int, inherited: Inherited) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # inherited by the reaper: its children vanish by themselves
    try:
        return os.pidfd_open(_spawn_reaper(lifeline, [one.number for one in inherited.found]))
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _spawn_reaper(lifeline: int, inherited: Iterable[int]) -> int:
    """The first process of the namespace: it ends with its standard input, and everything in the namespace with it."""
    program = shutil.which("cat", path=os.defpath)
    if program is None:
        raise OSError("there is no program `cat`")
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    foreign = [(os.POSIX_SPAWN_CLOSE, number) for number in inherited if number > 2]
    wired = [(os.POSIX_SPAWN_DUP2, lifeline, 0), *nothing, *foreign]
    return os.posix_spawn(program, ["explora-branch"], {}, file_actions=wired, setsigdef=[signal.SIGTERM])


def _settle_in(shell: Any, order: dict[str, Any]) -> None:
    """What all later generations inherit."""
    if order["level"] != "open":
        message_signing.forget(shell.kernel.parent)
    if order["environ"] is not None:
        branch_environment.scrub(order["environ"])
    if order["output"] is not None:
        bounded_output.Bounds(order["output"]).install_once()
        cell_report.Aftermath.of(shell)


def _become(
    shell: Any,
    order: dict[str, Any],
    own: socket.socket,
    inherited: Inherited,
    reaper: int | None,
    syscall_filter: int | None,
    collecting: bool,
) -> NoReturn:
    """The branch itself."""
    notes, proc = _come_apart(shell, order, inherited)
    rebuilt_kernel.detach(shell)
    (gc.enable if collecting else gc.disable)()
    if order["first"]:
        _settle_in(shell, order)
    branch_environment.point_to_own(order)
    if order["level"] != "open":
        resource_limits.apply(order["limits"])
    if syscall_filter is not None:
        syscalls.install_filter(syscall_filter)
        os.close(syscall_filter)
    given = [descriptor for descriptor in (reaper, proc) if descriptor is not None]
    app = rebuilt_kernel.application(shell, order["connection"]) if order["serve"] else None
    fork_channel.send(own, {"ready": True, "notes": notes, "loaded": fork_hazards.loaded(sys.modules)}, given)
    for descriptor in given:
        os.close(descriptor)
    _live(shell, app, own)


def _come_apart(shell: Any, order: dict[str, Any], inherited: Inherited) -> tuple[list[str], int | None]:
    """Share neither memory nor files nor descriptors with the parent.

    Returns what is lacking from now on, a clause each, and what `confine.build_view` returned.
    """
    if shared := make_private():
        raise RuntimeError(f"memory would still be shared: {'; '.join(shared)}")
    quiet = (
        inherited.at(rebuilt_kernel.addresses(shell))
        | inherited.pipes()
        | inherited.below(rebuilt_kernel.history_file(shell))
    )
    carried, proc = branch_environment.move_in(order)
    return inherited.restore(carried, hidden=order["hidden"], shown=order["shown"], quiet=quiet), proc


def _live(shell: Any, app: Any, own: socket.socket) -> NoReturn:
    if app is None:
        warm_up.warm_up(shell)
        _answer(shell, own)
    listen(shell, own)
    app.start()
    os._exit(0)
