"""Environments built from what a trace has recorded: the task's libraries at their versions, with what they need.

Built by uv where it is installed, else by venv and pip, in a folder of the user's cache that is named after all that
decides its content, so that the next check finds it. A folder is put in place in one move when it is whole.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import mkdtemp

import anyio
from anyio import to_thread

from exploracoder_jupyter.errors import MissingMeans, UsageError
from exploracoder_jupyter.notebook.text import clip

_OURSELVES = "exploracoder-jupyter"
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9._!]*)(\+[A-Za-z0-9.]+)?")
_ACCESS = re.compile(r"(?<=://)[^/@\s]+@")
_MOST_TOLD = 300
_WHY = ("No matching distribution", "No solution found", "ERROR", "error")
"""What installers say where they say why, the most telling first."""
_OPTIONAL = """
import json, re, sys
from importlib.metadata import PackageNotFoundError, requires
found = []
for name in sys.argv[1:]:
    try:
        found += [line for line in requires(name) or () if "extra ==" in line]
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""
_FOR_DEVELOPERS = re.compile(r"extra == ['\"](test|tests|testing|dev|develop|developer|doc|docs|lint|typing|benchmark)")


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
        """The lock of recorded `name==version` lines, with others in their place.

        Raises:
            UsageError: an override has another form.
        """
        pinned = [found for line in packages if (found := _PINNED.fullmatch(line))]
        replaced = [_override(text) for text in overrides]
        versions = {canonical(found[1]): found[2] for found in (*pinned, *replaced)}
        versions.pop(_OURSELVES, None)
        wanted = [*libraries, *(found[1] for found in replaced), "ipykernel"]
        return cls(python, versions, tuple(dict.fromkeys(map(canonical, wanted))))

    @property
    def minor(self) -> str:
        """The version of the interpreter without its last number: `3.11`."""
        return ".".join(self.python.split(".")[:2])

    @property
    def digest(self) -> str:
        """Names this very content."""
        content = json.dumps([self.minor, sorted(self.versions.items()), sorted(self.libraries), sys.platform])
        return blake2b(content.encode(), digest_size=10).hexdigest()

    def requirements(self, names: Iterable[str]) -> list[str]:
        """What to ask an installer for."""
        return [f"{name}=={self.versions[name]}" if name in self.versions else name for name in names]


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


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
        if not place.exists():
            await to_thread.run_sync(draft.rename, place)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(lambda: shutil.rmtree(draft, ignore_errors=True))


async def _fill(lock: Lock, folder: Path) -> None:
    uv = shutil.which("uv")
    base = shutil.which(f"python{lock.minor}") or sys.executable
    make = [uv, "venv", "--quiet", "--python", lock.minor] if uv else [base, "-m", "venv"]
    await _run([*make, str(folder)])
    constraints = folder / "constraints.txt"
    _write(constraints, lock.requirements(name for name in lock.versions if name not in lock.libraries))
    python = str(_python(folder))
    install = (
        [uv, "pip", "install", "--quiet", "--python", python] if uv else [python, "-m", "pip", "install", "--quiet"]
    )
    install += ["--constraint", str(constraints)]
    await _run([*install, *lock.requirements(lock.libraries)])
    _write(constraints, lock.requirements(lock.versions))
    if optional := lock.requirements(await _optional(lock, python)):
        await _install_what_can_be(install, optional)


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
    lines = json.loads(await _run([python, "-c", _OPTIONAL, *lock.libraries]))
    named = (canonical(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines if not _FOR_DEVELOPERS.search(line))
    return [name for name in dict.fromkeys(named) if name in lock.versions and name not in lock.libraries]


async def _run(command: Sequence[str]) -> str:
    """What a command prints.

    Raises:
        MissingMeans: it fails.
    """
    try:
        done = await anyio.run_process(command, check=False)
    except OSError as error:
        raise _failed(str(error)) from error
    if done.returncode != 0:
        raise _failed((done.stderr + b"\n" + done.stdout).decode("utf-8", "replace"))
    return done.stdout.decode("utf-8", "replace")


def _failed(said: str) -> MissingMeans:
    lines = [line.strip(" \t╰─▶×") for line in said.splitlines()]
    telling = [place for why in _WHY for place, line in enumerate(lines) if why in line]
    first = telling[0] if telling else len(lines) - 1
    told = " ".join(line.removeprefix("ERROR: ").removeprefix("error: ") for line in lines[first : first + 2])
    why = clip(_ACCESS.sub("", told), _MOST_TOLD).rstrip(".:") or "no reason was given"
    remedy = "--kernel names an environment of yours, --with NAME==VERSION another version."
    return MissingMeans(f"The recorded environment cannot be built: {why}.", remedy=remedy)


def _override(text: str) -> re.Match[str]:
    found = _PINNED.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"--with takes NAME==VERSION, not {text!r}.", remedy='Write for example --with "networkx==3.2".'
        )
    return found


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
