"""What is known about the Jupyter server that started this kernel."""

from __future__ import annotations

import json
import os
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir


def server_root() -> Path | None:
    """Return the root folder of the server, from the server's runtime file; `None` if there is no server."""
    info = Path(jupyter_runtime_dir(), f"jpserver-{os.environ.get('JPY_PARENT_PID', '')}.json")
    try:
        root = json.loads(info.read_text(encoding="utf-8"))["root_dir"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Path(root) if isinstance(root, str) and root else None


def served_notebook(path: str) -> Path | None:
    """Return the file of a notebook that a page names by its path on the server; `None` if it cannot be found.

    If the server's root is unknown, the file is looked up beside the notebook for which this kernel was started.
    """
    if not path:
        return None
    root, first = server_root(), os.environ.get("JPY_SESSION_NAME")
    candidates = [root / path] if root else [Path(first).with_name(Path(path).name)] if first else []
    return next((candidate for candidate in candidates if candidate.is_file()), None)


class Reach:
    """The files that a page with a notebook can open: those below its folder and, if known, below the server's root."""

    def __init__(self, folder: Path | None, root: Path | None) -> None:
        """`folder` is the notebook's; without it no file can be linked."""
        self._folder = folder.resolve() if folder else None
        root = root.resolve() if root else None
        self._root = root if root and self._folder and self._folder.is_relative_to(root) else self._folder

    def link(self, path: str) -> str:
        """Return the path relative to the notebook's folder, with `/`; empty if the page cannot open it."""
        target = Path(os.path.realpath(path))
        if not self._folder or not self._root or not target.is_relative_to(self._root):
            return ""
        return Path(os.path.relpath(target, self._folder)).as_posix()
