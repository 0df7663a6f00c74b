"""A user's kernel for tests: a stock ipykernel in a process of its own, that can be run, watched and forked.

`LiveKernel.fork` forks it from a thread of its own, as the front end does, whatever the main thread is at;
`fork_between_cells` asks its main thread by a message.
"""

import os
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from exploracoder_jupyter.core.errors import KernelError
from tests.integration.cells import cell_request
from tests.patience import patience

PYTHON = os.environ.get("EXPLORACODER_LIVE_PYTHON", sys.executable)
"""Another interpreter may be named, to try another ipykernel."""
_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60
_MODULE = "exploracoder_jupyter.kernel_agent.forking.kernel_fork"
_FORK = f"__import__({_MODULE!r}, fromlist=['_']).fork(get_ipython(), {{address!r}})"
_SERVE = """
def _():
    import socket, threading
    from exploracoder_jupyter.kernel_agent.forking import kernel_fork
    shell, server = get_ipython(), socket.socket(socket.AF_UNIX)
    server.bind({address!r})
    server.listen()
    kernel_fork.track_context(shell)
    def serve():
        while True:
            caller, _ = server.accept()
            with caller:
                try:
                    kernel_fork.fork(shell, caller.recv(4096).decode())
                    caller.sendall(b"forked")
                except Exception as error:
                    caller.sendall(repr(error).encode())
    threading.Thread(target=serve, daemon=True, name="serve-forks").start()
_()
del _
"""


@dataclass
class Reply:
    """What a cell did."""

    status: str = ""
    count: int = 0
    problem: str = ""
    printed: str = ""
    data: list = field(default_factory=list)
    """MIME bundles of results and displays."""

    @property
    def outcome(self):
        """`ok`, or the error in one line."""
        return self.problem or self.status


class _Spec(KernelSpecManager):
    def get_kernel_spec(self, kernel_name):
        argv = [PYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="live", language="python")


class LiveKernel:
    """The kernel."""

    def __init__(self, manager, client, address):
        self.manager, self.client, self._address = manager, client, address
        self.process = psutil.Process(manager.provisioner.process.pid)
        self.strays = []
        """What came on the kernel's output channel and was no answer to the cell that was waited for."""

    async def run(self, code, **options):
        """Execute a cell and wait for its end."""
        return await self.finish(self.client.execute(code, allow_stdin=False, stop_on_error=False, **options))

    async def finish(self, request):
        """Wait for the end of a cell that was begun by `client.execute`."""
        reply, idle = Reply(), False
        with anyio.fail_after(patience(_SECONDS)):
            while not idle:
                message = await self.client.get_iopub_msg()
                content = message["content"]
                if message["parent_header"].get("msg_id") != request:
                    self.strays.append((message["msg_type"], content))
                    continue
                match message["msg_type"]:
                    case "stream":
                        reply.printed += content["text"]
                    case "execute_result" | "display_data":
                        reply.data.append(content["data"])
                    case "error":
                        reply.problem = f"{content['ename']}: {content['evalue']}"
                    case "status":
                        idle = content["execution_state"] == "idle"
            while True:
                message = await self.client.get_shell_msg()
                if message["parent_header"].get("msg_id") == request:
                    reply.status, reply.count = message["content"]["status"], message["content"]["execution_count"]
                    return reply

    def send_cell(self, code):
        """Begin a cell like a front end that shows a page."""
        message = cell_request(self.client.session, code, {"cellId": "a-cell"})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    async def fork(self, address):
        """Fork it from a thread that is not its main one; see `kernels.siblings.LiveKernel.fork`."""
        async with await anyio.connect_unix(self._address) as line:
            await line.send(address.encode())
            answer = (await line.receive()).decode()
        if answer != "forked":
            raise KernelError(answer)

    async def fork_between_cells(self, address):
        """Fork it from its main thread, which must be idle."""
        request = self.client.execute("", silent=True, user_expressions={"fork": _FORK.format(address=address)})
        message = await self.client.get_shell_msg(timeout=patience(_SECONDS))
        while message["parent_header"]["msg_id"] != request:
            message = await self.client.get_shell_msg(timeout=patience(_SECONDS))
        answer = message["content"]["user_expressions"]["fork"]
        if answer["status"] != "ok":
            raise KernelError(answer["evalue"])

    def census(self):
        """What it holds of the system: descriptors and what they are, threads, children and their states."""
        open_files = []
        for path in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # it was closed meanwhile
                open_files.append(str(path.readlink()))
        links = sorted(path for path in open_files if not path.endswith("-journal"))
        children = sorted((child.pid, child.status()) for child in self.process.children(recursive=True))
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/comm")
        return {"descriptors": links, "threads": sorted(path.read_text() for path in tasks), "children": children}


@asynccontextmanager
async def live_kernel(folder, *, transport="tcp"):
    """A kernel that works in the folder `work` of this one, which has a short path."""
    (folder / "work").mkdir()
    manager = AsyncKernelManager(kernel_name="live", kernel_spec_manager=_Spec(), transport=transport)
    if transport == "ipc":
        manager.ip = str(folder / "k")
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    alone = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }  # such threads end at a fork and come back when needed
    usual = {
        name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"
    }  # ipykernel looks at it
    environ = {**usual, **alone, "IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": path}
    await manager.start_kernel(cwd=str(folder / "work"), env=environ)
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=patience(_SECONDS))
        kernel = LiveKernel(manager, client, str(folder / "forks"))
        served = await kernel.run(_SERVE.format(address=str(folder / "forks")), silent=True)
        assert served.outcome == "ok", served
        yield kernel
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
