"""What a running kernel is asked from outside: to describe itself, to fork itself, and to write variables to files.

The source of this module is sent to the kernel as one expression of a silent execute request and runs in a namespace
of its own: the variables, the history and the modules of the kernel stay as they are. Where the kernel's environment
lacks this package, it is imported from an archive and forgotten again.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

_PACKAGE = "exploracoder_jupyter"
_FORKING = f"{_PACKAGE}.kernel_agent.forking"
_MAX_VARIABLES = 2_000
_T = TypeVar("_T")


def describe(archive: str) -> str:
    """Return JSON: folder, interpreter, import paths, hazards of a fork, names of variables that look like secrets."""
    from IPython import get_ipython

    shell = get_ipython()
    if sys.platform != "linux" or not hasattr(shell, "kernel"):
        return json.dumps({"refused": "only an ipykernel on Linux can be forked"})
    if sys.version_info < (3, 10):  # noqa: UP036  the kernel's Python may be another
        return json.dumps({"refused": "its Python is older than 3.10"})

    def look() -> str:
        hazards = importlib.import_module(f"{_FORKING}.fork_hazards")
        secretive = importlib.import_module(f"{_PACKAGE}.ipython_extension.running.credential_variables")
        paths = [path for path in (*sys.path, sys.prefix, sys.base_prefix, archive) if isinstance(path, str) and path]
        found = {
            "folder": str(Path.cwd()),
            "python": sys.executable,
            "version": _version(),
            "hazards": hazards.find_hazards(shell.user_ns),
            "variables": _variables(shell),
            "secretive": secretive.find_credential_variables(shell.user_ns),
            "paths": [str(Path(path).absolute()) for path in paths],
        }
        return json.dumps(found)

    return _with_package(archive, look)


def fork(archive: str, address: str) -> str:
    """Fork this kernel; the child connects to the UNIX socket at the address."""
    from IPython import get_ipython

    shell = get_ipython()

    def make() -> str:
        importlib.import_module(f"{_FORKING}.kernel_fork").fork(shell, address)
        return ""

    return _with_package(archive, make)


def send(archive: str, folder: str, names: list[str], most_bytes: int) -> str:
    """Write variables into the folder; return JSON: why one is not there, by name. Credentials are never written."""
    from IPython import get_ipython

    space = get_ipython().user_ns

    def write() -> str:
        encoding = importlib.import_module(f"{_PACKAGE}.kernel_agent.variable_encoding")
        secretive = importlib.import_module(f"{_PACKAGE}.ipython_extension.running.credential_variables")
        withheld = secretive.find_credential_variables(space)
        return json.dumps(encoding.dump_each(names, space, folder, most_bytes=most_bytes, withheld=withheld))

    return _with_package(archive, write)


def _variables(shell: Any) -> dict[str, str]:
    """Return the types of the user's variables by name, without modules; no code of a value runs."""
    module, name_of = type.__dict__["__module__"].__get__, type.__dict__["__qualname__"].__get__
    found: dict[str, str] = {}
    for name, value in list(shell.user_ns.items()):
        kind = type(value)
        hidden = type(name) is not str or name.startswith("_") or shell.user_ns_hidden.get(name, found) is value
        if not (hidden or issubclass(kind, type(sys))) and len(found) < _MAX_VARIABLES:
            found[name] = f"{module(kind)}.{name_of(kind)}"
    return found


def _version() -> str:
    """Return the version of the package that is installed here; empty for that of the archive."""
    try:
        found = importlib.import_module(f"{_PACKAGE}.core.version")
    except ImportError:
        return ""
    return str(found.__version__)


def _with_package(archive: str, work: Callable[[], _T]) -> _T:
    """Do the work with the package importable, from the archive where it is not installed."""
    if importlib.util.find_spec(_PACKAGE) is not None:
        return work()
    sys.path.insert(0, archive)
    try:
        return work()
    finally:
        sys.path[:] = [path for path in sys.path if path != archive]
        for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
            del sys.modules[name]
