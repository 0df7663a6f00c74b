"""`jupyter explora` in the process of the tests: an interpreter that imports the package costs seconds.

What concerns the process itself (signals, pipes, a terminal, a full disk) is tried with one of its own.
"""

import contextlib
import io
from dataclasses import dataclass

from exploracoder_jupyter.cli import main


@dataclass(frozen=True)
class Done:
    """How the command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def explora(*arguments, folder):
    """Run the command in the folder."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(argument) for argument in arguments])
    return Done(status, out.getvalue(), err.getvalue())
