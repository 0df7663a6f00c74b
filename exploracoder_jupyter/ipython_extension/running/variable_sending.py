"""Writes the variables that a task uses to a private folder, for siblings that are not forks of this kernel.

If experiments will start from a fork of this kernel, nothing is written: that takes seconds of the user's time for a
large table, and nothing would read it. If they may start from a fork, a variable that cannot be written is not an error
yet. In both cases the reason is passed to the engine, in case the experiments start otherwise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.kernel_agent.variable_encoding import VariableTransferError, dump

Forks = Literal["will", "may", "never"]
"""Whether experiments start from a fork of this kernel."""
_UNSENT = "The variables of --use were not sent; --state fresh sends them."


def send_variables(
    names: Sequence[str], namespace: Mapping[str, object], resources: ExitStack, sandbox: Sandbox, *, forks: Forks
) -> tuple[str | None, str]:
    """Write the variables to a private folder that exists as long as the run.

    Returns the folder, and a message about what is not in it (or an empty string).
    """
    if unknown := [name for name in names if name not in namespace]:
        raise UsageError(f"--use: There is no variable {unknown[0]!r}.")
    if not names:
        return None, ""
    if forks == "will":
        return None, _UNSENT
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="explora-"))
    problems = [problem for name in names if (problem := _write(name, namespace, folder, pickled=sandbox.pickle))]
    if problems and forks == "never":
        resources.close()
        raise UsageError(f"--use: {problems[0]}")
    return folder, " ".join(problems)


def _write(name: str, namespace: Mapping[str, object], folder: str, *, pickled: bool) -> str:
    try:
        dump([name], namespace, folder, pickled=pickled)
    except (VariableTransferError, ImportError, OSError) as error:
        Path(folder, f"{name}.json").unlink(missing_ok=True)  # a full disk may have left an incomplete file
        return str(error)
    return ""
