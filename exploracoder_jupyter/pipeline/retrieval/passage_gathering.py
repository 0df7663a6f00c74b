"""Gathers passages for a prompt: always from sources on the user's machine, from the web only on request.

Passages from the user's files leave the machine with the prompt, so these files are searched only if values may be
shared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import Passage, SourceKind
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten
from exploracoder_jupyter.pipeline.step_context import Run, raise_if_cancelled

_FOUND: Final = 5
_FOUND_ONLINE: Final = 3
_LONGEST: Final = 6000
"""Characters kept of one passage, also in the trace; a prompt shows fewer."""


async def gather_passages(run: Run, query: str) -> tuple[Passage, ...]:
    """Return passages for the query from the sources on this machine, best first."""
    excluded: frozenset[SourceKind] = frozenset({"web"} if run.sharing == "values" else {"web", "workspace"})
    return await _search(run, query, _FOUND, run.sources.kinds - excluded)


async def gather_for_task(run: Run, subject: str) -> tuple[Passage, ...]:
    """Return passages for the text of the task, and record the search if it found any."""
    passages = await gather_passages(run, run.task.text)
    await raise_if_cancelled()
    if passages:
        run.emit(KnowledgeSearched(subject, 0, "task", run.task.text, (), passages))
    return passages


async def gather_web_passages(run: Run, query: str) -> tuple[Passage, ...]:
    """Return passages for the query from the web, if it may be searched and the query is not empty."""
    return await _search(run, query, _FOUND_ONLINE, run.sources.kinds & {"web"})


@heuristic("searching other sources", lambda run, query, k, kinds: ())
async def _search(run: Run, query: str, k: int, kinds: frozenset[SourceKind]) -> tuple[Passage, ...]:
    if not kinds or not query.strip():
        return ()
    found = await run.sources.search(query, k, among=kinds)
    return tuple(replace(item.passage, text=shorten(item.passage.text, _LONGEST)) for item in found)
