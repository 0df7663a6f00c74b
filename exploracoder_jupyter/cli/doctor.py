"""`jupyter explora doctor`: tests the installation, and reports problems with their remedies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import print_json, print_result

if TYPE_CHECKING:
    from pydantic import JsonValue


def execute(arguments: argparse.Namespace) -> int:
    """Test endpoint, sibling kernels and isolation, and print a report. Returns the exit status: 1 for problems."""
    import anyio

    from exploracoder_jupyter import runs

    with redirect_stdout(sys.stderr):
        found: dict[str, JsonValue] = anyio.run(runs.diagnose)
    if arguments.json:
        print_json(found)
    else:
        print_result(format_report(found))
    return 1 if found["problems"] else 0


def format_report(found: Mapping[str, JsonValue]) -> str:
    """Format the findings as text."""
    plugins = found.get("plugins")
    facts = {name: _format_value(value) for name, value in found.items() if name not in ("problems", "plugins")}
    if isinstance(plugins, dict):
        facts |= {group: _format_plugins(known) for group, known in plugins.items()}
    lines = [f"{name + ':':<13} {value}" for name, value in facts.items()]
    problems = found["problems"]
    if isinstance(problems, list) and problems:
        lines += ["", "Problems:"]
        lines += [f"- {one['what']} {one['remedy']}" if isinstance(one, dict) else f"- {one}" for one in problems]
    else:
        lines += ["", "No problems were found."]
    return "\n".join(lines)


def _format_plugins(known: JsonValue) -> str:
    names: dict[str, list[str]] = {}
    for plugin in known if isinstance(known, list) else ():
        if isinstance(plugin, dict):
            names.setdefault(f"{plugin['distribution']} {plugin['version']}", []).append(str(plugin["name"]))
    return "; ".join(f"{', '.join(own)} ({origin})" for origin, own in names.items()) or "none"


def _format_value(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_format_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(_format_value(inner) for inner in value) or "none"
    return {True: "yes", False: "no", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)
