"""Checks that the libraries of a run are installed and that its trace can be written, before anything is started.

The check of libraries looks at this interpreter's environment, so it applies only to runs that explore in this
interpreter. For a kernelspec, another interpreter or a gateway, the run itself checks. A library that is not found here
is not found by experiments either, because they search the same path.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from sys import executable

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.kernel_agent.introspection import installed_libraries


def check_libraries(libraries: Sequence[str], settings: Settings, *, workdir: Path) -> None:
    """Check that all libraries are installed; do nothing if only the run itself can find out."""
    if not is_checked_here(settings):
        return
    importlib.invalidate_caches()  # packages may have been installed since the last call
    installed_libraries.distributions_by_module.cache_clear()
    for name in libraries:
        if not _is_installed(name, workdir):
            raise not_installed(name, installed_libraries.similar_names(name))


def check_trace_folder(settings: Settings, beside: Path) -> None:
    """Check that the trace of a run can be written beside a notebook, in a folder, or where `--out` says.

    The engine checks more, but starting it takes seconds, on a busy machine half a minute. Raises UsageError.
    """
    folder = beside.parent if beside.suffix == ".ipynb" else beside
    existing = None
    with suppress(OSError, RuntimeError):  # no such user, or a path that the engine refuses
        out = Path(settings.view.out or "explorations/trace.ipynb").expanduser()
        existing = next(parent for parent in Path(folder, out).absolute().parents if parent.exists())
    if existing and existing.is_dir() and not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(
            f"The trace cannot be written: the folder {str(existing)!r} is read-only for you.",
            remedy="Name another path with --out.",
        )


def is_checked_here(settings: Settings) -> bool:
    """Return whether a run explores in this interpreter, and no documents replace an uninstalled library."""
    sandbox = settings.sandbox
    others = (sandbox.python, sandbox.engine_python)
    elsewhere = sandbox.gateway or sandbox.kernel or any(other not in (None, executable) for other in others)
    return not elsewhere and not settings.retrieval.docs


def not_installed(name: str, near: Sequence[str]) -> UsageError:
    """Build the error for a library that is not installed where the run explores; `near`: similar installed names."""
    meant = " or ".join(repr(other) for other in near[:2])
    return UsageError(
        f"Library {name!r} is not installed in this kernel's environment.",
        remedy=f"Did you mean {meant}? Otherwise install it there." if near else "Install it there, or check its name.",
    )


def _is_installed(name: str, workdir: Path) -> bool:
    """Return whether a distribution or module has this name, in the working directory and on `PYTHONPATH` too.

    `PYTHONPATH` is read anew because it may have been set since this process started; experiments start with it.
    """
    try:
        metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        places = [str(workdir), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        return bool(
            installed_libraries.resolve_import_name(name) or PathFinder.find_spec(name.partition(".")[0], places)
        )
    return True
