"""Chooses an environment for re-execution that is close to the recorded one, and describes the differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.runs.recorded.trace_permissions import restrict_to_current
from exploracoder_jupyter.runs.trace_check.checked_trace import Subject
from exploracoder_jupyter.runs.trace_check.environment_builder import Lock
from exploracoder_jupyter.trace.module_distributions import imported_modules, providing_distributions

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
