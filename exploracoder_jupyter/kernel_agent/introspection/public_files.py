"""Whether a file is of a library that anybody could read: of the standard library, or installed from an index.

Everything else counts as the user's own: the working directory and what else is on the import path, editable
installations, and what was installed from a folder or a repository (PEP 610 has a note left of that).
"""

from __future__ import annotations

import os
import site
import sysconfig
from functools import cache
from glob import escape, glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGER = "conda"
"""It builds every package from a folder, and leaves the note."""


def is_public(file: str) -> bool:
    """Whether anybody could read this file, as far as where it really lies can tell."""
    real = os.path.realpath(file)
    for folder in _folders(("purelib", "platlib")):
        if real.startswith(folder + os.sep):
            return _from_index(folder, os.path.relpath(real, folder).split(os.sep)[0])
    return any(real.startswith(folder + os.sep) for folder in _folders(("stdlib", "platstdlib")))


@cache
def _folders(kinds: Sequence[str]) -> Sequence[str]:
    """Where this interpreter has modules of these kinds; for installed ones, the machine's and the account's too."""
    found = [sysconfig.get_path(kind) for kind in kinds]
    if "purelib" in kinds:
        found += [*site.getsitepackages(), site.getusersitepackages()]
    return sorted({os.path.realpath(folder) for folder in found}, key=len, reverse=True)


@cache
def _from_index(folder: str, top: str) -> bool:
    """Whether nothing says that the module or package of this file name, installed here, is from anywhere else."""
    for note in glob(os.path.join(escape(folder), "*.dist-info", "direct_url.json")):
        about = os.path.dirname(note)
        files = (line.split(",")[0].split("/")[0] for line in _lines(about, "RECORD"))
        if top in files and PACKAGER not in _lines(about, "INSTALLER"):
            return False
    return True


def _lines(folder: str, name: str) -> Sequence[str]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return ()
