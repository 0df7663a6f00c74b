"""Real servers for tests of remote siblings: a Jupyter Server and a Kernel Gateway, each a process on loopback."""

import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from tests.patience import is_over, patience

TOKEN = "a token of the tests"


def _jupyter_server(port, folder):
    return [
        *("-m", "jupyter_server", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={TOKEN}"),
    ]


def _kernel_gateway(port, folder):
    return [
        *("-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1", f"--KernelGatewayApp.port={port}"),
        *("--KernelGatewayApp.port_retries=0", f"--KernelGatewayApp.auth_token={TOKEN}"),
        "--JupyterWebsocketPersonality.list_kernels=True",
    ]


SERVERS = {"jupyter server": _jupyter_server, "kernel gateway": _kernel_gateway}


@dataclass(frozen=True)
class Server:
    """A running server."""

    kind: str
    url: str
    process: psutil.Process
    folder: object
    """Where the kernels have their temporary files."""

    def kernels(self):
        """Ids of the kernels that it has."""
        while True:
            try:
                return {kernel["id"] for kernel in self._ask("api/kernels")}
            except urllib.error.HTTPError as error:
                if error.code != 500:  # which it answers when a kernel vanishes while it makes the list
                    raise
            time.sleep(0.1)

    def answers(self):
        try:
            return bool(self._ask("api/kernelspecs"))
        except OSError:
            return False

    def leftovers(self):
        """Folders of siblings that are still there."""
        return list(self.folder.glob("xplora-*"))

    def _ask(self, path):
        request = urllib.request.Request(f"{self.url}/{path}", headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=patience(10)) as answer:
            return json.load(answer)


@contextmanager
def serve(kind, folder, *options):
    """A server of this kind with its own home below the folder."""
    home = folder / "home"
    temporary = folder / "tmp"
    home.mkdir()
    temporary.mkdir()
    port = _free_port()
    environ = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary), "JUPYTER_PLATFORM_DIRS": "1"}
    if kind == "kernel gateway":
        environ["KG_ENV_PROCESS_WHITELIST"] = "TMPDIR,HOME"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *SERVERS[kind](port, folder), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environ,
            cwd=folder,
            start_new_session=True,
        )
        server = Server(kind, f"http://127.0.0.1:{port}", psutil.Process(process.pid), temporary)
        try:
            began = time.monotonic()
            while not server.answers():
                assert process.poll() is None and not is_over(began, 60), (folder / "log").read_text()
                time.sleep(0.1)
            yield server
        finally:
            process.terminate()
            process.wait(patience(30))


def _free_port():
    """A free port below those that the system would give to the kernels of other tests before the server starts."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(15_000, 32_000)))
            return probe.getsockname()[1]
