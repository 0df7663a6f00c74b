"""Decides whether a file belongs to a publicly available library: the standard library, or installed from an index.

Everything else counts as the user's own: the working directory and other folders on the import path, editable
installations, and what was installed from a folder or a repository (which PEP 610 metadata records).
"""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Sequence
from functools import cache
from importlib.metadata import distributions

PACKAGER = "conda"
"""It builds every package from a folder, which its metadata records."""


def is_public(file: str) -> bool:
    """Return whether the file is publicly available, as far as its real location shows."""
    real = os.path.realpath(file)
    for folder in _folders(("purelib", "platlib")):
        if real.startswith(folder + os.sep):
            return _from_index(folder, os.path.relpath(real, folder).split(os.sep)[0])
    return any(real.startswith(folder + os.sep) for folder in _folders(("stdlib", "platstdlib")))


@cache
def _folders(kinds: Sequence[str]) -> Sequence[str]:
    """Return this interpreter's module folders of these kinds, including system-wide and per-user site packages."""
    found = [sysconfig.get_path(kind) for kind in kinds]
    if "purelib" in kinds:
        found += [*site.getsitepackages(), site.getusersitepackages()]
    return sorted({os.path.realpath(folder) for folder in found}, key=len, reverse=True)


@cache
def _from_index(folder: str, top: str) -> bool:
    """Whether no metadata says that the module or package of this file name comes from elsewhere than an index."""
    for about in distributions(path=[folder]):
        if about.read_text("direct_url.json") is not None and PACKAGER not in (about.read_text("INSTALLER") or ""):
            files = (about.read_text("RECORD") or "").splitlines()
            if any(line.split(",")[0].split("/")[0] == top for line in files):
                return False
    return True
