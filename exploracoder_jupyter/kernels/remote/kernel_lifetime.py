"""Starts remote kernels, and deletes them when this process ends for any reason: runs as a process that outlives it.

The server returns a kernel's id in the response to the request that starts it. The process that waits for this response
must outlive the run, or a kernel would remain that nothing deletes. So a small process sends the request, and reads a
pipe whose other end only this process has open; when the pipe ends, it asks the server to delete the remaining kernels.
This file is also its program, run by path with only the standard library; address and token go through the pipe,
because arguments would show up in the list of processes.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.remote.gateway import Gateway

_START_SECONDS: Final = 60.0
_DELETE_SECONDS: Final = 15.0
_ATTEMPTS: Final = 3
_GONE: Final = 404

Row = dict[str, Any]


class CannotStart(Exception):
    """The server did not start a kernel. The message gives the reason in a few words."""


class KernelReaper:
    """Handle of the reaper process. Must be created in a running event loop."""

    def __init__(self, gateway: Gateway) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,
        )
        self._loop = asyncio.get_running_loop()
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Row]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True, name="kernel-reaper")
        self._reader.start()
        self._send({"url": gateway.url, "kernel": gateway.kernel, **asdict(gateway.access)})

    async def start(self) -> str:
        """Start a kernel and return its id. Raises CannotStart: the server did not start one, or the reaper process has
        ended."""
        number = next(self._numbers)
        future = self._waiting[number] = self._loop.create_future()
        if self._reader.is_alive():
            self._send({"start": number})
        else:
            self._fail_waiting()
        answer = await future
        if "id" not in answer:
            raise CannotStart(str(answer["why"]))
        return str(answer["id"])

    def mark_deleted(self, kernel: str) -> None:
        """Report that the kernel was deleted."""
        self._send({"deleted": kernel})

    def close(self) -> None:
        """End the process; blocks while it deletes the remaining kernels."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._reader.join()
        self._process.wait()

    def _send(self, row: Row) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # the process was killed: kernels end themselves after a while
            self._process.stdin.write(json.dumps(row) + "\n")
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, suppress(RuntimeError):  # the loop is closed
            for line in lines:
                self._loop.call_soon_threadsafe(self._resolve, json.loads(line))
            self._loop.call_soon_threadsafe(self._fail_waiting)

    def _resolve(self, row: Row) -> None:
        future = self._waiting.pop(row["number"], None)
        if future is not None and not future.done():
            future.set_result(row)

    def _fail_waiting(self) -> None:
        for number in tuple(self._waiting):
            self._resolve({"number": number, "why": "the process that starts kernels has ended"})


class ReaperProgram:
    """The program that runs in the reaper process."""

    def __init__(self, server: Row, answers: TextIO) -> None:
        self._server, self._answers = server, answers
        self._kernels: set[str] = set()
        self._ending = False
        self._lock = threading.Lock()
        context = ssl.create_default_context(cafile=server["ca"])
        if server["certificate"]:
            context.load_cert_chain(server["certificate"], server["key"])
        if not server["verify"]:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        https = urllib.request.HTTPSHandler(context=context)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), https)

    def serve(self, lines: TextIO) -> None:
        """Handle the requests on these lines; when they end, delete the remaining kernels."""
        for line in lines:
            row = json.loads(line)
            if "start" in row:
                threading.Thread(target=self._start, args=(row["start"],)).start()
            else:
                with self._lock:
                    self._kernels.discard(row["deleted"])
        with self._lock:
            self._ending, remaining = True, tuple(self._kernels)
        # The process ends after all of its threads: those that are still starting a kernel delete it themselves.
        for kernel in remaining:
            threading.Thread(target=self._delete, args=(kernel,)).start()

    def _start(self, number: int) -> None:
        body = json.dumps({"name": self._server["kernel"], "env": {}}).encode()
        try:
            with self._open("/api/kernels", "POST", body, _START_SECONDS) as answer:
                kernel = json.load(answer)["id"]
        except urllib.error.HTTPError as error:
            row: Row = {"number": number, "why": f"status {error.code}, {error.reason}"}
        except (OSError, ValueError, KeyError, TypeError) as error:
            row = {"number": number, "why": str(error)}
        else:
            row = {"number": number, "id": kernel}
        with self._lock:
            was_ending = self._ending
            if "id" in row:
                self._kernels.add(row["id"])
            with suppress(OSError):  # the reader may be gone
                print(json.dumps(row), file=self._answers, flush=True)
        if was_ending and "id" in row:
            self._delete(row["id"])

    def _delete(self, kernel: str) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                self._open(f"/api/kernels/{kernel}", "DELETE", None, _DELETE_SECONDS).close()
                return
            except urllib.error.HTTPError as error:
                if error.code == _GONE:
                    return
            except OSError:
                pass
            time.sleep(attempt + 1)

    def _open(self, path: str, method: str, body: bytes | None, seconds: float) -> Any:
        headers = {**self._server["headers"], "Content-Type": "application/json"}
        request = urllib.request.Request(self._server["url"] + path, body, headers, method=method)
        return self._opener.open(request, timeout=seconds)


if __name__ == "__main__":
    ReaperProgram(json.loads(sys.stdin.readline()), sys.stdout).serve(sys.stdin)
