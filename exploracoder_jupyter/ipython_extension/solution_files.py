"""The files that a solution wrote in its branch and that were kept: lists them and copies them elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePath

from exploracoder_jupyter.core.events import FilesKept


def describe_files(kept: FilesKept) -> str:
    """List the kept files, one per line, and the command that copies them."""
    if not kept.files:
        return "The solution wrote no files."
    names = "\n".join(f"  {name}" for name in kept.files)
    return f"In {kept.folder}:\n{names}\n%explora files --copy copies them into the working directory."


def copy_files(kept: FilesKept, into: Path) -> str:
    """Copy the kept files into the folder, never over an existing file; return a message about the result."""
    copied, skipped = [], []
    for name in kept.files:
        leaves = PurePath(name).is_absolute() or ".." in PurePath(name).parts
        reason = "is outside the folder" if leaves else _copy(Path(kept.folder, name), into / name)
        skipped.append(f"  {name}: {reason}") if reason else copied.append(f"  {name}")
    lines = [f"Copied into {into}:", *copied] if copied else ["Nothing was copied."]
    return "\n".join([*lines, *(["Not copied:", *skipped] if skipped else [])])


def _copy(source: Path, target: Path) -> str:
    try:
        if source.is_symlink():
            return "is a link"
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as original, target.open("xb") as copy:
            shutil.copyfileobj(original, copy)
    except FileExistsError:
        return "already exists"
    except OSError as error:
        return error.strerror or str(error)
    return ""
