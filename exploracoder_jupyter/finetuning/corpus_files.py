"""Reads the texts of a corpus: folders, files, installed packages, traces of explorations and stored snippets."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from exploracoder_jupyter.core.configuration.settings_sources import snippets_path
from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.finetuning.sample_splitting import Sample, SourceText
from exploracoder_jupyter.kernel_agent.introspection import installed_libraries
from exploracoder_jupyter.knowledge.sources import SnippetStore
from exploracoder_jupyter.text.folder_files import Limits, iter_files, read_file

_LIMITS: Final = Limits(
    files=100_000,
    folders=100_000,
    entries=10_000_000,
    file_bytes=4_000_000,
    notebook_bytes=64_000_000,
    bytes=4_000_000_000,
    seconds=3600.0,
)
_KINDS: Final = (".py", ".ipynb")
_UNKNOWN: Final = "unknown"
_OWN: Final = "own work"
_LONGEST_LICENCE: Final = 60
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+(?:\s+(?:OR|AND|WITH)\s+[\w.+-]+)*)")
_LICENCE_FILE = re.compile(r"(?i)^(?:licen[cs]e|copying)(?:\.\w+)?$")


def read_corpus(names: Sequence[str]) -> list[SourceText]:
    """Read all texts of these folders, files and installed packages, in a fixed order; UsageError if there is none."""
    found = [source for name in names for source in _read_place(name)]
    if not found and names:
        raise UsageError(
            f"There is no Python file and no notebook in {', '.join(names)}.",
            remedy="Name a folder with .py or .ipynb files, or an installed package.",
        )
    return found


def stored_snippets(libraries: Sequence[str]) -> list[tuple[Sample, str, str]]:
    """Return the stored snippets of these libraries, by import name, each with its path and licence."""
    store = SnippetStore(snippets_path())
    return [
        (Sample(one.snippet.title, one.snippet.code, one.id), "stored snippets", _OWN)
        for one in sorted(store.all(), key=lambda stored: stored.id)
        if one.snippet.library in libraries
    ]


def trace_sample(source: SourceText) -> Sample | None:
    """Return task and solution of a solved exploration, if the file is its trace."""
    if not source.path.endswith(".ipynb") or '"exploracoder_jupyter"' not in source.text:
        return None
    from exploracoder_jupyter.runs.recorded.trace_loader import load_records

    try:
        run = fold_all(load_records(Path(source.path)))
    except ExploraError:
        return None
    solution = run.finished.solution if run.finished and run.finished.verdict.outcome == "solved" else None
    if run.started is None or solution is None or solution.patch:
        return None
    return Sample(run.started.task.text, solution.code, "solution", run.started.task.solution_name)


def _read_place(name: str) -> Iterator[SourceText]:
    path = Path(name)
    if path.is_dir():
        yield from _read_folder(path, str(path), _folder_licence(path))
    elif path.is_file():
        text = read_file(path, _LIMITS)
        if path.suffix not in _KINDS or text is None:
            raise UsageError(f"{name} is not a Python file or notebook.", remedy="Name a .py or .ipynb file.")
        yield _source(str(path), text, _folder_licence(path.parent))
    else:
        yield from _read_package(name)


def _read_folder(folder: Path, shown: str, licence: str, module: str = "") -> Iterator[SourceText]:
    for file in iter_files(folder, _LIMITS):
        if file.path.endswith(_KINDS):
            parts = PurePosixPath(file.path).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            yield _source(f"{shown}/{file.path}", file.text, licence, ".".join([module, *inner]) if module else "")


def _read_package(name: str) -> Iterator[SourceText]:
    """Read an installed package, or a part of it by its dotted name; imports nothing."""
    module = installed_libraries.resolve_import_name(name)
    top, *inner = (module or "").split(".")
    spec = importlib.util.find_spec(top) if top else None  # of a dotted name, this would import the package
    places: list[Path] = []
    if spec and spec.submodule_search_locations is not None:
        found = [Path(location, *inner) for location in spec.submodule_search_locations]
        places = [place for path in found for place in (path, path.with_suffix(".py")) if place.exists()]
    elif spec and spec.origin and not inner:
        places = [Path(spec.origin)]
    if module is None or not places:
        near = installed_libraries.similar_names(name)
        raise UsageError(
            f"There is no folder, file or installed package {name!r}.",
            remedy=f"Did you mean {near[0]!r}?" if near else "Check the name.",
        )
    licence, shown = _package_licence(top), module.replace(".", "/")
    for place in places:
        if place.is_dir():
            yield from _read_folder(place, shown, licence, module)
        elif text := read_file(place, _LIMITS):
            yield _source(f"{shown}.py", text, licence, module)


def _source(path: str, text: str, licence: str, module: str = "") -> SourceText:
    spdx = _SPDX.search(text)
    return SourceText(path, text, spdx[1] if spdx else licence, module)


def _folder_licence(folder: Path) -> str:
    """Return the first line of the folder's licence file."""
    files = sorted(path for path in folder.iterdir() if _LICENCE_FILE.match(path.name)) if folder.is_dir() else []
    text = read_file(files[0], _LIMITS) if files else None
    return next((line.strip()[:_LONGEST_LICENCE] for line in (text or "").splitlines() if line.strip()), _UNKNOWN)


def _package_licence(module: str) -> str:
    distribution = installed_libraries.distribution(module)
    if distribution is None:
        return _UNKNOWN
    fields = [installed_libraries.metadata_field(distribution, name) for name in ("License-Expression", "License")]
    classifiers = distribution.metadata.get_all("Classifier") or []
    fields += [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License :: ")]
    return next((text.splitlines()[0][:_LONGEST_LICENCE] for text in fields if text.strip()), _UNKNOWN)
