"""What is known of the Jupyter server that started this kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir


def server_root() -> Path | None:
    """The folder that the server shows its files from, as it has noted it for others; `None` where there is none."""
    noted = Path(jupyter_runtime_dir(), f"jpserver-{os.environ.get('JPY_PARENT_PID', '')}.json")
    try:
        root = json.loads(noted.read_text(encoding="utf-8"))["root_dir"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Path(root) if isinstance(root, str) and root else None


def link_between(folder: Path | None, root: Path | None, path: str) -> str:
    """The path as a link from a notebook's folder, with `/`; empty where the page cannot open it.

    It can open what is below that folder, and, where the server's root is known, everything below that.
    """
    if not folder or not path:
        return ""
    try:
        here, there = folder.resolve(), Path(path).resolve()
        within = here if root is None or not here.is_relative_to(root.resolve()) else root.resolve()
        return Path(os.path.relpath(there, here)).as_posix() if there.is_relative_to(within) else ""
    except (OSError, ValueError):  # of Windows: another drive
        return ""
