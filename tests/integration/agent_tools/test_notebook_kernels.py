"""Kernels of a real Jupyter Server are listed with their notebooks, and forked by them."""

import json
import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

from tests.integration import remote_servers
from tests.integration.agent_tools.mcp_client import agent, runtime_folder
from tests.levels import fully_confined
from tests.patience import patience

pytest.importorskip("mcp")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not fully_confined(), reason="a live kernel is forked unasked only where it is safe"
)


@pytest.fixture
def folder():
    """Of a short path, as sockets need it."""
    path = Path(tempfile.mkdtemp(prefix="mcp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def server(folder, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime_folder(folder)))
    with remote_servers.serve("jupyter server", folder) as running:
        yield running


def start_notebook(server, path):
    """Start a kernel for a notebook as JupyterLab does; return its id."""
    headers = {"Authorization": f"token {remote_servers.TOKEN}"}
    body = {"path": path, "type": "notebook", "name": "", "kernel": {"name": "python3"}}
    request = urllib.request.Request(f"{server.url}/api/sessions", json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=patience(60)) as answer:
        return json.load(answer)["kernel"]["id"]


async def test_a_kernel_is_named_by_its_notebook(server, folder):
    (folder / "reports").mkdir()
    kernel = start_notebook(server, "reports/sales.ipynb")
    async with agent(folder) as client:
        [found] = (await client.call("list_kernels"))["kernels"]
        assert (found["kernel"], found["notebook"]) == (kernel, str(folder / "reports" / "sales.ipynb"))
        [result] = await client.try_code("sales.ipynb", "import os; os.getcwd()")
        assert result["result"] == "ran" and "reports" in result["shows"]
        assert remote_servers.TOKEN not in json.dumps([found, result])
