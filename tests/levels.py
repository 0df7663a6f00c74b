"""How far forks can be confined on the machine that runs the tests."""

import functools
import tempfile
from pathlib import Path

from exploracoder_jupyter.kernels.agent import write_agent_archive
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel, find_level


@functools.cache
def best_level() -> SandboxLevel:
    """The level, found by trying it once."""
    with tempfile.TemporaryDirectory() as folder:
        return find_level(write_agent_archive(Path(folder) / "kernel_agent.zip"))


def fully_confined() -> bool:
    """Whether a live kernel is forked unasked."""
    return best_level().name == "namespaces"
