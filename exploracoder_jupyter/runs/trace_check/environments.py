"""Chooses or builds an environment for re-execution that is close to the recorded one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO

import anyio
from anyio import to_thread
from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.secrets.secret_patterns import replace_user_info
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.kernels.processes.process_tree import ProcessTree
from exploracoder_jupyter.runs.trace_check.checked_trace import Subject
from exploracoder_jupyter.runs.trace_permissions import restrict_to_current
from exploracoder_jupyter.trace.markdown import clip
from exploracoder_jupyter.trace.reading import (
    PINNED,
    imported_modules,
    optional_requirements,
    parse_versions,
    providing_distributions,
)

# Builds the environment recorded in a trace: the task's libraries at their versions, with their dependencies.
#
# Environments are created by uv if it is installed, else by venv, in a folder of the user's cache named by a hash
# of the content, so that later checks reuse it. A folder is moved into place when it is complete. Packages are
# installed by pip, and by uv only if pip is missing: uv does not read pip's configuration, and would ask PyPI for
# packages that only a private index has.

_THIS_PACKAGE = "exploracoder-jupyter"
_MINOR = re.compile(r"\d+\.\d+")
_ISOLATED = ("-I", "-m")
"""Isolated mode: with an untrusted trace, the current folder must not be on the module search path."""
_MAX_SHOWN = 300
_UNREACHED = re.compile(r"after connection broken by|error sending request|dns error|Connection refused")
_REASON_MARKERS = ("No matching distribution", "No solution found", "ERROR", "error")
"""Markers of the lines in which installers report a reason, the most specific first."""
_LIST_REQUIREMENTS = """
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
    """The content of an environment."""

    python: str
    """Version of the interpreter, as recorded."""
    versions: Mapping[str, str]
    """Versions of all recorded packages, by canonical name."""
    libraries: tuple[str, ...]
    """Canonical names of the distributions to install, with their dependencies."""

    @classmethod
    def of(cls, python: str, packages: Iterable[str], libraries: Iterable[str], overrides: Sequence[str]) -> Lock:
        """Create a lock from recorded `name==version` lines and overrides.

        Libraries that are not among the lines are omitted: an index may have another package with that name.

        Raises:
            UsageError: an override is malformed, or the version of Python is unknown.
        """
        if not _MINOR.match(python):
            raise UsageError("The trace does not record the version of Python.", remedy="Omit --env.")
        for text in overrides:
            if PINNED.fullmatch(text.strip()) is None:
                remedy = 'For example: --with "networkx==3.2"'
                raise UsageError(f"--with takes NAME==VERSION, not {text!r}.", remedy=remedy)
        replaced = parse_versions(text.strip() for text in overrides)
        versions = {**parse_versions(packages), **replaced}
        versions.pop(_THIS_PACKAGE, None)
        wanted = [*(name for name in map(normalize_name, libraries) if name in versions), *replaced, "ipykernel"]
        return cls(python, versions, tuple(dict.fromkeys(wanted)))

    @property
    def minor(self) -> str:
        """The version of the interpreter without its last number: `3.11`."""
        found = _MINOR.match(self.python)
        return found[0] if found else ""

    @property
    def digest(self) -> str:
        """A hash of the content, used as the name of the environment."""
        content = json.dumps([self.minor, sorted(self.versions.items()), sorted(self.libraries), sys.platform])
        return blake2b(content.encode(), digest_size=10).hexdigest()

    def requirements(self, names: Iterable[str]) -> list[str]:
        """Return the requirements of these packages for an installer."""
        return [f"{name}=={self.versions[name]}" if name in self.versions else name for name in names]


async def build_environment(lock: Lock, cache: Path, advance: Callable[[str, int, int], None]) -> Path:
    """Return the interpreter of the environment with this content, and build it if it does not exist.

    Raises:
        MissingRequirement: the environment cannot be built; the message has the installer's reason.
    """
    place = cache / lock.digest
    if not _python_in(place).exists():
        advance("Building the recorded environment", 0, 0)
        await _build(lock, place)
    return _python_in(place)


async def _build(lock: Lock, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=f"{place.name}-", dir=place.parent))
    try:
        await _install_all(lock, draft)
        if place.exists() and not _python_in(place).exists():  # its interpreter is missing
            await to_thread.run_sync(shutil.rmtree, place)
        with suppress(OSError):  # another process has built it in the meantime
            draft.rename(place)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(lambda: shutil.rmtree(draft, ignore_errors=True))


