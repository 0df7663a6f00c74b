"""An environment whose kernel has ipykernel and what that needs, and nothing else of what the package needs."""

import shutil
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
_OPTIONAL = {"debugpy"}  # large, and ipykernel starts without it


def make_bare_environment(folder, *, package=False):
    """Make the environment, of copies of what is installed here, and return its interpreter.

    `package`: whether the package is installed in it too, without its dependencies.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for name in _needed("ipykernel"):
        _copy(metadata.distribution(name), site)
    if package:
        _copy(metadata.distribution("exploracoder-jupyter"), site)
        (site / "exploracoder_jupyter.pth").write_text(f"{ROOT}\n")
    return python


def _needed(name, seen=None):
    seen = set() if seen is None else seen
    if name not in seen | _OPTIONAL:
        seen.add(name)
        for text in metadata.requires(name) or ():
            requirement = Requirement(text)
            if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
                _needed(requirement.name, seen)
    return seen


def _copy(distribution, site):
    """Copy the folders and files that a distribution has in the site-packages, those of the package's code excepted:
    an installation that is editable has none there."""
    source = Path(distribution.locate_file(""))
    for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        if (source / name).is_dir():
            shutil.copytree(source / name, site / name, dirs_exist_ok=True)
        elif (source / name).is_file() and not name.endswith(".pth"):
            shutil.copy(source / name, site / name)


if __name__ == "__main__":
    sys.stdout.write(f"{make_bare_environment(Path(sys.argv[1]), package='--package' in sys.argv)}\n")
