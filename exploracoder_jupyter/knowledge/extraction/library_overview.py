"""Collects the input for a library's introduction: its README as prose, and programs that use it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from exploracoder_jupyter.core.types import ApiDoc, Overview
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface

_HEADING = re.compile(
    r"^(?:(?P<marks>#{1,6})[ \t]+(?P<title>\S[^\n]*)|(?P<lined>\w[^\n]*)\n(?P<line>[=~^*-])(?P=line){2,}[ \t]*$)",
    re.MULTILINE,
)
"""The beginning of a section in Markdown or reST."""
_FORMALITY = re.compile(
    r"\b(?:licen[cs](?:es?|ing)|copyright|governance|code of conduct|contribut(?:ing|ors?|ions?)|cit(?:e|ing|ations?)"
    r"|bibtex|funding|sponsors?|donat(?:e|ions?)|acknowledge?ments?|credits|changelog|release notes)\b",
    re.IGNORECASE,
)
_LONGEST_FORMALITY = 40
"""Characters of a heading; a longer one is about something."""
_BIBTEX = re.compile(
    r"^(?P<fence>```+)[^\n]*\n\s*@\w+\{.*?^(?P=fence)[ \t]*$|^[ \t]*@\w+\{.*?^[ \t]*\}[ \t]*$", re.MULTILINE | re.DOTALL
)
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
        paragraphs = _without_formalities(surface.introduction).split("\n\n")
        yield "\n\n".join(text for text in paragraphs if text not in known)
        known.update(paragraphs)


def _without_formalities(text: str) -> str:
    """Return a README without the sections on licence, governance, citation and the like, and without BibTeX."""
    text = _BIBTEX.sub("", text)
    headings = [*_HEADING.finditer(text)]
    kept, dropped = [text[: headings[0].start()] if headings else text], 0
    for place, found in enumerate(headings):
        title, level = found["title"] or found["lined"], _level(found)
        if not dropped or level <= dropped:  # the first heading is the name of the library
            formal = place > 0 and len(title) <= _LONGEST_FORMALITY and _FORMALITY.search(title)
            dropped = level if formal else 0
        if not dropped:
            end = headings[place + 1].start() if place + 1 < len(headings) else None
            kept.append(text[found.start() : end])
    return "".join(kept).strip()


def _level(heading: re.Match[str]) -> int:
    return len(heading["marks"]) if heading["marks"] else 1 if heading["line"] == "=" else 2