async def _install_all(lock: Lock, folder: Path) -> None:
    uv = shutil.which("uv")
    create = [shutil.which(f"python{lock.minor}") or sys.executable, *_ISOLATED, "venv", "--without-pip"]
    if uv:
        create = [uv, "venv", "--quiet", "--python", lock.minor]
    await _run([*create, str(folder)])
    constraints = folder / "constraints.txt"
    _write(constraints, lock.requirements(name for name in lock.versions if name not in lock.libraries))
    python = str(_python_in(folder))
    if find_spec("pip"):
        install = [sys.executable, *_ISOLATED, "pip", "--python", python, "install", "--quiet"]
    elif uv:
        install = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        raise _build_error("neither pip nor uv is installed")
    install += ["--constraint", str(constraints)]
    await _run([*install, *lock.requirements(lock.libraries)])
    _write(constraints, lock.requirements(lock.versions))
    # optional dependencies of the libraries that the run had installed, because results may depend on them
    lines = json.loads(await _run([python, "-I", "-c", _LIST_REQUIREMENTS, *lock.libraries]))
    names = [name for name in optional_requirements(lines) if name in lock.versions and name not in lock.libraries]
    if optional := lock.requirements(names):
        await _install_each(install, optional)


def _write(path: Path, requirements: Iterable[str]) -> None:
    path.write_text("\n".join([*requirements, ""]), encoding="utf-8")


async def _install_each(install: Sequence[str], requirements: Sequence[str]) -> None:
    """Install all of these, or one by one if that fails. Code that needs a missing one will report it."""
    try:
        await _run([*install, *requirements])
    except MissingRequirement:
        for requirement in requirements:
            with suppress(MissingRequirement):
                await _run([*install, requirement])


async def _run(command: Sequence[str]) -> str:
    with TemporaryFile() as stdout, TemporaryFile() as stderr:
        try:
            process = await anyio.open_process(
                command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
            )
        except OSError as error:
            raise _build_error(str(error)) from error
        try:
            status = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    await ProcessTree(process.pid).end(root_follows=False)
                await process.aclose()
        if status != 0:
            raise _build_error(f"{_read_all(stderr)}\n{_read_all(stdout)}")
        return _read_all(stdout)


