"""Passages of the README and the guides that a library ships: often the only place where a query language is described.

Most sections do not help with a task, so passages are returned only where they share words with the query, and few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from exploracoder_jupyter.core.types import Passage, ScoredPassage
from exploracoder_jupyter.knowledge.documents.document_files import File
from exploracoder_jupyter.knowledge.documents.readers.reader_selection import parse_page
from exploracoder_jupyter.knowledge.documents.section_passages import page_passages
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface
from exploracoder_jupyter.text.tokenizer import tokens

MOST_FOUND: Final = 2
_LEAST_SHARED: Final = 2
_LEAST_SHARE: Final = 0.25
_USELESS: Final = re.compile(
    r"\b(?:install|licen[cs]e|contribut|citation|citing|sponsor|changelog|badge|acknowledg|development|support|author"
    r"|roadmap|release)",
    re.IGNORECASE,
)


def guide_passages(surface: Surface) -> Iterator[Passage]:
    """Yield the passages of the texts that a library ships, except for sections that do not describe its use."""
    for name, text in surface.guides:
        page = parse_page(File(name, text.encode("utf-8", "replace")))
        found = page_passages(f"{surface.info.titled}, {name}", page)
        yield from (passage for passage in found if not _USELESS.search(passage.title))


def is_about(query: str, hit: ScoredPassage) -> bool:
    """Return whether a passage shares enough words with a query."""
    asked = set(tokens(query))
    shared = asked & set(tokens(f"{hit.passage.title} {hit.passage.text}"))
    return len(shared) >= max(_LEAST_SHARED, _LEAST_SHARE * len(asked))
