"""Finds out whether JupyterLab in this environment has our extension, without starting JupyterLab."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_config_path, jupyter_path

from exploracoder_jupyter.core.version import __version__

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
    """Return the JSON object in the file; an empty one if there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
