"""The caller of a magic: what is known about the front end and the calling cell.

JupyterLab and Notebook 7 send the id of the cell with each execution; nbclient, papermill and a terminal do not. With
an id, a user is looking at the page, and the run may continue in the background; without one, the cell waits. Who sends
no id, has no notebook and can be asked for input is a console (`jupyter console`, Qt console): it does not update
outputs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Caller:
    """The front end and the cell that called a magic."""

    jupyter: bool
    """Whether outputs are messages, which can be updated, rather than a terminal's lines."""
    watched: bool
    """Whether a front end that shows a page sent the cell."""
    cell: str | None
    """Id of the calling cell, if it is a notebook's."""
    notebook: Path | None
    """The calling notebook, if known."""
    session: str = ""
    """The session id of the connection over which the cell was sent."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """This extension's part of the metadata that came with the cell."""


def find_caller(shell: InteractiveShell) -> Caller:
    """Return the caller of the cell that is being executed."""
    jupyter = hasattr(shell, "kernel")
    parent = shell.get_parent() if jupyter else {}  # type: ignore[attr-defined]
    metadata = parent.get("metadata", {})
    cell, ours = metadata.get("cellId"), metadata.get("exploracoder_jupyter")
    is_valid = isinstance(cell, str) and _CELL_ID.fullmatch(cell)
    notebook = find_notebook(shell)
    unmarked = not cell and notebook is None and "google.colab" not in sys.modules
    is_console = unmarked and bool(parent.get("content", {}).get("allow_stdin"))
    return Caller(
        jupyter=jupyter and not is_console,
        watched=bool(cell),
        cell=cell if is_valid else None,
        notebook=notebook,
        session=str(parent.get("header", {}).get("session", "")),
        metadata=ours if isinstance(ours, Mapping) else {},
    )


def find_notebook(shell: InteractiveShell) -> Path | None:
    """Return the notebook of this kernel: Jupyter Server sets `JPY_SESSION_NAME`, VS Code sets a variable."""
    for name in (os.environ.get("JPY_SESSION_NAME"), shell.user_ns.get("__vsc_ipynb_file__")):
        if isinstance(name, str) and name.endswith(".ipynb"):
            path = Path(shell.starting_dir, name)  # a relative path starts at the kernel's initial folder
            if path.is_file():
                return path
    return None
