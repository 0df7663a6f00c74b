"""Where a run was made and where it is executed again: as near as can be had, and what is different about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue, ValidationError

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.settings import Sandbox, Settings
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.runs.recorded.trace_permissions import no_looser
from exploracoder_jupyter.runs.trace_check.check_subject import Subject
from exploracoder_jupyter.runs.trace_check.environment_builder import Lock
from exploracoder_jupyter.trace.needed_packages import canonical, imported, providers

_SHOWN = ("python", "platform", "kernel", "isolation", "branching", "state")
_MOST_NAMED = 3
_INSTALLERS = {"pip", "setuptools", "wheel", "uv"}


def sandbox_like(
    subject: Subject, now: Settings, *, network: bool, kernel: str | None, isolation: str | None = None
) -> Sandbox:
    """The recorded limits and isolation where those of now are not stricter, in a fresh kernel of this machine.

    The network is there only if it is given.

    Only a person names an interpreter by its path: one that a trace names would be started before anything is confined.
    """
    present, known = now.sandbox.model_dump(mode="json"), _sandbox_of(subject)
    kept = {name: value for name, value in no_looser({"sandbox": known}, now)["sandbox"].items() if name in present}
    ours: dict[str, JsonValue] = {"state": "fresh", "network": network}
    ours |= dict.fromkeys(("gateway", "engine_python", "python"))
    if kernel or known.get("gateway") or _path_of_interpreter(subject):  # a kernelspec of another machine is none here
        ours["kernel"] = kernel
    if isolation:
        ours["isolation"] = isolation
    try:
        return Sandbox.model_validate({**present, **kept, **ours})
    except ValidationError:  # of a version that allowed other values
        return Sandbox.model_validate({**present, **ours})


def _sandbox_of(subject: Subject) -> dict[str, JsonValue]:
    recorded = subject.started.settings.get("sandbox")
    return recorded if isinstance(recorded, dict) else {}


def _path_of_interpreter(subject: Subject) -> str:
    """The path of the run's interpreter, where that was named by its path."""
    named = [str(_sandbox_of(subject).get(name) or "") for name in ("kernel", "python")]
    return next((name for name in named if "/" in name or "\\" in name), "")


def described(environment: Environment, libraries: Mapping[str, str]) -> dict[str, JsonValue]:
    """An environment as the report has it: without the list of packages, with the libraries of the task."""
    return {**{name: str(getattr(environment, name)) for name in _SHOWN}, "libraries": {**libraries}}


def versions(subject: Subject, environment: Environment) -> dict[str, str]:
    """The versions of the task's libraries in an environment, by import name; left out where none is known."""
    there = packages(environment)
    found = {info.name: there.get(canonical(info.distribution or info.name), "") for info in subject.libraries}
    return {name: version for name, version in found.items() if version}


def packages(environment: Environment) -> dict[str, str]:
    """The installed distributions by canonical name, with their versions."""
    pairs = (line.partition("==") for line in environment.packages)
    return {canonical(name): version for name, _, version in pairs}


def lock_of(subject: Subject, overrides: Sequence[str]) -> Lock:
    """What an environment as recorded is made of: the task's libraries, and what the executed code imports beside them.

    Raises:
        UsageError: there is no record of packages, an override has a wrong form, or a library came from no index.
    """
    recorded = subject.started.environment
    if not recorded.packages:
        raise UsageError("The trace does not record which packages were installed.", remedy="Leave --env out.")
    named = {canonical(text.partition("==")[0]) for text in overrides}
    unindexed = {*map(canonical, recorded.unindexed)} - named
    known = {name: version for name, version in packages(recorded).items() if name not in unindexed}
    modules = sorted({name for one in subject.executions for name in imported(one.code)})
    libraries = [info.distribution or info.name for info in subject.libraries]
    if apart := [name for name in libraries if canonical(name) in unindexed]:
        raise UsageError(
            f"No package index had {', '.join(apart)}: a folder, an archive or a repository had.",
            remedy="--kernel names an environment that has it, --with NAME==VERSION a version that an index has.",
        )
    beside = [name for module in modules for name in providers(module, known)]
    return Lock.of(recorded.python, map("==".join, known.items()), [*libraries, *beside], overrides)


def differences(subject: Subject, now: Environment, sandbox: Sandbox) -> tuple[str, ...]:
    """What is different about an environment, the task's libraries first."""
    recorded = subject.started.environment
    before, after = {info.name: info.version for info in subject.libraries}, versions(subject, now)
    said = [
        f"{name} {before[name]} -> {after[name]}" for name in after if before.get(name) not in (None, "", after[name])
    ]
    if subject.goes_on:
        said.append("the run is still going on: checked is what it has recorded so far")
    elif not subject.complete:
        said.append("the notebook does not hold the whole run: checked is what the journal beside it tells")
    if recorded.python != now.python:
        said.append(f"Python {recorded.python} -> {now.python}")
    if (level := _level(recorded)) != _level(now):
        said.append(f"isolation {level} -> {_level(now)}")
    if subject.setting("sandbox", "network") and not sandbox.network:
        said.append("the run had the network, the check has not (--network)")
    if subject.setting("sandbox", "gateway"):
        said.append("the run's kernels were on another machine")
    if path := _path_of_interpreter(subject):
        said.append(f"the run's interpreter was {path} (--kernel)")
    said += _lower(_sandbox_of(subject), sandbox)
    return (*said, *_others(recorded, now, {canonical(info.distribution) for info in subject.libraries}))


def _lower(recorded: Mapping[str, JsonValue], sandbox: Sandbox) -> Iterator[str]:
    """The limits that were higher in the run."""
    for name, limit in sandbox:
        before = recorded.get(name)
        if type(before) is int and type(limit) is int and before > limit:
            yield f"{name} {before} -> {limit}"


def _level(environment: Environment) -> str:
    return environment.isolation.partition(":")[0].partition(" (")[0]


def _others(recorded: Environment, now: Environment, told: set[str]) -> list[str]:
    """How many other packages have another version."""
    before, after = packages(recorded), packages(now)
    names = before.keys() & after.keys() - told - _INSTALLERS
    moved = [name for name in sorted(names) if before[name] != after[name]]
    if not moved:
        return []
    shown = ", ".join(f"{name} {before[name]} -> {after[name]}" for name in moved[:_MOST_NAMED])
    more = f" and {len(moved) - _MOST_NAMED} more" if len(moved) > _MOST_NAMED else ""
    return [f"of other packages {shown}{more}"]
