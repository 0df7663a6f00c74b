"""Makes a kernel that somebody else has started a sibling: what `startup` does, from within and afterwards.

Arrives with `inside.zip` in a fresh folder on the kernel's own machine (`kernels.remote.remote_payload`), which
becomes its
working directory. A `warden` beside the kernel, there already, removes the folder and what the cells have started when
the kernel is gone. Nobody here sees whether the run is still there, so it says how long silence is in order
(`Guest.expect`); after that the kernel ends itself.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from exploracoder_jupyter.kernel_agent import variable_transfer
from exploracoder_jupyter.kernel_agent.confinement import resource_limits, written_archive
from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHUNK = 1 << 20
_LOOK_SECONDS = 1.0
_WAIT_SECONDS = 0.3


def settle(shell: Any, folder: str, options: dict[str, Any]) -> None:
    """Prepare the kernel of this shell.

    Options: `output` (characters in one message), `limits` (see `resource_limits.apply`), `seconds` (of silence to
    begin with),
    `variables` (whether the folder holds some), `pickled` (whether pickles among them are read).
    """
    archive = os.path.join(folder, "inside.zip")
    _stand_alone(archive)
    _move_into(folder)
    guest = Guest(folder, options["limits"])
    guest.expect(options["seconds"])
    if os.name == "posix":
        resource_limits.adopt_orphans()
    resource_limits.apply(options["limits"])
    bounded_output.Bounds(options["output"]).install()
    shell.history_manager.enabled = False  # what is tried here does not belong into anybody's history
    if options["variables"]:
        carried = variable_transfer.load(os.path.join(folder, "variables"), pickled=options["pickled"])
        shell.user_ns.update(carried)
    shell.explora_guest = guest
    cell_report.Aftermath.of(shell)


class Guest:
    """The sibling's own means within the kernel."""

    def __init__(self, folder: str, bounds: dict[str, int | None]) -> None:
        self._folder, self._bounds = folder, bounds
        self._before = written_archive.look(os.path.join(folder, "work"))
        self._until = time.monotonic()
        self._program: subprocess.Popen[bytes] | None = None
        self._printed, self._said, self._at = "", "", 0
        self._watch: threading.Thread | None = None

    def expect(self, seconds: float) -> None:
        """Silence for so long is in order; after that the kernel ends itself."""
        self._until = time.monotonic() + seconds
        if self._watch is None:
            self._watch = threading.Thread(target=self._end_when_forgotten, daemon=True, name="expectation")
            self._watch.start()

    def start(self, module: str, arguments: list[str]) -> None:
        """Run a module of this folder as a program; `read` gives what it prints."""
        folder = tempfile.mkdtemp()
        self._printed, self._said, self._at = os.path.join(folder, "out"), os.path.join(folder, "err"), 0
        with open(self._printed, "wb") as printed, open(self._said, "wb") as said:
            self._program = subprocess.Popen(
                [
                    sys.executable,
                    os.path.join(self._folder, "inside.zip"),
                    json.dumps(self._bounds),
                    module,
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=said,
            )

    def read(self) -> str:
        """What the program has printed since, up to a megabyte; base64 of compressed JSON.

        Fields: `data` (base64), `status` (null while it runs or more is to be read), `words` (its last line of errors).
        """
        assert self._program is not None
        status = self._program.poll()  # before reading: what it printed last must not be missed
        data = self._next()
        if not data and status is None:
            time.sleep(_WAIT_SECONDS)
        return _packed(data, None if data else status, self._last_words() if status and not data else "")

    def pack(self, most: int) -> None:
        """Gather what was written in the working directory, `most` bytes of it at most; `fetch` gives it."""
        self._printed, self._at = os.path.join(tempfile.mkdtemp(), "written.tar.gz"), 0
        written_archive.pack(os.path.join(self._folder, "work"), self._before, self._printed, most)

    def fetch(self) -> str:
        """The next piece of what was gathered, in the form of `read`; `status` 0 is the end."""
        data = self._next()
        return _packed(data, None if data else 0, "")

    def _next(self) -> bytes:
        with open(self._printed, "rb") as file:
            file.seek(self._at)
            data = file.read(_CHUNK)
        self._at += len(data)
        return data

    def _last_words(self) -> str:
        with open(self._said, encoding="utf-8", errors="replace") as file:
            lines = file.read().strip().splitlines()
        return lines[-1] if lines else "it gave no reason."

    def _end_when_forgotten(self) -> None:
        while time.monotonic() < self._until:
            time.sleep(_LOOK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)


def _packed(data: bytes, status: int | None, words: str) -> str:
    answer = {"data": base64.b64encode(data).decode(), "status": status, "words": words}
    return base64.b64encode(zlib.compress(json.dumps(answer).encode())).decode()


def _stand_alone(archive: str) -> None:
    """Leave nothing of ours in the way of what the cells import."""
    sys.path[:] = [entry for entry in sys.path if entry != archive]
    for name in [name for name in sys.modules if name.split(".")[0] == "exploracoder_jupyter"]:
        del sys.modules[name]


def _move_into(folder: str) -> None:
    os.chdir(os.path.join(folder, "work"))
    temporary = os.path.join(folder, "tmp")
    os.mkdir(temporary)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None
