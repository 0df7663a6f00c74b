"""Code that ran, kept for later tasks on the same libraries; and forgotten where it runs no more (ARKS, section 2.1).

A snippet must run in a fresh session, so it has with it the cells before it that it needs. One that needs variables of
the user's is not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import anyio

from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.types import Experience, Passage, Snippet
from exploracoder_jupyter.pipeline.exploring.dependency_slice import contained_in, is_self_contained, slice_dependencies
from exploracoder_jupyter.pipeline.exploring.subtask_attempt import fingerprint
from exploracoder_jupyter.pipeline.heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.observation_text import shorten
from exploracoder_jupyter.pipeline.run_outcome import RunResult
from exploracoder_jupyter.pipeline.step_context import Run

_LONGEST_SHOWN: Final = 400
_PATIENCE: Final = 5.0
"""Seconds that keeping code may take."""
_OF_API: Final = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError")
"""What a call of an API raises that is there no more, or is called in another way."""


@heuristic("keeping code for later tasks", lambda run, experience, ending: None)
async def store_snippets(run: Run, experience: Sequence[Experience], ending: RunResult) -> None:
    """Keep the selected cells that ran and the solution, where the run ended with one that ran.

    The end of the budget of seconds does not cut it off: the run has its ending by then.
    """
    # What the offline model strings together may run and mean nothing: only a check tells.
    worth = ("solved",) if run.model.name == OFFLINE else ("solved", "unchecked")
    if not run.retrieval.snippets or ending.verdict.outcome not in worth:
        return
    found = [
        *_cell_snippets(run, [item for item in experience if item.observation.ran]),
        *_solution_snippets(run, ending),
    ]
    distinct = {fingerprint(snippet.code): snippet for snippet in found}
    if distinct:
        with anyio.move_on_after(_PATIENCE, shield=True):
            await run.soup.learn(tuple(distinct.values()))


@heuristic("looking for outdated snippets", lambda run, passages, experiences: None)
async def drop_stale_snippets(run: Run, passages: Iterable[Passage], experiences: Sequence[Experience]) -> None:
    """Drop the snippets among the passages whose code a candidate repeated, all of it and no more, and failed at an
    API."""
    failed = [item.candidate.code for item in experiences if _failed_at_api(item)]
    kept = [item for item in passages if item.source == "snippet"]
    if stale := [item.origin for item in kept if any(_same_statements(code, item.text) for code in failed)]:
        await run.soup.forget(stale)


def _same_statements(code: str, other: str) -> bool:
    return contained_in(code, other) and contained_in(other, code)


def _failed_at_api(item: Experience) -> bool:
    error = item.observation.error
    return not item.observation.ran and error is not None and error.name in _OF_API


def _cell_snippets(run: Run, ran: Sequence[Experience]) -> Iterable[Snippet]:
    for index, item in enumerate(ran):
        code = slice_dependencies(ran[: index + 1])
        shown = item.observation.text.strip() if run.sharing == "values" else ""
        yield from _make_snippet(run, item.subtask.title, code, item.apis, shorten(shown, _LONGEST_SHOWN))


def _solution_snippets(run: Run, ending: RunResult) -> Iterable[Snippet]:
    if ending.solution:
        title = " ".join(run.task.text.split())
        yield from _make_snippet(run, title, ending.solution.code, ending.solution.apis, "")


def _make_snippet(run: Run, title: str, code: str, apis: tuple[str, ...], observed: str) -> Iterable[Snippet]:
    """The snippet, if it calls one of the libraries and needs nothing of the user's."""
    documented = next((api for api in map(run.knowledge.lookup, apis) if api), None)
    if documented and is_self_contained(code):
        python = ".".join(run.python.split(".")[:2])
        yield Snippet(documented.library, documented.version, title, code, apis, observed, python)
