"""The raw material of a library's introduction: its README in prose, and programs that use it."""

from __future__ import annotations

from collections.abc import Sequence

from exploracoder_jupyter.core.types import ApiDoc, Overview
from exploracoder_jupyter.knowledge.extraction.public_surface import Surface

_CHARACTERS = 12_000
"""README text in all, shared evenly by the libraries."""
_PROGRAMS = 40
_LONGEST = 2_500
_SHORTEST = 20


def overview(surfaces: Sequence[Surface], wanted: Sequence[ApiDoc]) -> Overview:
    """What the libraries say of themselves; where they ship few programs, examples of the `wanted` APIs follow."""
    share = _CHARACTERS // max(len(surfaces), 1)
    texts = [_opening(surface, share) for surface in surfaces]
    shipped = [program for surface in surfaces for program in surface.programs]
    documented = [example for api in wanted[: 5 * _PROGRAMS] for example in api.examples[-1:]]
    fitting = [code for code in (*shipped, *documented) if _SHORTEST <= len(code) <= _LONGEST]
    return Overview("\n\n".join(filter(None, texts)), tuple(dict.fromkeys(fitting))[:_PROGRAMS])


def _opening(surface: Surface, share: int) -> str:
    text = surface.introduction
    if len(text) > share:
        text = text[:share].rpartition("\n\n")[0] or text[:share]
    return f"# {surface.info.titled}\n\n{text}".strip()
