"""Forks this process, and the channel between a branch and the process that started it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# The channel between a branch and the process that started it: a UNIX socket of packets with JSON and descriptors.
#
# The engine's end receives the sender's true process id from the operating system, across namespaces. An end of
# file means for a branch that its owner is gone.

_MAX_BYTES, _MAX_DESCRIPTORS = 1 << 20, 8


def connect(address: str) -> socket.socket:
    """Connect to a listening engine."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(address)
    return channel


def send(channel: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message with these descriptors."""
    socket.send_fds(channel, [json.dumps(message).encode()], list(descriptors))


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive the next message and its descriptors, which are made non-inheritable.

    Raises EOFError if the other end is closed.
    """
    content, descriptors, _, _ = socket.recv_fds(channel, _MAX_BYTES, _MAX_DESCRIPTORS)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if not content:
        raise EOFError
    return json.loads(content), list(descriptors)


def send_if_open(channel: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send, unless the other end is closed."""
    with contextlib.suppress(OSError):
        send(channel, message, descriptors)


# Forks this process without warnings about its threads, and without calls of the user's handler of SIGCHLD.

_fork: Callable[[], int] | None = getattr(os, "fork", None)
_IGNORE_ALL: list[Any] = [("ignore", None, Warning, None, 0)]


def can_fork() -> bool:
    """Return whether this system supports fork."""
    return _fork is not None


def fork() -> int:
    """Fork this process; returns 0 in the child.

    Python 3.12 and later, and some libraries, warn about threads that a fork does not carry: this is known. The list of
    filters is replaced as a whole, since any change announced to `warnings` makes it forget which warnings were shown.

    Raises OSError if the system refused the fork, or does not support it.
    """
    if _fork is None:
        raise OSError("this system does not support fork")
    filters = warnings.filters
    warnings.filters = _IGNORE_ALL
    try:
        return _fork()
    finally:
        warnings.filters = filters


@contextlib.contextmanager
def suspend_sigchld_handler() -> Iterator[None]:
    """Suspend the handler of SIGCHLD. If a child of the user's has ended meanwhile, the handler is called at the end.

    Blocking the signal would not suffice, as another thread would receive it. Only the main thread can set handlers; in
    other threads, and if the handler was not set from Python, nothing changes.
    """
    handler = signal.getsignal(signal.SIGCHLD)
    try:
        if callable(handler):
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    except ValueError:
        handler = None
    try:
        yield
    finally:
        if callable(handler):
            signal.signal(signal.SIGCHLD, handler)
            with contextlib.suppress(ChildProcessError):
                if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    signal.raise_signal(signal.SIGCHLD)
