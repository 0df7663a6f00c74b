"""Markdown about repeated searches, look-ups, and the passages that were added to prompts.

A passage is listed with its origin and license; its text stays in the records. Text from sources is always escaped with
`escaped_text`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from exploracoder_jupyter.core.events import KnowledgeSearched, LookedUp
from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.core.types import Passage, SourceKind
from exploracoder_jupyter.trace.cells.escaped_text import attribute, clip, html, prose, span

_SOURCES: Final[dict[SourceKind, str]] = {
    "documentation": "documentation",
    "snippet": "code that ran before",
    "web": "web page",
    "workspace": "your files",
}
_MAX_LISTED: Final = 4


def search_markdown(searches: Sequence[KnowledgeSearched], lookups: Sequence[LookedUp]) -> list[str]:
    """Return paragraphs on repeated searches and look-ups, and a collapsed list of the passages found."""
    repeated = [line for search in searches if search.round and (line := _repeated_search(search))]
    arguments = dict.fromkeys(clip(item.argument or item.tool, 80) for item in lookups)
    looked_up = f"*Looked up while writing:* {', '.join(map(span, arguments))}" if arguments else ""
    passages = tuple(dict.fromkeys(item for search in searches for item in search.passages))
    return [*repeated, *filter(None, (looked_up, _passages(passages) if passages else ""))]


def _repeated_search(search: KnowledgeSearched) -> str:
    """Return one line on a search after a failure; empty if nothing was found and no APIs were searched."""
    if not (search.apis or search.passages):
        return ""
    names = _list_names([span(path) for path in search.apis], "API")
    titles = _list_names([f"“{prose(clip(item.title, 80))}”" for item in search.passages], "passage")
    same = ", the same as before" if search.agreed else ""
    return f"*Searched again ({search.made_of}):* found {'; '.join(part for part in (names, titles) if part)}{same}."


def _list_names(names: Sequence[str], noun: str) -> str:
    more = len(names) - _MAX_LISTED
    listed = ", ".join(names[:_MAX_LISTED])
    return f"{listed} and {plural(more, f'more {noun}')}" if more > 0 else listed


@lru_cache(maxsize=64)  # the list never changes, while the cell around it changes with every event
def _passages(passages: tuple[Passage, ...]) -> str:
    items = ""
    for item in {(item.source, item.origin): item for item in passages}.values():
        parts = [_SOURCES[item.source], html(clip(item.title, 160)), _link(item.origin), html(clip(item.licence, 80))]
        items += f"\n<li>{'; '.join(filter(None, parts))}</li>"
    return f"<details><summary>Passages found ({len(passages)})</summary>\n<ul>{items}\n</ul>\n</details>"


def _link(origin: str) -> str:
    shown = html(clip(origin, 200))
    if urlsplit(origin).scheme not in ("http", "https"):
        return f"<code>{shown}</code>" if shown else ""
    return f'<a href="{attribute(origin)}" rel="noreferrer noopener">{shown}</a>'
