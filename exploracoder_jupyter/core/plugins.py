"""Finds and loads plugins: models, sources, exporters and strategies of this package and of other distributions.

Listing them imports nothing and is cached (`kernel_agent.entry_points`). A plugin is imported when it is used.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from exploracoder_jupyter.core.errors import MissingRequirement, format_error
from exploracoder_jupyter.core.messages import did_you_mean
from exploracoder_jupyter.kernel_agent.entry_points import PACKAGE, Plugin, registered

_EXTRA = re.compile(r"([\w.-]+).*;.*\bextra\s*==\s*['\"]([\w.-]+)['\"]")
"""Matches a requirement of an extra."""


def find(group: str, name: str | None) -> Plugin | None:
    """Return the plugin of this name, if there is one. A built-in one cannot be replaced."""
    return next((plugin for plugin in registered(group) if plugin.name == name), None)


def get(group: str, name: str) -> Any:
    """Load the plugin of this name."""
    plugin = find(group, name)
    if plugin is None:
        known = sorted(plugin.name for plugin in registered(group))
        choices = f"Choose from {', '.join(known)}. " if known else ""
        raise MissingRequirement(
            f"No {_kind(group)} {name!r} is registered.",
            remedy=f"{did_you_mean(name, known)}{choices}"
            f"If it is one of {PACKAGE}'s own, install {PACKAGE} again: its metadata is missing or old.",
        )
    return load(plugin)


def load(plugin: Plugin) -> Any:
    """Import the plugin."""
    try:
        return plugin.load()
    except (Exception, SystemExit) as error:
        raise MissingRequirement(
            f"The {_kind(plugin.group)} {plugin.name!r} of {plugin.origin} cannot be loaded: {format_error(error)}.",
            remedy=_remedy(plugin, error),
        ) from error


def _kind(group: str) -> str:
    return "strategy" if group == "strategies" else group.removesuffix("s")


def _remedy(plugin: Plugin, error: BaseException) -> str:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return f"Report it to the authors of {plugin.distribution}, or uninstall it."
    module = error.name.partition(".")[0]
    extra = _extra_with(plugin.distribution, module)
    return f"Install it: pip install '{plugin.distribution}[{extra}]'." if extra else f"Install {module}."


def _extra_with(distribution: str, module: str) -> str:
    """Return the smallest extra of the distribution that requires a distribution of the module's name, or nothing."""
    from importlib import metadata  # slow to import, and seldom needed

    try:
        requirements = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return ""
    found = [match.groups() for match in map(_EXTRA.match, requirements) if match]
    sizes = Counter(extra for _, extra in found)
    extras = [extra for name, extra in found if _normalize(name) == _normalize(module)]
    return min(extras, key=sizes.__getitem__, default="")


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()
