"""Turns a kernel that is already running into a sibling: what `kernel_startup` does, but from within the kernel.

Arrives with `kernel_agent.zip` in a fresh folder on the kernel's own machine (`kernels.remote.remote_payload`), which
becomes the kernel's working directory. A watchdog (`confinement.remote_cleanup`) already runs beside the kernel; it
removes the folder and ends the processes that cells have started once the kernel is gone. The kernel cannot see whether
the run still exists, so the run sets a deadline with `AdoptedKernel.expect`; the kernel exits when the deadline passes.
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
from typing import Any

from exploracoder_jupyter.kernel_agent import variable_decoding
from exploracoder_jupyter.kernel_agent.confinement import file_copies, resource_limits
from exploracoder_jupyter.kernel_agent.reporting import bounded_output, cell_report

_CHUNK_BYTES = 1 << 20
_CHECK_SECONDS = 1.0
_WAIT_SECONDS = 0.3


def adopt(shell: Any, folder: str, options: dict[str, Any]) -> None:
    """Prepare the kernel of this shell.

    Options: `output` (characters in one message), `limits` (see `resource_limits.apply`), `seconds` (initial deadline
    for the first request), `variables` (whether the folder contains variables), `pickled` (whether pickles among them
    may be loaded).
    """
    archive = os.path.join(folder, "kernel_agent.zip")
    sys.path[:] = [entry for entry in sys.path if entry != archive]
    for name in [name for name in sys.modules if name.split(".")[0] == "exploracoder_jupyter"]:
        del sys.modules[name]  # this package must not affect imports in cells
    os.chdir(os.path.join(folder, "work"))
    os.environ["TMPDIR"] = os.path.join(folder, "tmp")
    os.mkdir(os.environ["TMPDIR"])
    tempfile.tempdir = None
    adopted = AdoptedKernel(folder, options["limits"])
    adopted.expect(options["seconds"])
    if sys.platform.startswith("linux"):
        from exploracoder_jupyter.kernel_agent.confinement import linux_calls

        linux_calls.adopt_orphans()
    resource_limits.apply(options["limits"])
    bounded_output.OutputLimits(options["output"]).install()
    shell.history_manager.enabled = False  # experiments do not belong in the user's history
    shell.explora_guest = adopted
    reporter = cell_report.CellReporter.of(shell)
    if options["variables"]:
        reporter.unloaded = variable_decoding.load(
            os.path.join(folder, "variables"), shell.user_ns, pickled=options["pickled"]
        )
    sys.argv[:] = [""]  # code that reads its arguments has none


class AdoptedKernel:
    """What the engine calls in an adopted kernel: deadline, helper programs and files to return."""

    def __init__(self, folder: str, limits: dict[str, int | None]) -> None:
        self._folder, self._limits = folder, limits
        self._initial_state = file_copies.snapshot(os.path.join(folder, "work"))
        self._deadline = time.monotonic()
        self._program: subprocess.Popen[bytes] | None = None
        self._output_path, self._errors_path, self._offset = "", "", 0
        self._deadline_thread: threading.Thread | None = None

    def expect(self, seconds: float) -> None:
        """Exit this kernel unless it is called again within so many seconds."""
        self._deadline = time.monotonic() + seconds
        if self._deadline_thread is None:
            run = self._exit_after_deadline
            self._deadline_thread = threading.Thread(target=run, daemon=True, name="explora-deadline")
            self._deadline_thread.start()

    def start(self, module: str, arguments: list[str]) -> None:
        """Run a module of this package as a program; `read` returns its output."""
        folder = tempfile.mkdtemp()
        self._output_path, self._errors_path, self._offset = os.path.join(folder, "out"), os.path.join(folder, "err"), 0
        archive = os.path.join(self._folder, "kernel_agent.zip")
        command = [sys.executable, archive, json.dumps(self._limits), module, *arguments]
        with open(self._output_path, "wb") as output, open(self._errors_path, "wb") as errors:
            self._program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)

    def read(self) -> str:
        """Return the program's new output, up to a megabyte, as base64 of compressed JSON.

        Fields: `data` (base64), `status` (null while the program runs or output remains), `words` (its last line of
        standard error).
        """
        assert self._program is not None
        status = self._program.poll()  # before reading, so that the last output is not missed
        data = self._next_chunk()
        if not data and status is None:
            time.sleep(_WAIT_SECONDS)
        words = ""
        if status and not data:
            with open(self._errors_path, encoding="utf-8", errors="replace") as file:
                words = (file.read().strip().splitlines() or ["it gave no reason."])[-1]
        return _encode_reply(data, None if data else status, words)

    def pack(self, most: int) -> None:
        """Archive at most `most` bytes of files written in the working directory; `fetch` returns the archive."""
        self._output_path, self._offset = os.path.join(tempfile.mkdtemp(), "written.tar.gz"), 0
        file_copies.pack(os.path.join(self._folder, "work"), self._initial_state, self._output_path, most)

    def fetch(self) -> str:
        """Return the next piece of the archive in the format of `read`; `status` 0 marks the end."""
        data = self._next_chunk()
        return _encode_reply(data, None if data else 0, "")

    def _next_chunk(self) -> bytes:
        with open(self._output_path, "rb") as file:
            file.seek(self._offset)
            data = file.read(_CHUNK_BYTES)
        self._offset += len(data)
        return data

    def _exit_after_deadline(self) -> None:
        while time.monotonic() < self._deadline:
            time.sleep(_CHECK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)


def _encode_reply(data: bytes, status: int | None, message: str) -> str:
    reply = {"data": base64.b64encode(data).decode(), "status": status, "words": message}
    return base64.b64encode(zlib.compress(json.dumps(reply).encode())).decode()
