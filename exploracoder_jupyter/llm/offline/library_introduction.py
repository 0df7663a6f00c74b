"""The introduction of a library, extracted verbatim from its README."""

from __future__ import annotations

import re

_MARKUP = re.compile(r"^\s*(?:[#=*\-~+^`|<!\[.>:]|https?:)")


def summarize_readme(readme: str, *, limit: int = 1200) -> str:
    """Return the first paragraphs of prose in a README, or its first lines if it has none."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", readme)]
    chosen = ""
    for text in paragraphs:
        if len(text.split()) >= 6 and not _MARKUP.match(text):
            if chosen and len(chosen) + len(text) > limit:
                break
            chosen = f"{chosen}\n\n{text[:limit]}".strip()
    return chosen or readme.strip()[:limit] or "No introductory documentation was found."
