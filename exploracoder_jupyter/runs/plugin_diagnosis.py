"""Lists all registered plugins for `doctor`, and tries to load them.

Summarizers are those of the interpreter in which experiments run; the others are imported by the engine.
"""

from __future__ import annotations

import json
from contextlib import suppress

from pydantic import JsonValue

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.kernel_agent.plugin_registry import GROUPS, Plugin, registered
from exploracoder_jupyter.kernels.agent_programs import choose_inspector


async def diagnose_plugins(settings: Settings, problems: list[dict[str, str]]) -> dict[str, JsonValue]:
    """Return the plugins by group, each with its distribution; add those that cannot be loaded to the problems.

    A built-in one whose extra is not installed is no problem: it names the extra when it is used.
    """
    found = {group: list(registered(group)) for group in GROUPS}
    for plugin in (plugin for group, known in found.items() if group != "summarizers" for plugin in known):
        try:
            plugins.load(plugin)
        except ExploraError as error:
            if not (
                plugin.built_in and isinstance(error.__cause__, ModuleNotFoundError)
            ):  # an extra that is not wanted
                problems.append({"what": error.message, "remedy": error.remedy})
    with suppress(ExploraError):  # then no kernel can be started either, which is reported
        found["summarizers"] = await _find_summarizers(settings, problems)
    return {group: [_describe(plugin) for plugin in known] for group, known in found.items()}


async def _find_summarizers(settings: Settings, problems: list[dict[str, str]]) -> list[Plugin]:
    """List the summarizers in the interpreter of the siblings."""
    lines = [line async for line in choose_inspector(settings.sandbox)("plugin_registry", ())]
    found = [(Plugin(*fields), problem) for *fields, problem in json.loads("".join(lines))]
    for plugin, problem in found:
        if problem:
            what = f"The summarizer {plugin.name!r} of {plugin.origin} cannot be loaded: {problem}."
            problems.append({"what": what, "remedy": "Install what it needs where experiments run, or uninstall it."})
    return [plugin for plugin, _ in found]


def _describe(plugin: Plugin) -> JsonValue:
    return {"name": plugin.name, "distribution": plugin.distribution, "version": plugin.version}
