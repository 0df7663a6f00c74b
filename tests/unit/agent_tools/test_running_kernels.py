"""Kernels are found by their connection files and by servers; names from a client never become paths."""

import json
import socket

import pytest

from exploracoder_jupyter.agent_tools import running_kernels
from exploracoder_jupyter.agent_tools.running_kernels import find_kernel, list_kernels
from exploracoder_jupyter.core.errors import UsageError


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def listening(runtime):
    """Write a connection file whose ports someone listens on."""
    opened = []

    def write(id):
        server = socket.create_server(("127.0.0.1", 0))
        opened.append(server)
        port = server.getsockname()[1]
        content = {"ip": "127.0.0.1", "shell_port": port, "transport": "tcp", "key": "k-secret"}
        (runtime / f"kernel-{id}.json").write_text(json.dumps(content))

    yield write
    for server in opened:
        server.close()


async def test_a_kernel_is_found_by_id_or_its_beginning(listening):
    listening("0a1b")
    listening("0a2c")
    assert (await find_kernel("0a1b")).id == (await find_kernel("0a1")).id == "0a1b"
    with pytest.raises(UsageError, match="More than one"):
        await find_kernel("0a")


async def test_a_kernel_is_found_by_its_notebook(listening, monkeypatch):
    async def notebooks():
        return {"0a1b": "/home/me/work/sales.ipynb", "0a2c": "/home/me/sales.ipynb"}

    monkeypatch.setattr(running_kernels, "_notebooks", notebooks)
    listening("0a1b")
    listening("0a2c")
    assert (await find_kernel("work/sales.ipynb")).id == "0a1b"
    with pytest.raises(UsageError, match=r"0a1b, 0a2c|0a2c, 0a1b"):
        await find_kernel("sales.ipynb")


@pytest.mark.parametrize("name", ["", "..", "/", "../kernel-0a1b", "*", "kernel-0a1b.json", "x" * 500, "\0"])
async def test_other_names_are_refused(listening, name):
    listening("0a1b")
    with pytest.raises(UsageError, match="no running kernel"):
        await find_kernel(name)


async def test_files_of_ended_kernels_are_left_out(runtime):
    for id, content in {
        "a": {"ip": "127.0.0.1", "shell_port": 1, "key": ""},
        "b": {"ip": "x-not-a-host.invalid", "shell_port": "?"},
        "c": [],
        "d": {"ip": str(runtime / "gone"), "shell_port": 1, "transport": "ipc"},
    }.items():
        (runtime / f"kernel-{id}.json").write_text(json.dumps(content))
    (runtime / "kernel-e.json").write_text("{")
    assert await list_kernels() == []


async def test_a_token_goes_to_this_machine_only(runtime):
    for number, url in enumerate(["https://evil.example/", "http://127.0.0.1.evil.example/", "http://10.0.0.1/"]):
        (runtime / f"jpserver-{number}.json").write_text(json.dumps({"url": url, "token": "t"}))
    assert await list_kernels() == []  # a connection elsewhere would fail the test


def test_what_is_listed_contains_no_key(listening, runtime):
    listening("0a1b")
    kernel = running_kernels.RunningKernel("0a1b", runtime / "kernel-0a1b.json", language="R")
    assert "secret" not in str(kernel.plain()) and kernel.plain()["why_not_forked"] == "it runs R, not Python"
