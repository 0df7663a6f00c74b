"""Exports a trace by the command line, in a process of its own: the user's kernel imports nothing for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from exploracoder_jupyter.errors import UsageError

_MAIN = "import sys; from exploracoder_jupyter.cli import main; sys.exit(main())"


def export_trace(trace: Path, to: str) -> Path:
    """Write the trace without the candidates that lost, beside it or to the given path, and return that path.

    Raises:
        UsageError: it could not be written; the sentence is the command line's.
    """
    out = Path(to).expanduser() if to else trace.with_name(f"{trace.stem}-selected.ipynb")
    command = (sys.executable, "-P", "-c", _MAIN, "export", str(trace), "--to", "notebook", "--out", str(out))
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UsageError(said[-1] if said else f"The export failed with exit status {done.returncode}.")
    return out
