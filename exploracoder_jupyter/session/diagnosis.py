"""What works here, found by trying it: the object of `doctor --json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.config import OFFLINE, Layer, Settings, resolve, secrets
from exploracoder_jupyter.errors import ExploraError
from exploracoder_jupyter.execution import RerunSiblings
from exploracoder_jupyter.models import probe
from exploracoder_jupyter.session.parts import is_offline

Problems = list[dict[str, str]]


async def diagnose(layers: Sequence[Layer] = ()) -> dict[str, JsonValue]:
    """Try the endpoint, start a sibling, and say what was found."""
    settings = resolve(*layers)
    problems: Problems = []
    endpoint = await _endpoint(settings, problems)
    isolation, branching = await _siblings(settings, problems)
    return {
        "endpoint": endpoint,
        "branching": branching,
        "isolation": isolation,
        "labextension": "not part of this version; the panel in the output area is used",
        "problems": [dict(problem) for problem in problems],
    }


async def _endpoint(settings: Settings, problems: Problems) -> str:
    if is_offline(settings.endpoint):
        return f"none configured: the embedded model `{OFFLINE}` answers"
    found = await probe(settings.endpoint, secrets())
    if found.remedy:
        problems.append({"what": found.sentence, "remedy": found.remedy})
    return found.sentence


async def _siblings(settings: Settings, problems: Problems) -> tuple[str, str]:
    try:
        async with RerunSiblings(settings.sandbox, workdir=Path.cwd()) as siblings:
            environment = siblings.environment()
    except ExploraError as error:
        problems.append({"what": error.message, "remedy": error.remedy})
        return "no sibling kernel could be started", "none"
    if not environment.isolation.startswith("bubblewrap"):
        what = f"Experiments are isolated by {environment.isolation}."
        problems.append({"what": what, "remedy": "Install bubblewrap (Debian: apt-get install bubblewrap)."})
    return environment.isolation, environment.branching
