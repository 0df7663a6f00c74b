"""Moves the clients of a kernel to a relay, once, before the first checkpoint; and what every kernel shares with it.

The kernel binds its sockets to a private folder as well and stops to listen on its ports; the relay listens there. Then
the connections of the clients are closed in one direction: each client reads the end, after what was sent to it, and
connects again, now to the relay, while the kernel still reads everything that the client had sent. So nothing is lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from select import POLLIN, poll
from typing import Any

import zmq

from exploracoder_jupyter.kernel_agent.forking import fork_hazards

PORTS = ("shell", "iopub", "stdin", "control", "hb")
_PR_SET_CHILD_SUBREAPER = 36
_ANSWER_SECONDS = 10.0
_LEAVE_SECONDS = 0.5
"""Seconds until clients have closed their end; one that is stopped loses its connection nevertheless."""
_FLUSH_SECONDS = 0.03
_libc = ctypes.CDLL(None)
_PROGRAMS = Path(__file__).parent


@dataclass(slots=True)
class Link:
    """What the live kernel, every checkpoint and everything that they wake share."""

    root_pid: int
    """The first process of the kernel, whose id the server knows."""
    root: int
    """A descriptor of that process."""
    relay_pid: int
    relay: socket.socket
    to_root: socket.socket
    """Announces the live kernel to the first process."""
    at_root: socket.socket | None
    """The other end, in the first process."""
    folder: str
    endpoint: str = ""
    """Where the live kernel listens, without the name of the socket."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the relay is asked, which the threads of the first process do, too."""

    def descriptors(self) -> set[int]:
        """Return the descriptors that checkpoints keep."""
        return {self.root, self.relay.fileno(), self.to_root.fileno()}

    def announce(self) -> None:
        """Tell the first process that this one is the live kernel now."""
        self.to_root.send(json.dumps({"live": os.getpid()}).encode())

    def exchange(self, endpoint: str, marker: str) -> None:
        """Let the relay exchange the live kernel for the one at this endpoint. Raises OSError if it does not answer."""
        self.ask({"do": "exchange", "endpoint": endpoint, "marker": marker})
        self.endpoint = endpoint

    def ask(self, order: dict[str, Any]) -> None:
        """Send the relay an order and wait until it is done. Raises OSError if it does not answer."""
        with self.lock:
            self.relay.settimeout(None)  # with one, the next line would wait
            with contextlib.suppress(BlockingIOError):  # the answer to somebody who has not lived to read it
                while self.relay.recv(1 << 16, socket.MSG_DONTWAIT):
                    pass
            self.relay.send(json.dumps(order).encode())
            self.relay.settimeout(_ANSWER_SECONDS)
            if not self.relay.recv(1 << 16):
                raise OSError("the relay is gone")

    def watch(self) -> None:
        """End this process when the first process or the relay has ended: nobody could reach it."""
        relay = os.pidfd_open(self.relay_pid)

        def run() -> None:
            ended = poll()
            for descriptor in (self.root, relay):
                ended.register(descriptor, POLLIN)
            ended.poll()
            os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=run, daemon=True, name="explora-undo").start()

    def become_supervisor(self, live: int) -> None:
        """Replace the program of the first process; does not return, and raises OSError if it fails."""
        assert self.at_root is not None
        os.set_inheritable(self.at_root.fileno(), True)
        server = int(os.environ.get("JPY_PARENT_PID") or 0)
        words = [self.at_root.fileno(), live, self.relay_pid, server if server == os.getppid() else 0]
        program = [sys.executable, "-I", "-S", str(_PROGRAMS / "supervisor.py"), *map(str, words)]
        os.execv(sys.executable, program)


