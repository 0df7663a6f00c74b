"""Writes the variables that a task uses to a private folder, from which siblings that are no forks of this kernel read.

Where experiments will start from a fork of this kernel, nothing is written: for a large table that takes seconds of the
user's, and nobody would read it. Where they may start from one, a variable that cannot be written is no error yet.
Either way the sentence that says so goes along, for the case that they start otherwise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings import Sandbox
from exploracoder_jupyter.kernel_agent.variable_transfer import CannotSend, dump

Forks = Literal["will", "may", "never"]
"""Whether experiments start from a fork of this kernel."""
_UNSENT = "The variables of --use were not sent; --state fresh sends them."


def send(
    names: Sequence[str], namespace: Mapping[str, object], resources: ExitStack, sandbox: Sandbox, *, forks: Forks
) -> tuple[str | None, str]:
    """Write the variables into a private folder that lives as long as the run; the folder, and what is not in it.

    Raises:
        UsageError: a variable does not exist, or cannot be written and has to be.
    """
    if unknown := [name for name in names if name not in namespace]:
        raise UsageError(f"--use: There is no variable {unknown[0]!r}.")
    if not names:
        return None, ""
    if forks == "will":
        return None, _UNSENT
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="explora-"))
    unsent = [said for name in names if (said := _write(name, namespace, folder, pickled=sandbox.pickle))]
    if unsent and forks == "never":
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
