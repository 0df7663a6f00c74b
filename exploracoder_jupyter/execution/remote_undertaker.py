"""Deletes remote kernels after this process is gone, however it went: a small process that outlives it.

It knows which kernels there are, and reads a pipe whose other end only this process holds. At the pipe's end it asks
the server to delete the kernels that were not deleted before. This file is also its program, run by path with nothing
but the standard library; address and token come through the pipe, where no list of processes shows them.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from exploracoder_jupyter.execution.remote_gateway import Gateway

_SECONDS: Final = 15.0
_TRIES: Final = 3
_GONE: Final = 404


class Undertaker:
    """The handle of that process. `close` lets it do its work and ends it."""

    def __init__(self, gateway: Gateway) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        token = gateway.token.get_secret_value() if gateway.token else ""
        self._say({"url": gateway.url, "token": token, "verify": gateway.verify})

    def remember(self, kernel: str) -> None:
        """A kernel of this id was started."""
        self._say({"started": kernel})

    def forget(self, kernel: str) -> None:
        """The kernel was deleted."""
        self._say({"deleted": kernel})

    def close(self) -> None:
        """End it; blocks while it deletes what was not deleted."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _say(self, row: dict[str, object]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # somebody has killed it: kernels end themselves after a while
            self._process.stdin.write(json.dumps(row) + "\n")
            self._process.stdin.flush()


def serve(lines: TextIO) -> None:
    """Read until the end, then delete what is left."""
    server = json.loads(lines.readline())
    left: dict[str, None] = {}
    for line in lines:
        row = json.loads(line)
        if "started" in row:
            left[row["started"]] = None
        else:
            left.pop(row["deleted"], None)
    for kernel in left:
        delete(server, kernel)


def delete(server: dict[str, str], kernel: str) -> None:
    """Delete one kernel, with a few tries."""
    request = urllib.request.Request(f"{server['url']}/api/kernels/{kernel}", method="DELETE")
    if server["token"]:
        request.add_header("Authorization", f"token {server['token']}")
    context = ssl.create_default_context() if server["verify"] else ssl._create_unverified_context()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    for attempt in range(_TRIES):
        try:
            opener.open(request, timeout=_SECONDS).close()
            return
        except urllib.error.HTTPError as error:
            if error.code == _GONE:
                return
        except OSError:
            pass
        time.sleep(attempt + 1)


if __name__ == "__main__":
    serve(sys.stdin)
