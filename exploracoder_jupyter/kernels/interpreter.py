"""Finds the interpreter in which siblings start, and builds the archive of the code that is sent to it.

The interpreter is the caller's own, or that of an installed kernelspec. Nothing has to be installed there, because the
package `kernel_agent` is sent as one zip file. Kernels of other languages are rejected with a message that names them.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from io import BytesIO
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Final

from exploracoder_jupyter import kernel_agent
from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.kernel_agent.entry_points import PACKAGE, PREFIX, own_plugins

if TYPE_CHECKING:
    from jupyter_client.kernelspec import KernelSpec

_PROBE_SECONDS: Final = 30
_PROBE: Final = """
import json, sys
has_kernel = False
if sys.version_info >= (3, 4):
    import importlib.util
    has_kernel = importlib.util.find_spec("ipykernel") is not None
paths = [sys.prefix, getattr(sys, "base_prefix", ""), sys.exec_prefix] + sys.path
print(json.dumps([list(sys.version_info[:2]), has_kernel, paths]))
"""
"""Runs in any version of Python."""
_OLDEST: Final = (3, 10)
"""The oldest version of Python that `kernel_agent` is written for."""
_PYTHONS: Final = ("python", "python3")
_NO_CALLER_PACKAGES: Final = {"PYTHONPATH": "", "PYTHONHOME": "", "VIRTUAL_ENV": ""}
"""For an interpreter given by its path: it imports only what is installed for it, not the caller's packages."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The interpreter in which siblings run."""

    name: str
    """Name of the kernelspec."""
    command: tuple[str, ...]
    """Words that start Python: usually one path, more for wrappers such as `conda run`."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the kernelspec sets."""
    paths: tuple[str, ...] = ()
    """Prefixes and import path, which must stay readable."""


def find_interpreter(kernel: str | None, python: str | None = None, *, kernels: bool = True) -> Interpreter:
    """Return the interpreter to use; blocks, and may start it once to read its paths.

    `kernel` is a kernelspec, or the absolute path of an interpreter, which then shares none of the caller's variables.
    Without it, `python` is used, whose path may be relative to the current folder, and which shares the caller's
    variables; without either, the caller's own interpreter. `kernels`: whether kernels are to be started with it, for
    which it needs ipykernel. Raises MissingRequirement: there is no such kernel, it is not Python's ipykernel, it
    cannot be started, or its version is too old."""
    if kernel is None and python not in (None, sys.executable):
        path = str(Path(python).absolute()) if os.sep in python else python  # siblings start in other folders
        return Interpreter("python3", (path,), paths=_read_import_paths(python, (path,), kernels=kernels))
    if kernel is None:
        if importlib.util.find_spec("ipykernel") is None:
            raise MissingRequirement(f"{sys.executable} has no ipykernel.", remedy="Install it: pip install ipykernel.")
        return Interpreter(
            "python3",
            (sys.executable,),
            paths=(sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *sys.path),
        )
    if Path(kernel).is_absolute():
        paths = _read_import_paths(kernel, (kernel,), kernels=kernels)
        return Interpreter(kernel, (kernel,), _NO_CALLER_PACKAGES, paths)
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # imports all of the kernel client

    manager = KernelSpecManager()
    try:
        spec = manager.get_kernel_spec(kernel)
    except (NoSuchKernel, ValueError) as error:
        installed = ", ".join(sorted(manager.find_kernel_specs())) or "none"
        raise MissingRequirement(f"There is no kernel {kernel!r}.", remedy=f"Installed: {installed}.") from error
    command = _python_command(kernel, spec)
    return Interpreter(kernel, command, dict(spec.env or {}), _read_import_paths(kernel, command, kernels=kernels))


def _python_command(kernel: str, spec: KernelSpec) -> tuple[str, ...]:
    if spec.language.lower() != "python":
        raise MissingRequirement(
            f"The kernel {kernel!r} runs {spec.language}, not Python.", remedy="Choose a Python kernel."
        )
    argv = list(spec.argv)
    module = argv[argv.index("-m") + 1 : argv.index("-m") + 2] if "-m" in argv else []
    if not module or not module[0].startswith("ipykernel"):
        raise MissingRequirement(
            f"The kernel {kernel!r} is not started with `python -m ipykernel_launcher`.", remedy="Choose another."
        )
    command = argv[: argv.index("-m")]
    return (sys.executable, *command[1:]) if command[0] in _PYTHONS else tuple(command)


