"""Building an environment from a lock: by an installer that stands in for uv."""

import sys
from pathlib import Path

import anyio
import psutil
import pytest

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.runs.trace_check.environments import Lock, build_environment

LOCK = Lock.of("3.11.9", ["networkx==3.6.1", "numpy==2.3.0"], ["networkx"], [])
VENV = f'mkdir -p "$last/bin"; ln -s {sys.executable} "$last/bin/python"'


@pytest.fixture
def installer(tmp_path, monkeypatch):
    """Makes `uv` do this when it is to install; how it was called is in `calls`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def write(install="true"):
        for_each = f'for last; do :; done\necho "$@" >> {tmp_path}/calls\n'
        uv = folder / "uv"
        uv.write_text(f'#!/bin/sh\n{for_each}if [ "$1" = venv ]; then {VENV}; else {install}; fi\n')
        uv.chmod(0o700)
        monkeypatch.setattr(
            "exploracoder_jupyter.runs.trace_check.environments.find_spec", lambda name: None
        )  # pip would come first

    write()
    return write


def built(cache, lock=LOCK):
    return anyio.run(build_environment, lock, cache, lambda what, done, total: None)


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def test_an_environment_is_built_once(installer, tmp_path):
    python = built(tmp_path / "cache")
    assert python.resolve() == Path(sys.executable).resolve()
    made, *installed = calls(tmp_path)
    assert made.startswith("venv --quiet --python 3.11")
    assert installed[0].endswith("networkx==3.6.1 ipykernel")
    assert built(tmp_path / "cache") == python
    assert len(calls(tmp_path)) == 1 + len(installed)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("ERROR: No matching distribution found for networkx==3.6.1", "No matching distribution found"),
        ("error: Failed to fetch: https://me:secret@example.org/simple/", "https://example.org/simple/"),
        ("WARNING: after connection broken by X\nERROR: No matching distribution found for x", "could not be reached"),
        ("", "no reason was given"),
    ],
)
def test_a_failed_build_is_one_sentence(installer, tmp_path, output, message):
    installer(f"echo '{output}' >&2; exit 1")
    with pytest.raises(MissingRequirement) as failed:
        built(tmp_path / "cache")
    assert message in failed.value.message
    assert "secret" not in failed.value.message
    assert len(failed.value.message.splitlines()) == 1
    assert not list((tmp_path / "cache").iterdir())


def test_an_abandoned_installer_ends_with_its_children(installer, tmp_path):
    installer(f"sleep 600 & echo $! > {tmp_path}/pid; wait")

    async def main():
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(build_environment, LOCK, tmp_path / "cache", lambda what, done, total: None)
                while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
                    await anyio.sleep(0.01)
                scope.cancel()

    anyio.run(main)
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert not list((tmp_path / "cache").iterdir())


def test_a_lock_pins_what_was_recorded():
    packages = [
        "NetworkX==3.6.1",
        "numpy==2.3.0+mkl",
        "exploracoder-jupyter==0.1.0",
        "odd @ file:///x",
        "ipykernel==7.4.0",
    ]
    lock = Lock.of("3.11.9", packages, ["networkx"], ["networkx==3.2"])
    assert lock.requirements(lock.libraries) == ["networkx==3.2", "ipykernel==7.4.0"]
    assert lock.versions == {"networkx": "3.2", "numpy": "2.3.0", "ipykernel": "7.4.0"}
    assert lock.digest != Lock.of("3.11.9", packages, ["networkx"], []).digest
    assert lock.digest == Lock.of("3.11.2", reversed(packages), ["networkx"], ["networkx==3.2"]).digest


def test_an_override_names_one_version():
    with pytest.raises(UsageError, match="NAME==VERSION"):
        Lock.of("3.11.9", [], [], ["networkx>2"])


def test_one_whose_interpreter_has_gone_is_built_again(installer, tmp_path):
    python = built(tmp_path / "cache")
    python.unlink()
    python.symlink_to(tmp_path / "gone")
    assert built(tmp_path / "cache").exists()
