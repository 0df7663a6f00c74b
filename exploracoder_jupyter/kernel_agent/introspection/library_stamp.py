"""Notices changes of a library whose version does not change: one that is not installed from a wheel."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import json
import os
import sys

from exploracoder_jupyter.kernel_agent.introspection.file_fingerprints import TREE, fingerprints
from exploracoder_jupyter.kernel_agent.introspection.stub_walk import stub_path


def library_stamps(
    module: str, dist: importlib.metadata.Distribution | None, spec: importlib.machinery.ModuleSpec | None
) -> dict[str, str]:
    """Return the states of the library's code, by path; empty if its version identifies its code."""
    if dist and dist.read_text("RECORD") and not _is_editable(dist):
        return {}
    if spec is None:
        path = stub_path(module)
        return fingerprints([path if path.endswith(".pyi") else path + TREE] if path else [])
    if spec.submodule_search_locations:
        return fingerprints(root + TREE for root in spec.submodule_search_locations)
    return fingerprints([spec.origin] if spec.origin and os.path.exists(spec.origin) else [])


def _is_editable(dist: importlib.metadata.Distribution) -> bool:
    origin = dist.read_text("direct_url.json")
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


def metadata_states(dist: importlib.metadata.Distribution | None) -> dict[str, str]:
    """Return the states of the files that describe the distribution, by path."""
    folder = str(getattr(dist, "_path", "")) if dist else ""
    files = [os.path.join(folder, name) for name in ("METADATA", "PKG-INFO", "RECORD", "direct_url.json")]
    return fingerprints([folder, *files] if folder else [])


def is_traceable(top: str, dist: importlib.metadata.Distribution | None) -> bool:
    """Whether all that determines the module's location is known: it is on the path, in Python itself, or editable."""
    if top in sys.builtin_module_names or stub_path(top) or importlib.machinery.PathFinder.find_spec(top):
        return True
    return top in sys.stdlib_module_names or bool(dist and _is_editable(dist))