def open_link(app: Any) -> Link:
    """Start the relay and move every client to it; in the first process, between messages of a cell that is running.

    Takes as long as clients need to connect again, usually 0.1 to 0.3 s. Raises OSError, with the kernel's own sockets
    as before, if the relay cannot be started.
    """
    folder = tempfile.mkdtemp(prefix="explora-", dir=os.environ.get("XDG_RUNTIME_DIR") or None)
    ports = {name: int(getattr(app, f"{name}_port")) for name in PORTS}
    descriptors = _listeners(ports)
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", str(_PROGRAMS / "relay.py"), str(theirs.fileno()), str(os.getpid()), folder]
    null = subprocess.DEVNULL
    # The arguments close what is not passed; the group stays that of the kernel, which servers end as a whole.
    started = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=null, stdout=null, stderr=null)
    theirs.close()
    to_root, at_root = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    root = os.pidfd_open(os.getpid())
    link = Link(os.getpid(), root, started.pid, channel, to_root, at_root, folder, endpoint=f"ipc://{folder}/0")
    started.returncode = 0  # it is waited for when this process ends
    try:
        channel.settimeout(_ANSWER_SECONDS)
        order = {"ip": app.ip, "ports": ports, "endpoint": link.endpoint}
        socket.send_fds(channel, [json.dumps(order).encode()], list(descriptors.values()))
        if not channel.recv(1 << 16):
            raise OSError("the relay did not start")
        _bind(app, link.endpoint)
        accept_all_requests(app.kernel)
    except OSError:
        with contextlib.suppress(OSError):
            os.kill(started.pid, signal.SIGKILL)
        raise
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    reading = ControlReading(app)
    reading.stop()  # a reply between the connections to a client would be lost
    subscribers = _leave(app, ports)
    _introduce_clients(app.kernel, link)
    reading.resume()
    link.ask({"do": "wait", "subscribers": subscribers})
    link.ask({"do": "connect", "endpoint": link.endpoint})
    link.watch()
    return link


class ControlReading:
    """The control channel, which another thread reads: whether requests on it may begin."""

    def __init__(self, app: Any) -> None:
        self._kernel, self._loop = app.kernel, app.control_thread.io_loop
        self.stopped = False

    def stop(self) -> None:
        """Let requests wait."""
        run_in(self._loop, self._kernel.control_stream.stop_on_recv)
        self.stopped = True

    def resume(self) -> None:
        """Begin those that wait, too."""
        kernel = self._kernel
        run_in(self._loop, lambda: kernel.control_stream.on_recv(kernel.dispatch_control, copy=False))
        self.stopped = False


def _introduce_clients(kernel: Any, link: Link) -> None:
    """Let the relay connect for each client before the first reply to it: its request may have come without the relay.

    Only this process has such clients. A reply to one that is not connected would be dropped.
    """
    for channel, stream in (("shell", kernel.shell_stream), ("control", kernel.control_stream)):
        known: set[bytes] = set()

        def send(
            frames: Any,
            *rest: Any,
            known: set[bytes] = known,
            channel: str = channel,
            stream: Any = stream,
            original: Callable[..., Any] = stream.send_multipart,
            **options: Any,
        ) -> Any:
            client = bytes(frames[0])
            if client not in known:
                known.add(client)
                link.ask({"do": "client", "channel": channel, "client": client.hex()})
                _wait_for_route(stream.socket, client)
            return original(frames, *rest, **options)

        stream.send_multipart = send


def _wait_for_route(router: Any, client: bytes) -> None:
    """Wait until the socket knows the relay's connection for the client, which it may learn after the relay does.

    The relay ignores the empty message with which this is tried.
    """
    end = time.monotonic() + 1
    router.router_mandatory = 1
    while time.monotonic() < end:
        try:
            router.send_multipart([client, b""], zmq.NOBLOCK)
            break
        except zmq.ZMQError:
            time.sleep(0.001)
    router.router_mandatory = 0


def _listeners(ports: dict[str, int]) -> dict[str, int]:
    found = {}
    for number, target in fork_hazards.descriptor_targets().items():
        if target.startswith("socket:") and fork_hazards.is_listening(number):
            address = fork_hazards.local_address(number)
            for name, port in ports.items():
                if address is not None and address[1] == port:
                    found[name] = number
    if found.keys() != ports.keys():
        raise OSError(f"the kernel does not listen on its ports ({', '.join(ports.keys() - found.keys())})")
    return {name: found[name] for name in ports}


