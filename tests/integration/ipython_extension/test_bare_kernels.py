"""Kernels whose environment has ipykernel and none of the package's dependencies, and sometimes not the package."""

import json
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager

from exploracoder_jupyter.server_extension import ADDRESS, archive_content, kernel_program
from tests.bare_environment import make_bare_environment
from tests.integration.remote_servers import TOKEN, serve
from tests.patience import patience

CALL = """%%explora statistics --model offline --wait --check 'assert mean == 2'
Store the mean of [1, 2, 3] in `mean`"""
OURS = "sorted({'pydantic', 'openai', 'numpy', 'anyio', 'nbformat'} & {*__import__('sys').modules})"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return make_bare_environment(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def with_package(tmp_path_factory):
    return make_bare_environment(tmp_path_factory.mktemp("installed"), package=True)


class Kernel:
    def __init__(self, client):
        self._client = client

    def run(self, code):
        """What the cell printed and displayed, and the message of its error."""
        shown = []

        def take(message):
            content = message["content"]
            data = content.get("data", {}).get("text/plain")
            shown.append(content.get("text") or data or content.get("evalue") or "")

        self._client.execute_interactive(code, output_hook=take, timeout=patience(120))
        return "\n".join(filter(None, map(str.strip, shown)))


@contextmanager
def kernel_of(python, folder):
    class Specs(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="bare", language="python")

    manager = KernelManager(kernel_spec_manager=Specs())
    manager.start_kernel(cwd=str(folder))
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=patience(60))
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_an_installation_without_dependencies_explores(with_package, tmp_path):
    with kernel_of(with_package, tmp_path) as kernel:
        assert kernel.run("%load_ext exploracoder_jupyter") == ""
        refused = kernel.run(CALL)
        assert "engine_python" in refused and "Traceback" not in refused
        kernel.run(f"%config ExploraMagics.engine_python = {sys.executable!r}")
        assert "Solved" in kernel.run(CALL)
        assert "statistics.mean" in kernel.run("%explora search statistics average of data")
        assert "statistics" in kernel.run("%explora status")
        assert kernel.run(OURS) == "[]"


def test_a_kernel_without_the_package_is_sent_it(bare, tmp_path):
    with kernel_of(bare, tmp_path) as kernel:
        assert "No module named" in kernel.run("%load_ext exploracoder_jupyter")
        assert kernel.run(kernel_program()) == ""
        assert "Solved" in kernel.run(CALL)
        assert kernel.run(OURS) == "[]"
        assert kernel.run("[name for name in globals() if 'explora' in name]") == "[]"


def test_an_older_python_is_refused_in_one_sentence(bare, tmp_path):
    with kernel_of(bare, tmp_path) as kernel:
        kernel.run("import sys; sys.version_info = (3, 9, 18, 'final', 0)")
        kernel.run(kernel_program())
        for cell in (CALL, "%load_ext exploracoder_jupyter"):
            shown = kernel.run(cell)
            assert "Python 3.11 or newer" in shown and "Traceback" not in shown and "\n" not in shown


def test_the_server_gives_the_program_to_its_users(tmp_path):
    archive_content.cache_clear()
    with serve(
        "jupyter server", tmp_path, "--ServerApp.jpserver_extensions=exploracoder_jupyter.server_extension=True"
    ) as server:
        request = urllib.request.Request(f"{server.url}{ADDRESS}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        with refused.value as error:
            assert error.code == 403
        request.add_header("Authorization", f"token {TOKEN}")
        with urllib.request.urlopen(request) as answer:
            found = json.load(answer)
    assert (found["python"], found["program"]) == (sys.executable, kernel_program())
