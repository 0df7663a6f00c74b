"""What the first process of a kernel becomes when another process has taken its place. A program of its own.

It keeps the process id that the server knows: it passes signals on, ends when the live kernel ends and with its status,
ends that kernel when the server or the relay is gone, and adopts the processes that kernels leave. Everything else that
belongs to the kernel watches this process and ends with it.

Arguments: descriptor on which a new live kernel announces itself, process ids of the live kernel, of the relay, and of
the server (0: unknown). Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys

_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")


class _Supervisor:
    def __init__(self, channel: socket.socket, live: int, relay: int, server: int) -> None:
        self._channel, self._live = channel, live
        self._statuses: dict[int, int] = {}
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._live_descriptor = self._watch(live)
        self._relay = self._watch(relay)
        self._server = self._watch(server) if server > 1 else None

    def _watch(self, pid: int) -> int | None:
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return None
        self._poll.register(descriptor, select.POLLIN)
        return descriptor

    def run(self) -> None:
        """Wait until the kernel, the relay or the server ends."""
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        for name in _FORWARDED:
            signal.signal(getattr(signal, name), self._pass_on)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        self._reap()
        while self._live_descriptor is not None:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            if self._channel.fileno() in ready:
                self._exchange()
            elif self._live_descriptor in ready:
                break
            elif ready & {self._relay, self._server}:
                with contextlib.suppress(OSError):
                    os.kill(self._live, signal.SIGKILL)
                os._exit(1)
        self._reap()
        self._end(os.waitstatus_to_exitcode(self._statuses.get(self._live, 1 << 8)))

    def _exchange(self) -> None:
        content = self._channel.recv(1 << 16)
        if not content:
            self._poll.unregister(self._channel)
            return
        live = int(json.loads(content)["live"])
        if live != self._live:
            if self._live_descriptor is not None:
                self._poll.unregister(self._live_descriptor)
                os.close(self._live_descriptor)
            self._live, self._live_descriptor = live, self._watch(live)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._statuses[pid] = status
                if len(self._statuses) > 10_000:
                    del self._statuses[next(iter(self._statuses))]

    def _pass_on(self, number: int, _frame: object) -> None:
        if number == signal.SIGINT and os.getpgid(0) == os.getpid():
            return  # the server signals the whole group
        with contextlib.suppress(OSError):
            os.kill(self._live, number)

    def _end(self, code: int) -> None:
        if code < 0:
            with contextlib.suppress(OSError):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code if code >= 0 else 1)


def main() -> None:
    """Run the supervisor; see the module."""
    number, live, relay, server = map(int, sys.argv[1:5])
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):  # pipes of the kernel that was here
        if os.readlink(f"/proc/self/fd/{standard}").startswith("pipe:"):
            os.dup2(null, standard)
    os.closerange(3, number)
    os.closerange(number + 1, 1 << 16)
    _Supervisor(socket.socket(fileno=number), live, relay, server).run()


if __name__ == "__main__":
    main()
