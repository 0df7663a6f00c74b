"""Chooses an environment for re-execution that is close to the recorded one, and describes the differences."""

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
    """Return sandbox settings for a fresh kernel of this machine.

    Recorded limits and isolation apply unless the current ones are stricter. The network is available only if `network`
    is true. An interpreter that the trace names by path is ignored, since it would be started before any isolation.
    """
    current, recorded = now.sandbox.model_dump(mode="json"), _sandbox_of(subject)
    allowed = no_looser({"sandbox": recorded}, now)["sandbox"]
    adopted = {name: value for name, value in allowed.items() if name in current}
    forced: dict[str, JsonValue] = {"state": "fresh", "network": network}
    forced |= dict.fromkeys(("gateway", "engine_python", "python"))
    # a kernelspec of another machine does not exist here
    if kernel or recorded.get("gateway") or _path_of_interpreter(subject):
        forced["kernel"] = kernel
    if isolation:
        forced["isolation"] = isolation
    try:
        return Sandbox.model_validate({**current, **adopted, **forced})
    except ValidationError:  # recorded by a version that allowed other values
        return Sandbox.model_validate({**current, **forced})


def _sandbox_of(subject: Subject) -> dict[str, JsonValue]:
    recorded = subject.started.settings.get("sandbox")
    return recorded if isinstance(recorded, dict) else {}


def _path_of_interpreter(subject: Subject) -> str:
    """Return the run's interpreter if it was named by path, else an empty string."""
    values = [str(_sandbox_of(subject).get(name) or "") for name in ("kernel", "python")]
    return next((value for value in values if "/" in value or "\\" in value), "")


def described(environment: Environment, libraries: Mapping[str, str]) -> dict[str, JsonValue]:
    """Describe an environment for the report: without the list of packages, with the libraries of the task."""
    return {**{name: str(getattr(environment, name)) for name in _SHOWN}, "libraries": {**libraries}}


def versions(subject: Subject, environment: Environment) -> dict[str, str]:
    """Return the known versions of the task's libraries in an environment, by import name."""
    installed = packages(environment)
    found = {info.name: installed.get(canonical(info.distribution or info.name), "") for info in subject.libraries}
    return {name: version for name, version in found.items() if version}


def packages(environment: Environment) -> dict[str, str]:
    """Return the versions of installed distributions by canonical name."""
    pairs = (line.partition("==") for line in environment.packages)
    return {canonical(name): version for name, _, version in pairs}


def lock_of(subject: Subject, overrides: Sequence[str]) -> Lock:
    """Return the content of the recorded environment: the task's libraries, and what else the executed code imports.

    Raises:
        UsageError: no packages are recorded, an override is malformed, or a library did not come from an index.
    """
    recorded = subject.started.environment
    if not recorded.packages:
        raise UsageError("The trace does not record which packages were installed.", remedy="Omit --env.")
    overridden = {canonical(text.partition("==")[0]) for text in overrides}
    unindexed = {*map(canonical, recorded.unindexed)} - overridden
    indexed = {name: version for name, version in packages(recorded).items() if name not in unindexed}
    modules = sorted({name for one in subject.executions for name in imported(one.code)})
    libraries = [info.distribution or info.name for info in subject.libraries]
    if local := [name for name in libraries if canonical(name) in unindexed]:
        raise UsageError(
            f"{', '.join(local)} came from a folder, an archive or a repository, not from a package index.",
            remedy="Use an environment that has it with --kernel, or an indexed version with --with NAME==VERSION.",
        )
    others = [name for module in modules for name in providers(module, indexed)]
    return Lock.of(recorded.python, map("==".join, indexed.items()), [*libraries, *others], overrides)


def differences(subject: Subject, now: Environment, sandbox: Sandbox) -> tuple[str, ...]:
    """Describe how the current environment differs from the recorded one, the task's libraries first."""
    recorded = subject.started.environment
    before, after = {info.name: info.version for info in subject.libraries}, versions(subject, now)
    found = [
        f"{name} {before[name]} -> {after[name]}" for name in after if before.get(name) not in (None, "", after[name])
    ]
    if subject.goes_on:
        found.append("the run is still active: only what it has recorded so far is checked")
    elif not subject.complete:
        found.append("the notebook does not contain the whole run: the journal beside it is checked too")
    if recorded.python != now.python:
        found.append(f"Python {recorded.python} -> {now.python}")
    if (level := _level(recorded)) != _level(now):
        found.append(f"isolation {level} -> {_level(now)}")
    if subject.setting("sandbox", "network") and not sandbox.network:
        found.append("the run had network access, the check does not (--network)")
    if subject.setting("sandbox", "gateway"):
        found.append("the run's kernels were on another machine")
    if path := _path_of_interpreter(subject):
        found.append(f"the run's interpreter was {path} (--kernel)")
    found += _lower(_sandbox_of(subject), sandbox)
    return (*found, *_others(recorded, now, {canonical(info.distribution) for info in subject.libraries}))


def _lower(recorded: Mapping[str, JsonValue], sandbox: Sandbox) -> Iterator[str]:
    """Yield the limits that are lower now than in the run."""
    for name, limit in sandbox:
        before = recorded.get(name)
        if type(before) is int and type(limit) is int and before > limit:
            yield f"{name} {before} -> {limit}"


def _level(environment: Environment) -> str:
    return environment.isolation.partition(":")[0].partition(" (")[0]


def _others(recorded: Environment, now: Environment, reported: set[str]) -> list[str]:
    """Describe which other packages have another version."""
    before, after = packages(recorded), packages(now)
    names = before.keys() & after.keys() - reported - _INSTALLERS
    changed = [name for name in sorted(names) if before[name] != after[name]]
    if not changed:
        return []
    listed = ", ".join(f"{name} {before[name]} -> {after[name]}" for name in changed[:_MOST_NAMED])
    more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    return [f"other packages: {listed}{more}"]
