"""The checkpoints of the live kernel: make one, list them, go back to one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from exploracoder_jupyter.kernel_agent.forking import process_fork
from exploracoder_jupyter.kernel_agent.undo import handover, limits, snapshot
from exploracoder_jupyter.kernel_agent.undo.snapshot import Arrival, Sleeper

REDO = "redo"
"""Name of the checkpoint that is made before the kernel goes back."""
_READY_SECONDS = 10.0
_TAKEN_SECONDS = 15.0
_ATTRIBUTE = "explora_checkpoints"


class UndoError(RuntimeError):
    """A checkpoint or a return that was refused or failed; nothing has changed. The message is a sentence."""


class Checkpoints:
    """The checkpoints of one kernel. Use `of`; everything must be called in the main thread, by a cell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._link: handover.Link | None = None
        self._sleepers: list[Sleeper] = []
        self._live = os.getpid()
        self._arrival: Arrival | None = None

    @classmethod
    def of(cls, shell: Any) -> Checkpoints:
        """Return the checkpoints of the kernel with this shell."""
        found = getattr(shell, _ATTRIBUTE, None)
        if not isinstance(found, Checkpoints):
            found = cls(shell)
            setattr(shell, _ATTRIBUTE, found)
        return found

    def make(self, name: str = "") -> str:
        """Make a checkpoint, which replaces one of the same name; return what to tell the user.

        Raises UndoError if it is refused or fails.
        """
        self._check("checkpoint")
        name = name or self._next_name()
        sleeper = self._make(name)
        found = self._enforce_limits(keep=sleeper)
        lines = [f"Checkpoint {name}. `%explora back {name}` returns to it."]
        if found:
            lines.append(f"Dropped, because there were too many or they took too much memory: {', '.join(found)}.")
        return "\n".join([*lines, *_warning("If you go back", limits.losses(self._shell, limits.child_processes()))])

    def describe(self) -> str:
        """Return the list of checkpoints, with what would change, for the user."""
        self._forget_ended()
        if not self._sleepers:
            return "There are no checkpoints. `%explora checkpoint NAME` makes one."
        now = {key for key in self._shell.user_ns if not key.startswith("_")}
        lines = []
        for number, sleeper in enumerate(self._sleepers, start=1):
            then = set(sleeper.names)
            changes = [
                f"{word} {', '.join(sorted(names)[:5])}{', ...' if len(names) > 5 else ''}"
                for word, names in (("removes", now - then), ("brings back", then - now))
                if names
            ]
            when = time.strftime("%H:%M:%S", time.localtime(sleeper.made))
            lines.append(
                f"{number}  {sleeper.name}  {when}, before cell [{sleeper.cell}]  {'; '.join(changes)}".rstrip()
            )
        megabytes = limits.memory(sleeper.pid for sleeper in self._sleepers) / 2**20
        lines.append(f"Together they hold {megabytes:.0f} MB besides this kernel's memory.")
        return "\n".join([*lines, *_warning("If you go back", limits.losses(self._shell))])

    def back(self, which: str = "") -> str:
        """Go back to a checkpoint, by default the newest one that is not `redo`; by name or number.

        Does not return in this process. In the process that becomes live, the same cell runs again, and this returns
        what to tell the user. Raises UndoError if it is refused or fails: then nothing has changed.
        """
        request = str(self._shell.get_parent().get("header", {}).get("msg_id", ""))
        if self._arrival is not None and self._arrival.request == request:
            report, self._arrival = self._arrival.report, None
            return report
        self._check("back")
        self._forget_ended()
        sleeper = self._find(which)
        done = f"Back at checkpoint {sleeper.name}, before cell [{sleeper.cell}]. `%explora back {REDO}` reverts this."
        report = "\n".join([done, *_warning("Not as before", limits.losses(self._shell))])
        if sleeper.name != REDO:
            self._make(REDO)
        with _uninterrupted():
            self._change(sleeper, request, report)
        raise AssertionError("a process that gave way goes on")

    def _check(self, command: str) -> None:
        if os.getpid() != self._live:
            raise UndoError("This is a fork of the kernel that has the checkpoints.")
        if reason := limits.reason_refused(self._shell, command):
            raise UndoError(reason)

    def _next_name(self) -> str:
        names = {sleeper.name for sleeper in self._sleepers}
        return next(name for number in range(1, 10_000) if (name := f"c{number}") not in names)

    def _find(self, which: str) -> Sleeper:
        candidates = {sleeper.name: sleeper for sleeper in self._sleepers}
        if not which:
            newest = [sleeper for sleeper in self._sleepers if sleeper.name != REDO]
            if newest:
                return newest[-1]
        elif which in candidates:
            return candidates[which]
        elif which.isdecimal() and 1 <= int(which) <= len(self._sleepers):
            return self._sleepers[int(which) - 1]
        if not candidates:
            raise UndoError("There are no checkpoints. `%explora checkpoint NAME` makes one.")
        raise UndoError(f"There is no checkpoint {which!r}. There are: {', '.join(candidates)}.")

    def _make(self, name: str) -> Sleeper:
        shell = self._shell
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        try:
            with _uninterrupted():
                if self._link is None:
                    self._link = handover.open_link(shell.kernel.parent)
                sleeper = snapshot.fork_sleeper(shell, self._link, name, self._sleepers, self._arrive)
        except OSError as error:
            raise UndoError(f"The checkpoint failed: {error}.") from error
        for old in [one for one in self._sleepers if one.name == name]:
            self._drop(old)
        self._sleepers.append(sleeper)
        return sleeper

    def _drop(self, sleeper: Sleeper) -> None:
        self._sleepers.remove(sleeper)
        snapshot.kill(sleeper)

    def _forget_ended(self) -> None:
        for sleeper in list(self._sleepers):
            if sleeper.channel.fileno() < 0 or _has_ended(sleeper.channel):
                self._drop(sleeper)

    def _enforce_limits(self, keep: Sleeper) -> list[str]:
        """Drop the oldest checkpoints until the others are within the limits; return their names."""
        dropped = []
        while others := [sleeper for sleeper in self._sleepers if sleeper is not keep]:
            pids = [sleeper.pid for sleeper in self._sleepers]
            if len(pids) <= limits.MAX_CHECKPOINTS and limits.memory(pids) <= limits.memory_limit():
                break
            dropped.append(others[0].name)
            self._drop(others[0])
        return dropped

    def _arrive(self, arrival: Arrival) -> None:
        """Take over in the process that was woken; it still has the objects of its checkpoint."""
        self._live = os.getpid()
        self._arrival = arrival
        self._sleepers = arrival.sleepers

    def _change(self, sleeper: Sleeper, request: str, report: str) -> None:
        """Let another process take this one's place; raises UndoError with everything as before if that fails."""
        link = self._link
        assert link is not None
        app = self._shell.kernel.parent
        generation = uuid.uuid4().hex[:12]
        prefix = f"{link.folder}/{generation}"
        names = {f"{name}_port": number for number, name in enumerate(handover.PORTS, start=1)}
        connection = {"transport": "ipc", "ip": prefix, "key": app.session.key.decode(), **names}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        woken = 0
        reading = handover.ControlReading(app)
        try:
            order = {"connection": connection, "endpoint": f"ipc://{prefix}"}
            process_fork.send(sleeper.channel, order, [theirs.fileno()])
            theirs.close()
            answer, _ = snapshot.receive(ours, link.root, _READY_SECONDS)
            woken = int(answer.get("pid", 0))
            if "error" not in answer:
                answer, _ = snapshot.receive(ours, link.root, _READY_SECONDS)
            if "error" in answer:
                raise OSError(answer["error"])
            reading.stop()
            marker = f"explora-{uuid.uuid4().hex}"
            app.kernel.iopub_socket.send_multipart([marker.encode()])
            for other in self._sleepers:
                process_fork.send(ours, {"sleeper": other.to_json()}, [other.channel.fileno()])
            process_fork.send(ours, {"marker": marker, "request": request, "report": report})
            answer, _ = snapshot.receive(ours, link.root, _TAKEN_SECONDS)
            if "error" in answer:
                raise OSError(answer["error"])
        except (OSError, EOFError, ValueError) as error:
            self._stay(woken, reading)
            raise UndoError(
                f"Going back failed, and nothing has changed: {str(error) or type(error).__name__}"
            ) from error
        if os.getpid() == link.root_pid:
            link.become_supervisor(woken)
        os._exit(0)

    def _stay(self, woken: int, reading: handover.ControlReading) -> None:
        """Remain the live kernel, whatever the other process has done until now."""
        link = self._link
        assert link is not None
        if woken:
            with contextlib.suppress(OSError):
                os.kill(woken, signal.SIGKILL)
        if os.getpid() == link.root_pid:
            with contextlib.suppress(BlockingIOError):  # nobody has to announce itself to this process
                assert link.at_root is not None
                while link.at_root.recv(1 << 16, socket.MSG_DONTWAIT):
                    pass
        else:
            link.announce()
        if reading.stopped:
            with contextlib.suppress(OSError):
                link.ask({"do": "return", "endpoint": link.endpoint})
            reading.resume()


def _warning(when: str, lost: Sequence[str]) -> list[str]:
    """Return the line that names what a return loses; none if that is nothing but files."""
    return [f"{when}: {'; '.join(lost)}. Files that were written since stay as they are."] if lost else []


def _has_ended(channel: socket.socket) -> bool:
    try:
        return channel.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore interrupts for these moments: half of a change would be worse than a cell that ends a little later."""
    if threading.current_thread() is not threading.main_thread():
        raise UndoError("Checkpoints are made in the main thread.")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
