"""A branch of the user's kernel does not have the key that is in the kernel's environment, wherever it looks."""

import sys
from pathlib import Path

import pytest

from exploracoder_jupyter.config import Sandbox
from exploracoder_jupyter.execution import LiveKernel, open_siblings
from tests.integration.live_kernel import live_kernel

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")]

HALVES = ("sk-first-half-of-it-", "and-the-second-half")
LOOK = """
import ctypes, os, posix
halves = {halves!r}
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
found = [name for name, value in [*os.environ.items(), *posix.environ.items()] if halves[0] in os.fsdecode(value)]
found += ["getenv"] * bool(libc.getenv(b"OPENAI_API_KEY"))
found += ["block"] * (halves[0].encode() in open("/proc/self/environ", "rb").read())
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        if " rw" in line and "[v" not in line:
            first, last = (int(end, 16) for end in line.split()[0].split("-"))
            try:
                memory.seek(first)
                parts = memory.read(last - first).split(halves[0].encode())
            except (OSError, OverflowError, ValueError):
                continue
            found += ["memory"] * any(part.startswith(halves[1].encode()) for part in parts[1:])
print(found)
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_a_key_in_the_kernels_environment_is_not_in_its_branches(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "".join(HALVES))
    folder = Path(tmp_path)
    async with live_kernel(folder) as kernel:
        await kernel.run(
            "import os, subprocess; subprocess.run(['true'], env={**os.environ}); client = dict(retries=3)"
        )
        offered = LiveKernel(kernel.fork)
        async with open_siblings(Sandbox(state="live"), workdir=folder / "work", live=offered) as siblings:
            assert siblings.environment().state.startswith("live")
            [branch] = await (await siblings.root()).fork(1)
            observed = await branch.run(LOOK.format(halves=HALVES), timeout=60)
        assert observed.text == "[]", observed
        kept = await kernel.run("print(os.environ['OPENAI_API_KEY'], os.getenv('HOME') is not None)")
        assert kept.printed == f"{''.join(HALVES)} True\n"