def _read_all(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _build_error(log: str) -> MissingRequirement:
    lines = [line.strip(" \t╰─▶×") for line in log.splitlines()]
    matches = [place for marker in _REASON_MARKERS for place, line in enumerate(lines) if marker in line]
    first = matches[0] if matches else len(lines) - 1
    text = " ".join(line.removeprefix("ERROR: ").removeprefix("error: ") for line in lines[first : first + 2])
    why = clip(replace_user_info(text), _MAX_SHOWN).rstrip(".:") or "no reason was given"
    unreached = " (a package index could not be reached)" if _UNREACHED.search(log) else ""
    remedy = "Use another environment with --kernel, or another version with --with NAME==VERSION."
    return MissingRequirement(f"The recorded environment cannot be built: {why}{unreached}.", remedy=remedy)


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


# Chooses an environment for re-execution that is close to the recorded one, and describes the differences.

_REPORTED_FIELDS = ("python", "platform", "kernel", "isolation", "branching", "state")
_SANDBOX = TypeAdapter(Sandbox)
_MAX_LISTED = 3
_INSTALLERS = {"pip", "setuptools", "wheel", "uv"}


def matching_sandbox(
    subject: Subject, now: Settings, *, network: bool, kernel: str | None, isolation: str | None = None
) -> Sandbox:
    """Return sandbox settings for a fresh kernel of this machine.

    Recorded limits and isolation apply unless the current ones are stricter. The network is available only if `network`
    is true. An interpreter that the trace names by path is ignored, since it would be started before any isolation.
    """
    current, recorded = asdict(now.sandbox), subject.sandbox
    allowed = restrict_to_current({"sandbox": recorded}, now)["sandbox"]
    adopted = {name: value for name, value in allowed.items() if name in current}
    forced: dict[str, JsonValue] = {"state": "fresh", "network": network}
    forced |= dict.fromkeys(("gateway", "engine_python", "python"))
    # a kernelspec of another machine does not exist here
    if kernel or recorded.get("gateway") or _interpreter_path(subject):
        forced["kernel"] = kernel
    if isolation:
        forced["isolation"] = isolation
    try:
        return _SANDBOX.validate_python({**current, **adopted, **forced})
    except ValidationError:  # recorded by a version that allowed other values
        return _SANDBOX.validate_python({**current, **forced})


def _interpreter_path(subject: Subject) -> str:
    values = [str(subject.sandbox.get(name) or "") for name in ("kernel", "python")]
    return next((value for value in values if "/" in value or "\\" in value), "")


def describe_environment(environment: Environment, libraries: Mapping[str, str]) -> dict[str, JsonValue]:
    """Describe an environment for the report: without the list of packages, with the libraries of the task."""
    return {**{name: str(getattr(environment, name)) for name in _REPORTED_FIELDS}, "libraries": {**libraries}}


def library_versions(subject: Subject, environment: Environment) -> dict[str, str]:
    """Return the known versions of the task's libraries in an environment, by import name."""
    installed = installed_versions(environment)
    found = {info.name: installed.get(normalize_name(info.distribution or info.name), "") for info in subject.libraries}
    return {name: version for name, version in found.items() if version}


def installed_versions(environment: Environment) -> dict[str, str]:
    """Return the versions of installed distributions by canonical name."""
    pairs = (line.partition("==") for line in environment.packages)
    return {normalize_name(name): version for name, _, version in pairs}


def lock_of(subject: Subject, overrides: Sequence[str]) -> Lock:
    """Return the content of the recorded environment: the task's libraries, and what else the executed code imports.

    Raises:
        UsageError: no packages are recorded, an override is malformed, or a library did not come from an index.
    """
    recorded = subject.started.environment
    if not recorded.packages:
        raise UsageError("The trace does not record which packages were installed.", remedy="Omit --env.")
    overridden = {normalize_name(text.partition("==")[0]) for text in overrides}
    unindexed = {*map(normalize_name, recorded.unindexed)} - overridden
    indexed = {name: version for name, version in installed_versions(recorded).items() if name not in unindexed}
    modules = sorted({name for one in subject.executions for name in imported_modules(one.code)})
    libraries = [info.distribution or info.name for info in subject.libraries]
    if local := [name for name in libraries if normalize_name(name) in unindexed]:
        raise UsageError(
            f"{', '.join(local)} came from a folder, an archive or a repository, not from a package index.",
            remedy="Use an environment that has it with --kernel, or an indexed version with --with NAME==VERSION.",
        )
    others = [name for module in modules for name in providing_distributions(module, indexed)]
    return Lock.of(recorded.python, map("==".join, indexed.items()), [*libraries, *others], overrides)


def describe_differences(subject: Subject, now: Environment, sandbox: Sandbox) -> tuple[str, ...]:
    """Describe how the current environment differs from the recorded one, the task's libraries first."""
    recorded = subject.started.environment
    before, after = {info.name: info.version for info in subject.libraries}, library_versions(subject, now)
    found = [
        f"{name} {before[name]} -> {after[name]}" for name in after if before.get(name) not in (None, "", after[name])
    ]
    if subject.is_active:
        found.append("the run is still active: only what it has recorded so far is checked")
    elif not subject.complete:
        found.append("the notebook does not contain the whole run: the journal beside it is checked too")
    if recorded.python != now.python:
        found.append(f"Python {recorded.python} -> {now.python}")
    if (level := _isolation_level(recorded)) != _isolation_level(now):
        found.append(f"isolation {level} -> {_isolation_level(now)}")
    if subject.setting("sandbox", "network") and not sandbox.network:
        found.append("the run had network access, the check does not (--network)")
    if subject.setting("sandbox", "gateway"):
        found.append("the run's kernels were on another machine")
    if path := _interpreter_path(subject):
        found.append(f"the run's interpreter was {path} (--kernel)")
    found += [
        f"{name} {limit} -> {now_limit}"
        for name, now_limit in asdict(sandbox).items()
        if type(now_limit) is int and type(limit := subject.sandbox.get(name)) is int and limit > now_limit
    ]
    then, installed = installed_versions(recorded), installed_versions(now)
    others = then.keys() & installed.keys() - {normalize_name(info.distribution) for info in subject.libraries}
    changed = [name for name in sorted(others - _INSTALLERS) if then[name] != installed[name]]
    if changed:
        listed = ", ".join(f"{name} {then[name]} -> {installed[name]}" for name in changed[:_MAX_LISTED])
        more = f" and {len(changed) - _MAX_LISTED} more" if len(changed) > _MAX_LISTED else ""
        found.append(f"other packages: {listed}{more}")
    return tuple(found)


def _isolation_level(environment: Environment) -> str:
    return environment.isolation.partition(":")[0].partition(" (")[0]
