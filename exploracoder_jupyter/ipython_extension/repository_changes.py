"""`%explora apply` and `undo`: change a repository by the patch of a run, in a process of the command line.

The kernel itself imports nothing that reads traces or source code.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final, Literal

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.time_limits import scale_limit

_SECONDS: Final = 60.0
_PREFIX: Final = "jupyter explora: "


def change_repository(
    action: Literal["apply", "undo"], source: str, *, repository: str = "", engine_python: str | None = None
) -> str:
    """Apply the patch of a trace or file to a repository (by default that of the trace), or undo it.

    Returns a sentence about it. `engine_python` is the interpreter of the command line, by default that of this kernel.
    """
    python = engine_python or sys.executable
    command = [python, "-P", "-m", "exploracoder_jupyter.cli", "repo", action, source]  # -P: see `command_process`
    command += ["--repo", repository] if repository else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=scale_limit(_SECONDS), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise UsageError("The patch was not applied in time.", remedy=f"Run `{' '.join(command[4:])}`.") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["The command failed."]
        raise UsageError(lines[-1].removeprefix(_PREFIX))
    return f"{done.stdout}{done.stderr}".strip()
