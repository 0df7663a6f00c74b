"""What a running kernel answers to other processes that want to fork it, which only reach it by Jupyter messages."""

from __future__ import annotations

import json
import os
import sys

from exploracoder_jupyter.kernel_agent.forking import fork_hazards, kernel_fork


def describe() -> str:
    """Return JSON: `folder`, the working directory, and `refused`, why this kernel must not be forked (or empty)."""
    from IPython import get_ipython

    shell = get_ipython()
    refused = [hazard["what"] for hazard in fork_hazards.find_hazards(shell.user_ns) if hazard["kind"] == "refuse"]
    if sys.platform != "linux" or not hasattr(shell, "kernel"):
        refused.insert(0, "only an ipykernel on Linux can")
    return json.dumps({"folder": os.getcwd(), "refused": refused[0] if refused else ""})


def fork(address: str) -> str:
    """Fork this kernel; see `kernel_fork.fork`. Call this in the thread that runs its cells."""
    from IPython import get_ipython

    kernel_fork.fork(get_ipython(), address)
    return ""
