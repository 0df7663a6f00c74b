"""Writes the variables that a task uses to a private folder, from which siblings that are no forks of this kernel read.

Where experiments are to start from a fork of this kernel, the folder is for the case that they cannot: then a variable
that cannot be written is no error yet, and the sentence that says so goes along.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from exploracoder_jupyter.config import Sandbox
from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.inside.variables import CannotSend, dump


def send(
    names: Sequence[str], namespace: Mapping[str, object], resources: ExitStack, sandbox: Sandbox, *, strict: bool
) -> tuple[str | None, str]:
    """Write the variables into a private folder that lives as long as the run; the folder, and what is not in it.

    Raises:
        UsageError: a variable does not exist, or, if `strict`, cannot be written.
    """
    if unknown := [name for name in names if name not in namespace]:
        raise UsageError(f"--use: There is no variable {unknown[0]!r}.")
    if not names:
        return None, ""
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="explora-"))
    unsent = [said for name in names if (said := _write(name, namespace, folder, pickled=sandbox.pickle))]
    if unsent and strict:
        resources.close()
        raise UsageError(f"--use: {unsent[0]}")
    return folder, " ".join(unsent)


def _write(name: str, namespace: Mapping[str, object], folder: str, *, pickled: bool) -> str:
    """Write one variable; why that could not be done, or nothing."""
    try:
        dump([name], namespace, folder, pickled=pickled)
    except (CannotSend, ImportError, OSError) as error:
        Path(folder, f"{name}.json").unlink(missing_ok=True)  # a full disk may have left half of it
        return str(error)
    return ""
