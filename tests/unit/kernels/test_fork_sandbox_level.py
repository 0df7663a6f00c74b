"""Which level a machine is given when it cannot be probed."""

import subprocess

import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import find_level


def test_an_unfinished_probe_keeps_the_isolation(tmp_path, monkeypatch):
    def run(command, timeout, **options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(KernelError):
        find_level(tmp_path / "kernel_agent.zip")
