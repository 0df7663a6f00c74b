"""Measures a sibling's disk usage: all files in its own folder, including its copy of the working directory."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

_BLOCK: Final = 512
_MAX_FOLDERS: Final = 20_000
_SPARE_SHARE: Final = 0.03
_SPARE_BYTES: Final = 500 << 20


def disk_usage(folder: Path) -> int:
    """Bytes used by the files below the folder, as far as a limited number of folders shows. Blocks."""
    total, waiting, seen = 0, [str(folder)], 0
    while waiting and seen < _MAX_FOLDERS:
        seen += 1
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += _size(entry)
    return total


def disk_is_full(folder: Path) -> bool:
    """Whether almost no space is left on the file system of the folder."""
    usage = shutil.disk_usage(folder)
    return usage.free < min(usage.total * _SPARE_SHARE, _SPARE_BYTES)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # removed meanwhile
        return 0
    return found.st_blocks * _BLOCK // max(1, found.st_nlink)
