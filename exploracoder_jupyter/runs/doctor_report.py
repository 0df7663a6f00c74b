"""Diagnoses the installation by trying everything, for `doctor --json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Layer, read_secrets, resolve, unknown_variables
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.llm.endpoint.endpoint_probe import probe
from exploracoder_jupyter.runs.construction.model_factory import is_offline, model_plugin
from exploracoder_jupyter.runs.labextension_lookup import find_labextension
from exploracoder_jupyter.runs.plugin_diagnosis import diagnose_plugins

Problems = list[dict[str, str]]

_FULL_ISOLATION = ("bubblewrap", "namespaces")
"""Prefixes of the descriptions of full isolation."""


async def diagnose(layers: Sequence[Layer] = ()) -> dict[str, JsonValue]:
    """Try the endpoint, start a sibling kernel, and return the findings."""
    settings = resolve(*layers)
    problems: Problems = [{"what": problem, "remedy": remedy} for problem, remedy in unknown_variables()]
    endpoint = await _diagnose_endpoint(settings, problems)
    siblings = await _diagnose_siblings(settings, problems)
    return {
        "endpoint": endpoint,
        **siblings,
        "labextension": _diagnose_labextension(problems),
        "plugins": await diagnose_plugins(settings, problems),
        "problems": [dict(problem) for problem in problems],
    }


async def _diagnose_endpoint(settings: Settings, problems: Problems) -> str:
    if is_offline(settings.endpoint):
        return f"none configured: the embedded model `{OFFLINE}` is used; `jupyter explora setup` configures another"
    if plugin := model_plugin(settings.endpoint):
        return f"not used: the model `{plugin.name}` of {plugin.origin} is used"
    found = await probe(settings.endpoint, read_secrets())
    if found.remedy:
        remedy = f"{found.remedy} Or let `jupyter explora setup` find another model."
        problems.append({"what": found.sentence, "remedy": remedy})
    return found.sentence


def _diagnose_labextension(problems: Problems) -> str:
    status, remedy = find_labextension()
    if remedy:
        problems.append({"what": f"The JupyterLab extension is {status}.", "remedy": remedy})
    return status


async def _diagnose_siblings(settings: Settings, problems: Problems) -> dict[str, JsonValue]:
    """Find out how experiments would run, by actually starting siblings and a branch."""
    try:
        async with open_siblings(settings.sandbox, workdir=Path.cwd()) as siblings:
            await siblings.root()
            found = siblings.environment()
    except ExploraError as error:
        problems.append({"what": error.message, "remedy": error.remedy})
        return {"branching": "none", "isolation": "no sibling kernel could be started", "state": "none"}
    if not found.isolation.startswith(_FULL_ISOLATION):
        what = f"Experiments are isolated by {found.isolation}."
        problems.append({"what": what, "remedy": "Install bubblewrap (Debian: apt-get install bubblewrap)."})
    return {"branching": found.branching, "isolation": found.isolation, "state": _describe_states(found)}


def _describe_states(found: Environment) -> str:
    """Describe where experiments may start: where siblings can be forked, a notebook's kernel can be too."""
    if found.branching == "fork":
        return "fresh; in a notebook also live, if nothing in its kernel prevents it"
    return found.state or "fresh"
