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


def served_notebook(path: str) -> Path | None:
    """The file of a notebook that a page names by its path on the server; `None` where it cannot be found.

    Where the server's root is unknown, it is looked for beside the notebook that this kernel was started for.
    """
    if not path:
        return None
    root, first = server_root(), os.environ.get("JPY_SESSION_NAME")
    places = [root / path] if root else [Path(first).with_name(Path(path).name)] if first else []
    return next((place for place in places if place.is_file()), None)


class Reach:
    """What a page that shows a notebook can open: what is below its folder, and below the root, where that is known."""

    def __init__(self, folder: Path | None, root: Path | None) -> None:
        """`folder` is the notebook's; without it nothing can be named."""
        self._here = folder.resolve() if folder else None
        root = root.resolve() if root else None
        self._within = root if root and self._here and self._here.is_relative_to(root) else self._here

    def link(self, path: str) -> str:
        """The path from the notebook's folder, with `/`; empty where the page cannot open it."""
        there = Path(os.path.realpath(path))
        if not self._here or not self._within or not there.is_relative_to(self._within):
            return ""
        return Path(os.path.relpath(there, self._here)).as_posix()
