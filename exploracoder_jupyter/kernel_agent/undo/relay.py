"""Keeps the sockets of a kernel for its clients while the kernel behind them is exchanged. A program of its own.

    clients --tcp--> ROUTER | XPUB  relay  DEALER, one a client | XSUB --ipc--> kernel

Each client has a DEALER with the client's own identity towards the kernel: the kernel sees the identities that it would
see without a relay, so it can also answer what it received before the relay was there. Requests that are not answered
yet are remembered; after an exchange they are sent to the new kernel in their order. A request has been answered when
its reply, or the status `idle` that names it, has passed here; the replies to those that are idle are waited for.

Arguments: descriptor of the channel to the kernel, process id of the kernel's first process, folder of the sockets.
Standard library and zmq only; it is started by its path, in an interpreter that need not find this package.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import time
from typing import Any

import zmq

_CHANNELS = ("shell", "control", "stdin")
_NUMBERS = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4}
"""What follows the endpoint of a kernel in the names of its sockets."""
_DELIMITER = b"<IDS|MSG>"
_HEADER, _PARENT = 2, 3
"""Positions of the header and the parent's header, counted from the delimiter."""
_EXCHANGE_SECONDS = 2.0
_RECONNECT_SECONDS = 30.0
"""Seconds for which replies to a client that is not connected are kept."""


