"""Summarizers of other distributions, registered as entry points named after the package whose values they describe.

A plugin is imported in the forked child that summarizes such a value (`forked_probe`), and nowhere else: whatever it
does ends with the child and counts against its time. It describes types for which there is no built-in describer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Protocol

from exploracoder_jupyter.kernel_agent.entry_points import Plugin, registered, search_path
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.objects import python_objects
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Describe, Fact
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

PlainFact = str | tuple[Any, ...]
"""The fields of a `Fact`: `("3 gauges",)`, `("max 2.1", True)`. A string alone counts as data."""


class PluginSummarizer(Protocol):
    """What an entry point in the group `exploracoder_jupyter.summarizers` refers to; a module may be one."""

    describers: Mapping[str, Callable[[Any, SummaryOptions], Iterable[PlainFact]]]
    """By top-level package and class name, such as `tidebook.Ledger`. The first fact follows the type on its line."""


@cache
def find_plugins() -> tuple[list[str], dict[str, list[Plugin]]]:
    """Return the import path for plugins, and the plugins by package, as they are at the first call.

    Must be called before any code that a model wrote runs.
    """
    found: dict[str, list[Plugin]] = {}
    for plugin in registered("summarizers"):
        if not plugin.built_in:
            found.setdefault(plugin.name, []).append(plugin)
    return search_path(), found


def find_describer(value: Any) -> Describe | None:
    """Return a plugin's describer for the value's type or its nearest base class, unless a built-in one is as near.

    Imports the plugin: for forked children only.
    """
    paths, plugins = find_plugins()
    for name, _ in summarizer_registry.qualified_names(type(value)):
        if summarizer_registry.is_known(name):
            return None
        for plugin in plugins.get(name.partition(".")[0], ()):
            sys.path[:] = paths  # a file in the working directory must not be imported instead
            try:
                describe = plugin.load().describers.get(name)
            except Exception as error:
                return partial(_describe_failure, plugin, error)
            if describe:
                return partial(_describe, describe)
    return None


def _describe(
    describe: Callable[[Any, SummaryOptions], Iterable[PlainFact]], value: Any, options: SummaryOptions
) -> Iterator[Fact]:
    for fact in describe(value, options):
        yield Fact(fact, shows=True) if isinstance(fact, str) else Fact(*fact)


def _describe_failure(plugin: Plugin, error: Exception, value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"the summarizer {plugin.name!r} of {plugin.origin} cannot be loaded: {type(error).__name__}")
    yield from python_objects.describe(value, options)
