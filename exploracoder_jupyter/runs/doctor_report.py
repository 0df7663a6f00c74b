"""Diagnoses the installation by trying everything, for `doctor --json`."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_config_path, jupyter_path
from pydantic import JsonValue

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import read_secrets, resolve, unknown_variables
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.kernel_agent.entry_points import GROUPS, Plugin, registered
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.agent import choose_inspector
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import remedy_for_isolation
from exploracoder_jupyter.llm.endpoint.discovery import probe
from exploracoder_jupyter.runs.factories import is_offline, model_plugin

Problems = list[dict[str, str]]

_FULL_ISOLATION = ("bubblewrap", "namespaces")
"""Prefixes of the descriptions of full isolation."""


async def diagnose() -> dict[str, JsonValue]:
    """Try the endpoint, start a sibling kernel, and return the findings."""
    settings = resolve()
    problems: Problems = [{"what": problem, "remedy": remedy} for problem, remedy in unknown_variables()]
    endpoint = await _diagnose_endpoint(settings, problems)
    siblings = await _diagnose_siblings(settings, problems)
    labextension, remedy = find_labextension()
    if remedy:
        problems.append({"what": f"The JupyterLab extension is {labextension}.", "remedy": remedy})
    return {
        "endpoint": endpoint,
        **siblings,
        "labextension": labextension,
        "plugins": await diagnose_plugins(settings, problems),
        "problems": [dict(problem) for problem in problems],
    }


async def _diagnose_endpoint(settings: Settings, problems: Problems) -> str:
    if is_offline(settings.endpoint):
        return f"none configured: the embedded model `{OFFLINE}` is used; `jupyter explora setup` configures another"
    if plugin := model_plugin(settings.endpoint):
        return f"not used: the model `{plugin.name}` of {plugin.origin} is used"
    found = await probe(settings.endpoint, read_secrets(base_url=settings.endpoint.base_url))
    if found.remedy:
        remedy = f"{found.remedy} Or let `jupyter explora setup` find another model."
        problems.append({"what": found.sentence, "remedy": remedy})
    return found.sentence


async def _diagnose_siblings(settings: Settings, problems: Problems) -> dict[str, JsonValue]:
    try:
        async with open_siblings(settings.sandbox, workdir=Path.cwd()) as siblings:
            await siblings.root()
            found = siblings.environment()
    except ExploraError as error:
        problems.append({"what": error.message, "remedy": error.remedy})
        return {"branching": "none", "isolation": "no sibling kernel could be started", "state": "none"}
    if not found.isolation.startswith(_FULL_ISOLATION):
        what = f"Experiments are isolated by {found.isolation}."
        problems.append({"what": what, "remedy": remedy_for_isolation()})
    # where siblings can be forked, a notebook's kernel can be too
    forked = "fresh; in a notebook also live, if nothing in its kernel prevents it"
    state = forked if found.branching == "fork" else found.state or "fresh"
    return {"branching": found.branching, "isolation": found.isolation, "state": state}


NAME = "exploracoder-jupyter"
_FRONT_ENDS = ("jupyterlab", "notebook")


def find_labextension() -> tuple[str, str]:
    """Describe the status of the extension, and a remedy, which is empty if all is well."""
    found = next((path for path in jupyter_path("labextensions") if Path(path, NAME, "package.json").is_file()), None)
    if found is None:
        if not any(find_spec(name) for name in _FRONT_ENDS):
            return "not checked: JupyterLab is not in this environment", ""
        return "not installed: the panel in the output area is used", (
            "Install exploracoder-jupyter into the environment of JupyterLab, and reload the page."
        )
    version = _read_json(Path(found, NAME, "package.json")).get("version")
    if _is_disabled():
        return "installed, but disabled", f"Enable it: jupyter labextension enable {NAME}"
    if version != __version__:
        return f"installed and enabled, version {version}, while this package is {__version__}", (
            "Install the same version of exploracoder-jupyter for JupyterLab and for the kernel."
        )
    return f"installed and enabled, in {found}", ""


def _is_disabled() -> bool:
    """Whether the extension or one of its plugins is disabled; earlier configuration folders take precedence."""
    merged: dict[str, Any] = {}
    for folder in reversed(jupyter_config_path()):
        disabled = _read_json(Path(folder, "labconfig", "page_config.json")).get("disabledExtensions", {})
        merged |= disabled if isinstance(disabled, dict) else dict.fromkeys(disabled, True)
    return any(off for name, off in merged.items() if name == NAME or name.startswith(f"{NAME}:"))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


async def diagnose_plugins(settings: Settings, problems: list[dict[str, str]]) -> dict[str, JsonValue]:
    """Return the plugins by group, each with its distribution; add those that cannot be loaded to the problems.

    A built-in one whose extra is not installed is not a problem: it names the extra when it is used.
    """
    found = {group: list(registered(group)) for group in GROUPS}
    for plugin in (plugin for group, known in found.items() if group != "summarizers" for plugin in known):
        try:
            plugins.load(plugin)
        except ExploraError as error:
            is_unwanted_extra = plugin.built_in and isinstance(error.__cause__, ModuleNotFoundError)
            if not is_unwanted_extra:
                problems.append({"what": error.message, "remedy": error.remedy})
    with suppress(ExploraError):  # then no kernel can be started either, which is reported
        found["summarizers"] = await _find_summarizers(settings, problems)
    return {
        group: [{"name": one.name, "distribution": one.distribution, "version": one.version} for one in known]
        for group, known in found.items()
    }


async def _find_summarizers(settings: Settings, problems: list[dict[str, str]]) -> list[Plugin]:
    lines = [line async for line in choose_inspector(settings.sandbox)("entry_points", ())]
    found = [(Plugin(*fields), problem) for *fields, problem in json.loads("".join(lines))]
    for plugin, problem in found:
        if problem:
            what = f"The summarizer {plugin.name!r} of {plugin.origin} cannot be loaded: {problem}."
            problems.append({"what": what, "remedy": "Install what it needs where experiments run, or uninstall it."})
    return [plugin for plugin, _ in found]
