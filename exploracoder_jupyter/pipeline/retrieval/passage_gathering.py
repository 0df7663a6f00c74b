"""Passages for a prompt from the soup: the user's own machine is always searched, the web only where that is said.

What of the user's files is shown leaves the machine with the prompt, so they are searched only where values may.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.types import Passage, SourceKind
from exploracoder_jupyter.pipeline.heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.observation_text import shorten
from exploracoder_jupyter.pipeline.step_context import Run

_FOUND: Final = 5
"""Passages of one search."""
_FOUND_ONLINE: Final = 3
_LONGEST: Final = 6000
"""Characters of one passage that are kept, on record too; a prompt shows fewer."""


async def gather_passages(run: Run, query: str) -> tuple[Passage, ...]:
    """What the sources on this machine have for the query, best first."""
    barred: frozenset[SourceKind] = frozenset({"web"} if run.sharing == "values" else {"web", "workspace"})
    return await _search(run, query, _FOUND, run.soup.kinds - barred)


async def gather_web_passages(run: Run, query: str) -> tuple[Passage, ...]:
    """What the web has for the query, where it may be searched and there is something to ask."""
    return await _search(run, query, _FOUND_ONLINE, run.soup.kinds & {"web"})


@heuristic("searching other sources", lambda run, query, k, kinds: ())
async def _search(run: Run, query: str, k: int, kinds: frozenset[SourceKind]) -> tuple[Passage, ...]:
    if not kinds or not query.strip():
        return ()
    found = await run.soup.search(query, k, among=kinds)
    return tuple(replace(item.passage, text=shorten(item.passage.text, _LONGEST)) for item in found)
