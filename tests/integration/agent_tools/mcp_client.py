"""The SDK's own client at a server of ours, and a user's kernel that such a server finds."""

import json
import os
import shutil
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.integration.live_kernel import live_kernel
from tests.patience import patience

STATE = """
import hashlib, pickle
def state_hash():
    names = sorted(name for name in list(globals()) if name.startswith("given_"))
    return hashlib.sha256(pickle.dumps([(name, globals()[name]) for name in names])).hexdigest()
"""


class Agent:
    """A client, and what it is answered."""

    def __init__(self, session):
        self.session = session

    async def call(self, tool, **arguments):
        """The answer of a tool; fails where the tool reports an error."""
        failed, text = await self.attempt(tool, **arguments)
        assert not failed, text
        return json.loads(text)

    async def attempt(self, tool, **arguments):
        """Whether the tool reports an error, and what it says."""
        result = await self.session.call_tool(tool, arguments)
        failed = result.isError if hasattr(result, "isError") else result.is_error
        return failed, result.content[0].text

    async def try_code(self, kernel, *codes, **options):
        """The results of variants with the labels a, b, c, ..."""
        variants = [{"label": chr(97 + place), "code": code} for place, code in enumerate(codes)]
        return (await self.call("try_variants", kernel=kernel, variants=variants, **options))["variants"]


def server_parameters(folder, *options):
    """How a client starts the server, with the folders of the test that runs."""
    environ = {**os.environ, "JUPYTER_RUNTIME_DIR": str(runtime_folder(folder))}
    arguments = ["-m", "exploracoder_jupyter.cli", "mcp", "--workdir", str(folder), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environ)


def runtime_folder(folder):
    """Where connection files are."""
    (folder / "runtime").mkdir(exist_ok=True)
    return folder / "runtime"


@asynccontextmanager
async def agent(folder, *options):
    """A client that has started a server with these options."""
    async with stdio_client(server_parameters(folder, *options)) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield Agent(session)


@asynccontextmanager
async def users_kernel(folder, code=""):
    """A kernel with variables `given_...`, whose id is `users`."""
    async with live_kernel(folder) as kernel:
        place = runtime_folder(folder) / "kernel-users.json"
        shutil.copy(kernel.manager.connection_file, place)
        assert (await kernel.run(f"{STATE}\n{code}")).outcome == "ok"
        yield kernel


async def state_of(kernel, folder):
    """A hash of the user's variables, and the files of the user with their contents."""
    printed = (await kernel.run("print(state_hash())", silent=True)).printed
    work = Path(folder, "work")
    return printed, {str(path): path.read_bytes() for path in sorted(work.rglob("*")) if path.is_file()}


@asynccontextmanager
async def bare_kernel(folder):
    """A kernel whose environment lacks this package, and whose id is `bare`."""
    root = str(Path(__file__).resolve().parents[3])
    program = (
        f"import sys; sys.path[:] = [path for path in sys.path if path not in ('', {root!r})]\n"
        "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"
    )

    class Specs(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            argv = [sys.executable, "-P", "-c", program, "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="bare", language="python")

    (folder / "bare").mkdir()
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_CURRENT_TEST")}
    manager = AsyncKernelManager(kernel_name="bare", kernel_spec_manager=Specs())
    await manager.start_kernel(cwd=str(folder / "bare"), env={**environ, "IPYTHONDIR": str(folder / "ipython")})
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=patience(60))
        shutil.copy(manager.connection_file, runtime_folder(folder) / "kernel-bare.json")
        yield client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def ask(client, expression):
    """The value of an expression in a kernel, as text."""
    reply = await client.execute_interactive(
        "", silent=True, user_expressions={"x": expression}, timeout=patience(60), output_hook=lambda message: None
    )
    answer = reply["content"]["user_expressions"]["x"]
    return answer["data"]["text/plain"] if answer["status"] == "ok" else answer["evalue"]
