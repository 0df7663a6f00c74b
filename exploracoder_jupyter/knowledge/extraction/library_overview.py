"""Collects the input for a library's introduction: its README as prose, and programs that use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from exploracoder_jupyter.core.types import ApiDoc, Overview
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface

_MAX_README_CHARS = 12_000
_MAX_PROGRAMS = 40
_MAX_PROGRAM_CHARS = 2_500
_MIN_PROGRAM_CHARS = 20


def build_overview(surfaces: Sequence[Surface], wanted: Sequence[ApiDoc]) -> Overview:
    """Build the overview of the libraries; a paragraph that several have in common is given once.

    If they ship few example programs, examples of the `wanted` APIs are added after them. Libraries take turns, and so
    do the modules of the wanted APIs, so that the first examples come from everywhere.
    """
    share = _MAX_README_CHARS // max(len(surfaces), 1)
    texts = []
    for surface, text in zip(surfaces, _own_texts(surfaces), strict=True):
        start = text if len(text) <= share else text[:share].rpartition("\n\n")[0] or text[:share]
        texts.append(f"# {surface.info.titled}\n\n{start}".strip())
    shipped = take_turns([_fitting(surface.programs) for surface in surfaces])
    by_module: dict[str, list[str]] = {}
    for api in wanted:
        by_module.setdefault(".".join(api.path.split(".")[:2]), []).extend(_fitting(api.examples[-1:]))
    documented = take_turns(list(by_module.values()))
    return Overview("\n\n".join(filter(None, texts)), tuple(dict.fromkeys((*shipped, *documented)))[:_MAX_PROGRAMS])


def take_turns(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the first text of each group, then the second ones, and so on."""
    return [text for row in zip_longest(*groups) for text in row if text is not None]


def _fitting(programs: Sequence[str]) -> list[str]:
    return [code for code in programs if _MIN_PROGRAM_CHARS <= len(code) <= _MAX_PROGRAM_CHARS]


def _own_texts(surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield the introduction of each library without the paragraphs of those before it."""
    known: set[str] = set()
    for surface in surfaces:
        paragraphs = surface.introduction.split("\n\n")
        yield "\n\n".join(text for text in paragraphs if text not in known)
        known.update(paragraphs)