def run_in(loop: Any, action: Callable[[], None]) -> None:
    """Run an action in the thread of a tornado loop: sockets belong to their threads. Raises what the action raises."""
    done, errors = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)
        done.set()

    loop.add_callback(run)
    if not done.wait(_ANSWER_SECONDS):
        raise OSError("a thread of the kernel does not answer")
    if errors:
        raise errors[0]


def accept_all_requests(kernel: Any) -> None:
    """Let any number of requests wait in the kernel. The thread that would wait for a place also sends the replies.

    ipykernel has places for 2,000. Raises OSError if that thread does not answer.
    """
    manager = kernel.shell_channel_thread.manager

    def accept() -> None:
        one = manager.get_shell_channel_to_subshell_socket(None)
        one.getsockopt(zmq.EVENTS)  # takes note of the other end: the next line concerns only those that it knows
        one.sndhwm = 0

    run_in(kernel.shell_channel_thread.io_loop, accept)


def _sockets(app: Any) -> dict[str, tuple[Any, Any]]:
    """Return the kernel's sockets, each with the loop of its thread; None: the main thread, which runs the cell."""
    publishing = app.iopub_thread
    return {
        "shell": (app.shell_socket, app.shell_channel_thread.io_loop),
        "control": (app.control_socket, app.control_thread.io_loop),
        "iopub": (publishing.socket, publishing.io_loop),
        "stdin": (app.stdin_socket, None),
    }


def _bind(app: Any, endpoint: str) -> None:
    for name, (one, loop) in _sockets(app).items():

        def bind(one: Any = one, name: str = name) -> None:
            one.bind(f"{endpoint}-{PORTS.index(name) + 1}")  # as ipykernel names the sockets of the others

        bind() if loop is None else run_in(loop, bind)


def _leave(app: Any, ports: dict[str, int]) -> int:
    """Let all clients go and stop listening; return how many of them read what the kernel publishes.

    ZeroMQ ends the connections of a socket that stops listening, with what they have not delivered. So the clients must
    be gone before, and none may come between: for these milliseconds the process may open no descriptor, which makes
    ZeroMQ leave new connections to the relay, which listens as well.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    time.sleep(_FLUSH_SECONDS)  # until what was published is in the connections
    numbers = range(3, max(fork_hazards.descriptor_targets()) + 100)
    with _no_new_descriptors(min(_connections(numbers, ports), default=max(numbers))):
        clients = _connections(numbers, ports)
        for number in clients:
            _libc.shutdown(number, socket.SHUT_WR)
        end = time.monotonic() + _LEAVE_SECONDS
        while _connections(numbers, ports) and time.monotonic() < end:
            time.sleep(0.001)
        for one, loop in list(_sockets(app).values())[:2]:
            while time.monotonic() < end and _has_requests(one, loop):  # their threads read what has come
                time.sleep(0.001)
        for name, (one, loop) in _sockets(app).items():

            def unbind(one: Any = one, name: str = name) -> None:
                one.unbind(f"tcp://{app.ip}:{ports[name]}")

            unbind() if loop is None else run_in(loop, unbind)
        app.heartbeat.context.term()
    return list(clients.values()).count("iopub")


@contextlib.contextmanager
def _no_new_descriptors(limit: int) -> Iterator[None]:
    """Let this process open no descriptor, where all that will be closed meanwhile are at least `limit`.

    A limit of 0 would do the same, but poll(2) refuses to watch more descriptors than the limit allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers: list[int] = []
    try:
        while not fillers or fillers[-1] < limit:
            fillers.append(os.dup(0))
        os.close(fillers.pop())
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for number in fillers:
            os.close(number)


def _has_requests(one: Any, loop: Any) -> bool:
    found = []
    run_in(loop, lambda: found.append(bool(one.events & zmq.POLLIN)))
    return found[0]


def _connections(numbers: Iterable[int], ports: dict[str, int]) -> dict[int, str]:
    """Return those of the descriptors that are connections of clients, and the their sockets' names; opens nothing."""
    names = {port: name for name, port in ports.items() if name != "hb"}
    found = {}
    for number in numbers:
        address = fork_hazards.local_address(number)
        if address is None or address[1] not in names or fork_hazards.is_listening(number):
            continue
        if fork_hazards.peer_address(number):
            found[number] = names[address[1]]
    return found