def _read_import_paths(kernel: str, command: Sequence[str], *, kernels: bool) -> tuple[str, ...]:
    """Read what the interpreter imports from, and whether it can be used.

    Runs it in a neutral folder, because `-c` imports from there first.
    """
    try:
        done = subprocess.run(
            [*command, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=scale_limit(_PROBE_SECONDS),
            stdin=subprocess.DEVNULL,
            cwd=sys.prefix,
        )
        if done.returncode == 0:
            version, has_kernel, paths = json.loads(done.stdout)
            _check_usable(kernel, command, tuple(version), has_kernel or not kernels)
            return tuple(paths)
        why = done.stderr
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    last = (why.strip().splitlines() or ["no reason was given"])[-1]
    raise MissingRequirement(
        f"The interpreter of {kernel!r} does not start: {last.rstrip('.')}.", remedy="Choose another, or reinstall it."
    )


def _check_usable(kernel: str, command: Sequence[str], version: tuple[int, ...], has_kernel: bool) -> None:
    if version < _OLDEST:
        known, oldest = (".".join(map(str, numbers)) for numbers in (version, _OLDEST))
        raise MissingRequirement(
            f"The interpreter of {kernel!r} is Python {known}; experiments need Python {oldest} or newer.",
            remedy="Choose another interpreter.",
        )
    if not has_kernel:
        raise MissingRequirement(
            f"The interpreter of {kernel!r} has no ipykernel, with which experiments run.",
            remedy=f"Install it: {shlex.join(command)} -m pip install ipykernel",
        )


def write_agent_archive(path: Path) -> Path:
    """Write the zip of `exploracoder_jupyter.kernel_agent`, to be run as `python PATH MODULE ARGUMENT...`."""
    path.write_bytes(_archive_content(tuple(_metadata().items())))
    return path


@cache
def _archive_content(metadata: tuple[tuple[str, str], ...]) -> bytes:
    """Return the zip with these metadata files; built once, because a process opens many launchers."""
    package, content = Path(kernel_agent.__file__).parent, BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("exploracoder_jupyter/__init__.py", "")
        for file in sorted(package.rglob("*.py")):
            name = file.relative_to(package).as_posix()
            name = name if name == "__main__.py" else f"exploracoder_jupyter/kernel_agent/{name}"
            archive.writestr(name, file.read_bytes())
            archive.writestr(f"{name}c", _bytecode(file, name))
        for name, text in metadata:
            archive.writestr(f"{PACKAGE.replace('-', '_')}-{__version__}.dist-info/{name}", text)
    return content.getvalue()


def _metadata() -> dict[str, str]:
    """Return the metadata files that register the built-in summarizers in a kernel. Raises MissingRequirement: none are
    registered here."""
    lines = [f"{plugin.name} = {plugin.value}" for plugin in own_plugins() if plugin.group == "summarizers"]
    if not lines:
        raise MissingRequirement(f"The metadata of {PACKAGE} is missing or old.", remedy=f"Install {PACKAGE} again.")
    return {
        "METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {__version__}\n",
        "entry_points.txt": "\n".join([f"[{PREFIX}summarizers]", *lines, ""]),
    }


def _bytecode(file: Path, name: str) -> bytes:
    """Return the module's bytecode (PEP 552, never checked) for interpreters of this version; others ignore it.

    Otherwise each sibling would compile it anew, which takes longer than everything else at its start. Compiled here,
    it is taken from the interpreter's own cache, which is several times faster.
    """
    code = SourceFileLoader(name, str(file)).get_code(name)
    assert code is not None
    unchecked = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + unchecked + source_hash(file.read_bytes()) + marshal.dumps(_renamed(code, name))


def _renamed(code: CodeType, name: str) -> CodeType:
    """Return the code under the name of its file in the archive: tracebacks show no path of this machine."""
    constants = tuple(_renamed(one, name) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=name, co_consts=constants)
