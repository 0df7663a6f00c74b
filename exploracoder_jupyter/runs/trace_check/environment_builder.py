"""Environments built from what a trace has recorded: the task's libraries at their versions, with what they need.

uv, where it is installed, or venv makes them, in a folder of the user's cache that is named after all that decides its
content, so that the next check finds it. A folder is put in place in one move when it is whole. pip installs, and uv
only where pip is missing: uv does not read pip's configuration, and would ask PyPI for what a private index alone has.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO

import anyio
from anyio import to_thread

from exploracoder_jupyter.core.errors import MissingMeans, UsageError
from exploracoder_jupyter.kernels.processes.process_tree import Census
from exploracoder_jupyter.trace.cells.escaped_text import clip
from exploracoder_jupyter.trace.needed_packages import PINNED, canonical, useful, versions_of

_OURSELVES = "exploracoder-jupyter"
_MINOR = re.compile(r"\d+\.\d+")
_ALONE = ("-I", "-m")
"""The folder in which somebody checks a stranger's trace is not where modules are looked for."""
_ACCESS = re.compile(r"(?<=://)[^/@\s]+@")
_MOST_TOLD = 300
_UNREACHED = re.compile(r"after connection broken by|error sending request|dns error|Connection refused")
_WHY = ("No matching distribution", "No solution found", "ERROR", "error")
"""What installers say where they say why, the most telling first."""
_OPTIONAL = """
import json, sys
from importlib.metadata import PackageNotFoundError, requires
found = []
for name in sys.argv[1:]:
    try:
        found += requires(name) or ()
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """What an environment is made of."""

    python: str
    """Version of the interpreter, as recorded."""
    versions: Mapping[str, str]
    """Of all recorded packages, by canonical name."""
    libraries: tuple[str, ...]
    """Canonical names of the distributions that are wanted, with what they need."""

    @classmethod
    def of(cls, python: str, packages: Iterable[str], libraries: Iterable[str], overrides: Sequence[str]) -> Lock:
        """The lock of recorded `name==version` lines, with others in their place. Libraries that are not among these
        are left out: an index may have something else of that name.

        Raises:
            UsageError: an override has another form, or nobody knows of which Python the lines are.
        """
        if not _MINOR.match(python):
            raise UsageError("The trace does not record the version of Python.", remedy="Leave --env out.")
        replaced = versions_of(map(_override, overrides))
        versions = {**versions_of(packages), **replaced}
        versions.pop(_OURSELVES, None)
        wanted = [*(name for name in map(canonical, libraries) if name in versions), *replaced, "ipykernel"]
        return cls(python, versions, tuple(dict.fromkeys(wanted)))

    @property
    def minor(self) -> str:
        """The version of the interpreter without its last number: `3.11`."""
        found = _MINOR.match(self.python)
        return found[0] if found else ""

    @property
    def digest(self) -> str:
        """Names this very content."""
        content = json.dumps([self.minor, sorted(self.versions.items()), sorted(self.libraries), sys.platform])
        return blake2b(content.encode(), digest_size=10).hexdigest()

    def requirements(self, names: Iterable[str]) -> list[str]:
        """What to ask an installer for."""
        return [f"{name}=={self.versions[name]}" if name in self.versions else name for name in names]


async def interpreter_of(lock: Lock, cache: Path, advance: Callable[[str, int, int], None]) -> Path:
    """The interpreter of an environment of this content, built if it is not there.

    Raises:
        MissingMeans: it cannot be built; the reason is the installer's.
    """
    place = cache / lock.digest
    if not _python(place).exists():
        advance("Building the recorded environment", 0, 0)
        await _build(lock, place)
    return _python(place)


async def _build(lock: Lock, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=f"{place.name}-", dir=place.parent))
    try:
        await _fill(lock, draft)
        await to_thread.run_sync(_put, draft, place)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(lambda: shutil.rmtree(draft, ignore_errors=True))


def _put(draft: Path, place: Path) -> None:
    """In place of one whose interpreter has gone; one that another process has put there meanwhile is as good."""
    if place.exists() and not _python(place).exists():
        shutil.rmtree(place)
    with suppress(OSError):
        draft.rename(place)


async def _fill(lock: Lock, folder: Path) -> None:
    await _run([*_maker(lock), str(folder)])
    constraints = folder / "constraints.txt"
    _write(constraints, lock.requirements(name for name in lock.versions if name not in lock.libraries))
    python = str(_python(folder))
    install = [*_installer(python), "--constraint", str(constraints)]
    await _run([*install, *lock.requirements(lock.libraries)])
    _write(constraints, lock.requirements(lock.versions))
    if optional := lock.requirements(await _optional(lock, python)):
        await _install_what_can_be(install, optional)


def _maker(lock: Lock) -> list[str]:
    """The command that makes an environment of the recorded version of Python, without the folder."""
    if uv := shutil.which("uv"):
        return [uv, "venv", "--quiet", "--python", lock.minor]
    return [shutil.which(f"python{lock.minor}") or sys.executable, *_ALONE, "venv", "--without-pip"]


def _installer(python: str) -> list[str]:
    """The command that installs for that interpreter, without what is to be installed.

    Raises:
        MissingMeans: there is neither pip nor uv.
    """
    if find_spec("pip"):
        return [sys.executable, *_ALONE, "pip", "--python", python, "install", "--quiet"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", python]
    raise _failed("neither pip nor uv is installed")


def _write(path: Path, requirements: Iterable[str]) -> None:
    path.write_text("\n".join([*requirements, ""]), encoding="utf-8")


async def _install_what_can_be(install: Sequence[str], requirements: Sequence[str]) -> None:
    """Install all of these, or, where one of them cannot be, each that can: calls that miss one will say so."""
    try:
        await _run([*install, *requirements])
    except MissingMeans:
        for requirement in requirements:
            with suppress(MissingMeans):
                await _run([*install, requirement])


async def _optional(lock: Lock, python: str) -> list[str]:
    """What the libraries can use beside what they need, and the run had: calls may depend on it."""
    lines = json.loads(await _run([python, "-I", "-c", _OPTIONAL, *lock.libraries]))
    return [name for name in useful(lines) if name in lock.versions and name not in lock.libraries]


async def _run(command: Sequence[str]) -> str:
    """What a command prints; it is ended, with all that it has started, where nobody waits for it any more.

    Raises:
        MissingMeans: it fails.
    """
    with TemporaryFile() as printed, TemporaryFile() as said:
        try:
            process = await anyio.open_process(
                command, stdin=subprocess.DEVNULL, stdout=printed, stderr=said, start_new_session=True
            )
        except OSError as error:
            raise _failed(str(error)) from error
        try:
            status = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    await Census(process.pid).end(root_follows=False)
                await process.aclose()
        if status != 0:
            raise _failed(f"{_all_of(said)}\n{_all_of(printed)}")
        return _all_of(printed)


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _failed(said: str) -> MissingMeans:
    lines = [line.strip(" \t╰─▶×") for line in said.splitlines()]
    telling = [place for why in _WHY for place, line in enumerate(lines) if why in line]
    first = telling[0] if telling else len(lines) - 1
    told = " ".join(line.removeprefix("ERROR: ").removeprefix("error: ") for line in lines[first : first + 2])
    why = clip(_ACCESS.sub("", told), _MOST_TOLD).rstrip(".:") or "no reason was given"
    unreached = " (a package index could not be reached)" if _UNREACHED.search(said) else ""
    remedy = "--kernel names an environment of yours, --with NAME==VERSION another version."
    return MissingMeans(f"The recorded environment cannot be built: {why}{unreached}.", remedy=remedy)


def _override(text: str) -> str:
    if PINNED.fullmatch(text.strip()) is None:
        raise UsageError(
            f"--with takes NAME==VERSION, not {text!r}.", remedy='Write for example --with "networkx==3.2".'
        )
    return text.strip()


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
