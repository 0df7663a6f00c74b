"""Prevents a trace from escalating permissions.

A trace may come from an untrusted source: an endpoint that it names would receive the keys of this account, an
interpreter that it names would be started, and files that it names would be sent to a model. So such recorded settings
take effect only if they are also set now, and settings that are stricter now stay in force.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sections import Sharing
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.trace.redaction import local_homes

_LESS_STRICT_SHARING: dict[Sharing, tuple[Sharing, ...]] = {
    "values": (),
    "schema": ("values",),
    "none": ("values", "schema"),
}
_INTERPRETERS = ("kernel", "python")
_LIMITS = ("memory_mb", "cpu_seconds", "processes", "open_files", "file_mb", "output_kb", "copy_mb")


def refuse_escalation(recorded: Layer, now: Settings, *, address_allowed: bool = False) -> None:
    """Refuse recorded settings that allow more than the current ones.

    `address_allowed`: whether the user has approved the endpoint that they name.

    Raises:
        UsageError: they allow more; the remedy names the options that permit it.
    """
    # also for an endpoint on this machine, where any program may listen
    address = recorded.get("endpoint", {}).get("base_url")
    option = f"--base-url {system.quote(address)}" if isinstance(address, str) and not address_allowed else ""
    flags = " ".join(filter(None, [option, *_needed_options(recorded, now)]))
    if option and flags == option:
        raise UsageError(
            f"The endpoint {recorded['endpoint']['base_url']} is named only by the trace, so nothing is sent there.",
            remedy=f"To send it the task, code, outputs and your API key, add: {flags}",
        )
    if flags:
        raise UsageError(
            "That run had more permissions than your current settings allow, and a trace cannot grant permissions.",
            remedy=f"To allow them, add: {flags}",
        )


def restrict_to_current(recorded: Layer, now: Settings) -> Layer:
    """Remove recorded settings that would share more, isolate less or allow more than the current ones."""
    endpoint, sandbox = (dict(recorded.get(name, {})) for name in ("endpoint", "sandbox"))
    if endpoint.get("share") in _LESS_STRICT_SHARING[now.endpoint.share]:
        del endpoint["share"]
    for name in _looser_settings(sandbox, now):
        sandbox.pop(name, None)
    for name in _INTERPRETERS:  # a recorded path may have a redacted home folder, so the same current one is used
        value = sandbox.get(name)
        if isinstance(value, str) and _is_path(value) and _is_current_interpreter(name, value, now):
            del sandbox[name]
    return {**recorded, "endpoint": endpoint, "sandbox": sandbox}


def changed_interpreters(recorded: Layer, now: Settings) -> Iterator[str]:
    """Yield options for the interpreters that recorded settings name by path, if they differ from the current ones."""
    for name in _INTERPRETERS:
        value = recorded.get("sandbox", {}).get(name)
        if not isinstance(value, str) or (name == "kernel" and not _is_path(value)):
            continue
        if not _is_current_interpreter(name, value, now):
            path = f"{Path.home()}{value[1:]}" if value.startswith("~/") else value
            yield f"--{name} {system.quote(path)}"


def _looser_settings(sandbox: dict[str, JsonValue], now: Settings) -> Iterator[str]:
    if now.sandbox.isolation == "require":
        yield "isolation"
    if sandbox.get("branching") == "fork":
        yield "branching"
    if any(_added_read_paths(sandbox, now)):
        yield "allow_read"
    for name in _LIMITS:
        value, limit = sandbox.get(name), getattr(now.sandbox, name)
        if isinstance(value, int | float) and value > limit:
            yield name


def _is_current_interpreter(name: str, recorded: str, now: Settings) -> bool:
    return _same_path(recorded, getattr(now.sandbox, name) or sys.executable)


def _added_read_paths(sandbox: Mapping[str, JsonValue], now: Settings) -> Iterator[str]:
    paths = sandbox.get("allow_read")
    for path in map(str, paths if isinstance(paths, list) else ()):
        if not any(_same_path(path, one) for one in now.sandbox.allow_read):
            yield path


def _needed_options(recorded: Layer, now: Settings) -> Iterator[str]:
    sandbox = recorded.get("sandbox", {})
    gateway = sandbox.get("gateway")
    if isinstance(gateway, str) and gateway != now.sandbox.gateway:
        yield f"--gateway {system.quote(gateway)}"
    if sandbox.get("network") and not now.sandbox.network:
        yield "--network"
    for path in _added_read_paths(sandbox, now):
        yield f"--allow-read {system.quote(path)}"
    yield from changed_interpreters(recorded, now)
    retrieval = recorded.get("retrieval", {})
    web, place = retrieval.get("web"), retrieval.get("web_address")
    unchanged = web in (None, now.retrieval.web) and (
        place is None or _same_path(str(place), now.retrieval.web_address)
    )
    if (web or place) and web != "off" and not unchanged:
        yield f"--web {system.quote(str(place or web))}"
    folder = retrieval.get("embedding_folder")
    if isinstance(folder, str) and not _same_path(folder, now.retrieval.embedding_folder):
        yield f"--embedding-folder {system.quote(folder)}"
    docs = retrieval.get("docs")
    for path in map(str, docs if isinstance(docs, list) else ()):
        if not any(_same_path(path, one) for one in now.retrieval.docs):
            yield f"--docs {system.quote(path)}"
    if retrieval.get("workspace") and not now.retrieval.workspace:
        yield "--workspace"


def _same_path(recorded: str, now: str | None) -> bool:
    """Whether both are the same path; the recorded one may have a redacted home folder."""
    return now is not None and recorded in (now, local_homes().redact(now))


def _is_path(name: str) -> bool:
    return "/" in name or "\\" in name or name.startswith("~")
