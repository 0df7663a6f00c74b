"""Finds the documentation that a distribution contains: README, example programs and guides."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import os
import re
from typing import Any

MAX_PROGRAMS = 40
MAX_PROGRAM = 12_000
MAX_README = 60_000
EXAMPLE_FILE = re.compile(
    r"(^|/)(examples?|gallery|demos?|tutorials?)/(?!setup\.py|conf\.py)[^_/][^/]*(/[^/_]+)?\.py$", re.IGNORECASE
)
MAX_GUIDES = 12
GUIDE_FILE = re.compile(
    r"(?!licen|notice|copying|authors|change|history|news|contribut|requirements|todo).*\.(md|rst|txt)$", re.I
)
SKILL_FOLDER = os.path.join(".agents", "skills")
GUIDE_FOLDER = re.compile(r"docs?|guides?|documentation|reference|tutorials?", re.I)


def shipped_documents(
    dist: importlib.metadata.Distribution | None, spec: importlib.machinery.ModuleSpec | None
) -> dict[str, Any]:
    """Return README text, example programs and guides of a distribution, and of the package of `spec`."""
    guides = _guides(spec)
    if dist is None:
        return {"readme": "", "programs": [], "guides": guides}
    readme = dist.metadata.get("Description") or dist.metadata.get_payload() or ""  # type: ignore[attr-defined]
    shipped = sorted((path for path in dist.files or () if EXAMPLE_FILE.search(str(path))), key=str)
    steps = range(min(len(shipped), 3 * MAX_PROGRAMS))  # at even distances, so that they come from all folders
    spread = [shipped[step * len(shipped) // len(steps)] for step in steps]
    texts = [_read(str(dist.locate_file(path))) for path in spread]
    programs = [text for text in texts if text and len(text) <= MAX_PROGRAM]
    return {"readme": str(readme)[:MAX_README], "programs": programs[:MAX_PROGRAMS], "guides": guides}


def _guides(spec: importlib.machinery.ModuleSpec | None) -> list[tuple[str, str]]:
    """Return name and text of the documents in the package's folder and in its folders of documentation.

    Guides for agents come first: they are written for exactly this version. They are documents like the others.
    """
    roots = list((spec and spec.submodule_search_locations) or ())
    found = []
    for folder, _, files in os.walk(os.path.join(roots[0], SKILL_FOLDER)) if roots else ():
        found += [os.path.join(folder, name) for name in files if name == "SKILL.md"]
    found.sort()
    for folder, folders, files in os.walk(roots[0]) if roots else ():
        folders[:] = sorted(name for name in folders if GUIDE_FOLDER.fullmatch(name))
        found += [os.path.join(folder, name) for name in sorted(files) if GUIDE_FILE.match(name)]
    texts = [(os.path.relpath(path, roots[0]), _read(path, MAX_README)) for path in found[:MAX_GUIDES]]
    return [(path.replace(os.sep, "/"), text) for path, text in texts if text.strip()]


def _read(path: str, most: int = MAX_PROGRAM + 1) -> str:
    try:
        with open(path, encoding="utf-8-sig") as stream:
            return stream.read(most)
    except (OSError, ValueError):
        return ""
