"""The interpreter in which siblings start, the archive of `kernel_agent` that is sent there, and its programs."""

from __future__ import annotations

import codecs
import importlib.util
import json
import marshal
import os
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from io import BytesIO
from itertools import count, islice
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import anyio

from exploracoder_jupyter import kernel_agent
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError, MissingRequirement
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.kernel_agent.entry_points import PACKAGE, PREFIX, own_plugins

if TYPE_CHECKING:
    from jupyter_client.kernelspec import KernelSpec

    from exploracoder_jupyter.kernels.launcher import Launcher


# Runs a module of `kernel_agent` as a program in the siblings' interpreter and yields its output line by line.
#
# For inspection that must happen where the code will run but is not part of an exploration: the API of a library,
# the installed packages. The program is confined like a sibling. What a library writes at its import, into the home
# folder or the working directory, is thrown away; what is there is shown read-only.

Inspect = Callable[[str, Sequence[str]], AsyncIterator[str]]
"""Runs the module of `kernel_agent` with that name and these arguments; yields the lines it prints, without line ends.

Ending the iteration early ends the program. Raises KernelError, with the last line of the log, when the program fails.
"""

_MAX_ENTRIES: Final = 100
_MAX_HOME_ENTRIES: Final = 300
"""Limits on the mounts that show a working directory; the greater number takes a third of a second."""
_serial = count()


def choose_inspector(sandbox: Sandbox, *, workdir: Path | None = None) -> Inspect:
    """Return an `Inspect` for the environment that siblings with these settings would have, without starting any.

    On this machine it works in `workdir`, by default the working directory of the process.
    """
    if not sandbox.gateway:
        return local_inspector(sandbox, workdir=workdir)
    # Imported late: it imports the kernel clients, which are seldom needed.
    from exploracoder_jupyter.kernels.remote.remote_siblings import remote_inspector

    return remote_inspector(sandbox)


async def read_interpreter_facts(inspect: Inspect) -> dict[str, Any]:
    """Return the facts about the interpreter and its packages, by the field names of `Environment`. Raises KernelError:
    the interpreter could not be inspected."""
    found = json.loads("".join([line async for line in inspect("introspection.environment_report", ())]))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def local_inspector(sandbox: Sandbox, *, workdir: Path | None = None) -> Inspect:
    """Return an `Inspect` that needs no siblings: each call opens its own launcher and removes it afterwards.

    The iteration raises MissingRequirement when the kernel named in the settings cannot be used.
    """

    async def run(module: str, arguments: Sequence[str]) -> AsyncGenerator[str, None]:
        # Imported late: a search in what was read before starts no program.
        from exploracoder_jupyter.kernels.launcher import open_launcher
        from exploracoder_jupyter.kernels.sandbox.working_directory import copyable_workdir

        async with AsyncExitStack() as stack:
            folder = copyable_workdir(workdir or Path.cwd(), stack)
            launcher = await stack.enter_async_context(open_launcher(sandbox, workdir=folder, kernels=False))
            lines = inspect(launcher, module, arguments, workdir=folder)
            async for line in await stack.enter_async_context(aclosing(lines)):
                yield line

    return run


async def inspect(
    launcher: Launcher, module: str, arguments: Sequence[str], *, workdir: Path
) -> AsyncGenerator[str, None]:
    """Yield the lines printed by a module of `kernel_agent`; see `Inspect`. Raises KernelError: the program could not
    be started, or failed."""
    from exploracoder_jupyter.kernels.processes.process_tree import ProcessTree
    from exploracoder_jupyter.kernels.sandbox.views import FileView, maskable_paths

    private = launcher.folder / f"i{next(_serial)}"
    (private / "tmp").mkdir(parents=True)
    (private / "work").mkdir()
    entries = _shown_entries(workdir, frozenset(launcher.files.hidden))
    view = FileView(
        workdir=workdir,
        copy=None if entries is None else private / "work",
        borrowed=entries or (),
        temporary=private / "tmp",
        writable=(private,),
        readable=launcher.readable,
        hidden=maskable_paths((*launcher.files.hidden, *launcher.files.private)),
        covered=launcher.files.covered,
        private=launcher.all_runs,
    )
    theirs, ours = system.open_lifeline()  # the program ends with this process: `confinement.exit_with_starter`
    with (private / "log").open("wb") as log, os.fdopen(theirs, "rb", 0), os.fdopen(ours, "wb", 0):
        try:
            process = await anyio.open_process(
                launcher.command("confinement.exit_with_starter", [module, *arguments], view),
                stdin=theirs,
                stderr=log,
                cwd=workdir,
                env=launcher.environ(private),
                **system.NEW_SESSION,
            )
        except OSError as error:
            raise KernelError(f"{module} could not be started: {error}.") from error
        try:
            assert process.stdout is not None
            async with aclosing(split_lines(process.stdout)) as lines:
                async for line in lines:
                    yield line
            if await process.wait() != 0:
                lines_of_log = (private / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                why = lines_of_log[-1] if lines_of_log else "no reason was given."
                raise KernelError(f"Reading the environment failed ({module}): {why}")
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    await ProcessTree(process.pid).end(root_follows=launcher.isolation.mounts)
                await process.aclose()


def _shown_entries(workdir: Path, hidden: Collection[Path]) -> tuple[Path, ...] | None:
    """Return what is shown of the working directory within an empty folder; `None` if it is to be shown as it is,
    because each of its entries would take a mount. Of a home folder, only so many entries are shown."""
    from exploracoder_jupyter.kernels.sandbox.views import home_folders

    is_home = workdir in home_folders(os.environ)
    most = _MAX_HOME_ENTRIES if is_home else _MAX_ENTRIES
    try:
        with os.scandir(workdir) as found:
            shown = (entry for entry in found if not (is_home and entry.name.startswith(".")))
            paths = (Path(entry.path) for entry in shown if entry.is_dir() or entry.is_file())
            entries = tuple(islice((path for path in paths if path not in hidden), most + 1))
    except OSError:
        return None
    return entries[:most] if is_home or len(entries) <= most else None


async def split_lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """Yield the lines of a text that arrives in chunks, without line ends."""
    decoder, rest = codecs.getincrementaldecoder("utf-8")(errors="replace"), ""
    async for chunk in chunks:
        *whole, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in whole:
            yield line
    if rest:
        yield rest


# Finds the interpreter in which siblings start, and builds the archive of the code that is sent to it.
#
# The interpreter is the caller's own, or that of an installed kernelspec. Nothing has to be installed there,
# because the package `kernel_agent` is sent as one zip file. Kernels of other languages are rejected with a message
# that names them.

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
            encoding="utf-8",
            errors="replace",
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