class _Relay:
    def __init__(self, channel: socket.socket, root: int, folder: str) -> None:
        self._channel, self._folder = channel, folder
        self._root = os.pidfd_open(root)
        self._context = zmq.Context()
        self._fronts: dict[str, zmq.Socket[bytes]] = {}
        self._backs: dict[tuple[str, bytes], zmq.Socket[bytes]] = {}
        self._clients: dict[zmq.Socket[bytes], tuple[str, bytes]] = {}
        self._publisher: zmq.Socket[bytes] | None = None
        self._subscriptions: dict[bytes, int] = {}
        self._unanswered: dict[str, dict[str, list[bytes]]] = {name: {} for name in _CHANNELS}
        self._executed: set[str] = set()
        """Ids of the requests whose reply must still come: the kernel has already published that it is idle again."""
        self._undelivered: list[tuple[float, str, list[bytes]]] = []
        self._endpoint = ""
        self._given: set[str] = set()
        """Ids of the requests that the kernel before the last exchange has received."""
        self._marker = b""
        """With this the kernel has ended what it publishes before an exchange."""
        self._holding = True
        """Whether requests wait in the sockets of clients, because there is no kernel for them at the moment."""

    def listen(self, endpoint: str, ip: str, ports: dict[str, int], listeners: dict[str, int]) -> None:
        """Serve clients on sockets that listen already."""
        self._endpoint = endpoint
        kinds = {"iopub": zmq.XPUB}
        for name, port in ports.items():
            front = self._context.socket(kinds.get(name, zmq.ROUTER))
            front.linger = 1000
            front.set_hwm(0)
            if name == "iopub":
                front.setsockopt(zmq.XPUB_VERBOSE, 1)
            else:
                front.router_handover = 1
            if name in _CHANNELS:
                front.router_mandatory = 1
            front.setsockopt(zmq.USE_FD, listeners[name])
            front.bind(f"tcp://{ip}:{port}")
            self._fronts[name] = front

    def run(self) -> None:
        """Forward until the first process of the kernel ends."""
        while True:
            ready = self._wait(20 if self._undelivered else None)
            self._deliver()
            if self._channel.fileno() in ready:
                self._obey()
                continue
            self._forward(ready)
            if self._root in ready:
                break
        for _ in range(10):  # what the kernel sent last
            self._forward(self._wait(5))
        self._context.destroy(linger=1000)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self, milliseconds: int | None) -> set[Any]:
        poller = zmq.Poller()
        for name, front in self._fronts.items():
            if name not in _CHANNELS or not self._holding:
                poller.register(front, zmq.POLLIN)
        for back in self._clients:
            poller.register(back, zmq.POLLIN)
        if self._publisher is not None:
            poller.register(self._publisher, zmq.POLLIN)
        for descriptor in (self._channel.fileno(), self._root):
            poller.register(descriptor, zmq.POLLIN)
        return {item for item, _ in poller.poll(milliseconds)}

    def _forward(self, ready: set[Any]) -> None:
        """Forward what waits: first what the kernel sent, so that a reply is known before the next request."""
        for back in [back for back in self._clients if back in ready]:
            for frames in _waiting(back):
                self._forward_reply(*self._clients[back], frames)
        if self._publisher is not None and self._publisher in ready:
            for frames in _waiting(self._publisher):
                self._publish(frames)
        for name, front in self._fronts.items():
            if front not in ready:
                continue
            for frames in _waiting(front):
                if name == "hb":
                    front.send_multipart(frames)
                elif name == "iopub":
                    self._subscribe(frames[0])
                else:
                    self._forward_request(name, frames)

    def _forward_request(self, name: str, frames: list[bytes]) -> None:
        if name != "stdin" and (request := _message_id(frames, _HEADER)):
            self._unanswered[name][request] = frames
        if name == "shell":
            self._back("stdin", frames[0])  # over which a cell of this client may ask for input
        self._back(name, frames[0]).send_multipart(frames[1:])

    def _forward_reply(self, name: str, client: bytes, frames: list[bytes]) -> None:
        if frames == [b""]:  # the kernel tries whether it has a connection to this client
            return
        if name != "stdin":
            request = _message_id(frames, _PARENT)
            self._unanswered[name].pop(request, None)
            self._executed.discard(request)
        self._undelivered.append((time.monotonic() + _RECONNECT_SECONDS, name, [client, *frames]))
        self._deliver()

    def _deliver(self) -> None:
        """Send replies to clients in order; those to a client that is just connecting again wait."""
        waiting, absent = [], set()
        for limit, name, frames in self._undelivered:
            try:
                if (name, frames[0]) in absent:
                    raise zmq.ZMQError(zmq.EHOSTUNREACH)
                self._fronts[name].send_multipart(frames)
            except zmq.ZMQError:
                absent.add((name, frames[0]))
                if time.monotonic() < limit:
                    waiting.append((limit, name, frames))
        self._undelivered = waiting

    def _publish(self, frames: list[bytes]) -> None:
        if len(frames) == 1:  # no message for clients
            self._marker = frames[0]
            return
        if frames[0].endswith(b".status") and b'"idle"' in b"".join(frames[-3:]):
            request = _message_id(frames, _PARENT)
            for name in ("shell", "control"):
                asked = self._unanswered[name].pop(request, None)
                if asked is not None and _of_header(asked, _HEADER, "msg_type").endswith("_request"):
                    self._executed.add(request)
        self._fronts["iopub"].send_multipart(frames)

    def _subscribe(self, frame: bytes) -> None:
        topic, change = frame[1:], 1 if frame[:1] == b"\x01" else -1
        self._subscriptions[topic] = max(0, self._subscriptions.get(topic, 0) + change)
        if self._publisher is not None and change > 0:  # the kernel welcomes each; it publishes everything to us anyway
            self._publisher.send(frame)

    def _back(self, name: str, client: bytes) -> zmq.Socket[bytes]:
        """Return the connection of a client to the kernel; it is made when the client first needs it."""
        found = self._backs.get((name, client))
        if found is not None:
            return found
        back = self._context.socket(zmq.DEALER)
        back.set_hwm(0)
        back.linger = 0
        back.identity = client if client[:1] != b"\0" else b"relay-" + client.hex().encode()
        back.immediate = 1  # so that it can be polled for the connection
        back.connect(f"{self._endpoint}-{_NUMBERS[name]}")
        if name == "stdin":  # a kernel drops a request for input to a client that it does not know
            back.poll(1000, zmq.POLLOUT)
        self._backs[name, client] = back
        self._clients[back] = name, client
        return back

    def _obey(self) -> None:
        content = self._channel.recv(1 << 20)
        if not content:  # every kernel is gone
            os._exit(1)
        order = json.loads(content)
        if order["do"] == "wait":  # until so many subscribe again
            end = time.monotonic() + _EXCHANGE_SECONDS
            while sum(self._subscriptions.values()) < order["subscribers"] and time.monotonic() < end:
                self._forward(self._wait(10))
        elif order["do"] == "client":
            client = bytes.fromhex(order["client"])
            self._back("stdin", client)
            self._back(order["channel"], client).poll(1000, zmq.POLLOUT)
        elif order["do"] == "connect":
            self._connect(order["endpoint"])
        elif order["do"] == "exchange":
            self._given = {request for requests in self._unanswered.values() for request in requests}
            self._exchange(order["endpoint"], order["marker"].encode())
        returned = order["do"] == "return" and order["endpoint"] != self._endpoint
        if returned:  # to the old kernel, because the new one has died: the old one has what it was given
            self._exchange(order["endpoint"], b"")
        self._channel.send(b'{"done": true}')
        if order["do"] == "exchange" or returned:
            self._resend(self._given if returned else set())

    def _connect(self, endpoint: str) -> None:
        """Connect to a kernel, wait until it publishes for us, and forward requests from now on."""
        self._endpoint = endpoint
        self._publisher = self._context.socket(zmq.XSUB)
        self._publisher.set_hwm(0)
        self._publisher.linger = 0
        self._publisher.connect(f"{endpoint}-{_NUMBERS['iopub']}")
        self._publisher.send(b"\x01")
        end, welcome = time.monotonic() + _EXCHANGE_SECONDS, False
        while not welcome and time.monotonic() < end:
            if self._publisher.poll(10):
                frames = self._publisher.recv_multipart()
                welcome = any(b'"iopub_welcome"' in frame for frame in frames)
                if not welcome:
                    self._publish(frames)
        self._holding = False

    def _exchange(self, endpoint: str, marker: bytes) -> None:
        """Leave the old kernel after the last that it published, which is the marker; connect to the new one."""
        self._holding = True
        publisher, end = self._publisher, time.monotonic() + _EXCHANGE_SECONDS
        while publisher is not None and marker not in (b"", self._marker) and time.monotonic() < end:
            if publisher.poll(10):
                self._publish(publisher.recv_multipart())
        while marker and self._executed and time.monotonic() < end:
            self._forward(self._wait(10))  # the old kernel sends replies in another thread, which may be late
        self._forward({*self._clients})
        self._executed.clear()
        for back in self._clients:
            back.close()
        if publisher is not None:
            publisher.close()
        self._backs.clear()
        self._clients.clear()
        self._connect(endpoint)

    def _resend(self, known: set[str]) -> None:
        for name in ("control", "shell"):
            for request, frames in list(self._unanswered[name].items()):
                if request not in known:
                    self._forward_request(name, frames)


def _waiting(source: zmq.Socket[bytes]) -> list[list[bytes]]:
    found: list[list[bytes]] = []
    with contextlib.suppress(zmq.Again):
        while len(found) < 1000:
            found.append(source.recv_multipart(zmq.NOBLOCK))
    return found


def _message_id(frames: list[bytes], position: int) -> str:
    """Return the id in the header of a message, or in that of its parent; empty if there is none."""
    return _of_header(frames, position, "msg_id")


def _of_header(frames: list[bytes], position: int, name: str) -> str:
    try:
        return str(json.loads(frames[frames.index(_DELIMITER) + position]).get(name, ""))
    except (ValueError, IndexError, AttributeError):
        return ""


def main() -> None:
    """Run the relay; see the module."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a server interrupts the whole process group
    channel = socket.socket(fileno=int(sys.argv[1]))
    content, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 8)
    order = json.loads(content)
    relay = _Relay(channel, int(sys.argv[2]), sys.argv[3])
    relay.listen(order["endpoint"], order["ip"], order["ports"], dict(zip(order["ports"], descriptors, strict=True)))
    channel.send(b'{"done": true}')
    relay.run()


if __name__ == "__main__":
    main()
