"""A branch of the user's kernel does not have the secrets of that kernel, wherever it looks: neither the key in its
environment nor the one that its messages are signed with, nor a file with credentials that it has open."""

import hmac
import sys
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from tests.integration.live_kernel import live_kernel
from tests.patience import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")

HALVES = ("sk-first-half-of-it-", "and-the-second-half")
ENVIRONMENT = """
import ctypes, os, posix
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
found = [name for name, value in [*os.environ.items(), *posix.environ.items()] if halves[0] in os.fsdecode(value)]
found += ["getenv"] * bool(libc.getenv(b"OPENAI_API_KEY"))
found += ["block"] * (halves[0].encode() in open("/proc/self/environ", "rb").read())
"""
MEMORY = """
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


SIGNERS = """
import gc, hmac, sys
signed = []
gc.unfreeze()
for one in gc.get_objects():
    if isinstance(one, hmac.HMAC):
        signer = one.copy()
        signer.update(b"message")
        signed.append(signer.hexdigest())
users = sys.modules["exploracoder_jupyter.kernel_agent.forking.rebuilt_kernel"]._UNCOLLECTED[0][1]
found = [str(one) for one in (users.session.key, users.session.auth, users.connection_file) if one]
"""


async def test_a_branch_has_no_credentials_of_the_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "".join(HALVES))
    folder = Path(tmp_path)
    async with live_kernel(folder) as kernel:
        (folder / "work" / ".env").write_text("TOKEN=sk-secret")
        (folder / "work" / "data.csv").write_text("a,b")
        key = kernel.client.session.key.decode()
        assert len(key) > 20
        forged = hmac.new(key.encode(), b"message", "sha256").hexdigest()
        await kernel.run(
            "import os, subprocess; subprocess.run(['true'], env={**os.environ}); client = dict(retries=3)\n"
            "from ipykernel.connect import get_connection_info; copy = get_connection_info()\n"
            "env, data = open('.env'), open('data.csv')"
        )
        sandbox = Sandbox(state="live", network=True)
        async with open_siblings(sandbox, workdir=folder / "work", live=LiveKernel(kernel.fork)) as siblings:
            assert siblings.environment().state.startswith("live")
            assert any(".env is closed" in notice for notice in siblings.notices)
            [branch] = await (await siblings.root()).fork(1)
            environment = await branch.run(f"halves = {HALVES!r}{ENVIRONMENT}{MEMORY}", timeout=patience(60))
            look = f"halves = {(key[:10], key[10:])!r}\n{SIGNERS}{MEMORY}\nprint(len(signed) > 0, {forged!r} in signed)"
            signing = await branch.run(look, timeout=patience(60))
            files = await branch.run("env.read(), data.read()", timeout=patience(60))
        assert environment.text == "[]", environment
        assert signing.text == "[]\nTrue False", signing
        assert files.outputs[0]["data"]["text/plain"] == "('', 'a,b')", files
        kept = await kernel.run("print(os.environ['OPENAI_API_KEY'], os.getenv('HOME') is not None, env.read())")
        assert kept.printed == f"{''.join(HALVES)} True TOKEN=sk-secret\n"
