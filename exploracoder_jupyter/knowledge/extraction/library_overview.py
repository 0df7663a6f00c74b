"""Collects the input for a library's introduction: its README as prose, and programs that use it."""

from __future__ import annotations

from collections.abc import Sequence

from exploracoder_jupyter.core.types import ApiDoc, Overview
from exploracoder_jupyter.knowledge.extraction.public_surface import Surface

_MAX_README_CHARS = 12_000
"""README text in total, divided evenly among the libraries."""
_MAX_PROGRAMS = 40
_MAX_PROGRAM_CHARS = 2_500
_MIN_PROGRAM_CHARS = 20


def build_overview(surfaces: Sequence[Surface], wanted: Sequence[ApiDoc]) -> Overview:
    """Build the overview of the libraries.

    If they ship few example programs, examples of the `wanted` APIs are added after them.
    """
    share = _MAX_README_CHARS // max(len(surfaces), 1)
    texts = [_readme_start(surface, share) for surface in surfaces]
    shipped = [program for surface in surfaces for program in surface.programs]
    documented = [example for api in wanted[: 5 * _MAX_PROGRAMS] for example in api.examples[-1:]]
    fitting = [code for code in (*shipped, *documented) if _MIN_PROGRAM_CHARS <= len(code) <= _MAX_PROGRAM_CHARS]
    return Overview("\n\n".join(filter(None, texts)), tuple(dict.fromkeys(fitting))[:_MAX_PROGRAMS])


def _readme_start(surface: Surface, share: int) -> str:
    text = surface.introduction
    if len(text) > share:
        text = text[:share].rpartition("\n\n")[0] or text[:share]
    return f"# {surface.info.titled}\n\n{text}".strip()
