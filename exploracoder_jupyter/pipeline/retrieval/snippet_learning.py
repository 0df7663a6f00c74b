"""Stores code that ran for later tasks on the same libraries, and drops code that no longer runs (ARKS, section 2.1).

A snippet must run in a fresh session, so it includes the earlier cells that it needs. One that needs the user's
variables is not stored, nor is one that makes a call as a program made it that failed its check, and that the accepted
solution does without.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

import anyio

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.types import Experience, Passage, Snippet
from exploracoder_jupyter.pipeline.exploring.dependency_slice import contained_in, is_self_contained, slice_dependencies
from exploracoder_jupyter.pipeline.exploring.subtask_attempt import fingerprint
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run

_LONGEST_SHOWN: Final = 400
_PATIENCE: Final = 5.0
"""Time limit in seconds for storing code."""
_OF_API: Final = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError")
"""Errors that a call raises if its API was removed or its signature changed."""


@heuristic("keeping code for later tasks", lambda run, experience, result: None)
async def store_snippets(run: Run, experience: Sequence[Experience], result: RunResult) -> None:
    """Store the selected cells that ran and the solution, if the run ended with one that ran.

    Not cut off by the end of the time budget: the run has its result by then.
    """
    # Code assembled by the offline model may run without being meaningful: only a check shows that.
    acceptable = ("solved",) if run.model.name == OFFLINE else ("solved", "unchecked")
    if not run.retrieval.snippets or result.verdict.outcome not in acceptable:
        return
    ran = [item for item in experience if item.observation.ran]
    refuted = _refuted_calls(run, result)
    cells = [snippet for snippet in _cell_snippets(run, ran) if not refuted & _calls(snippet.code, snippet.apis)]
    found = [*cells, *_solution_snippets(run, result)]
    distinct = {fingerprint(snippet.code): snippet for snippet in found}
    if distinct:
        with anyio.move_on_after(_PATIENCE, shield=True):
            await run.sources.learn(tuple(distinct.values()))


@heuristic("looking for outdated snippets", lambda run, passages, experiences: None)
async def drop_stale_snippets(run: Run, passages: Iterable[Passage], experiences: Sequence[Experience]) -> None:
    """Drop the snippets among the passages that a candidate repeated exactly and that failed at an API."""
    failed = [item.candidate.code for item in experiences if _failed_at_api(item)]
    snippets = [item for item in passages if item.source == "snippet"]
    if stale := [item.origin for item in snippets if any(_same_statements(code, item.text) for code in failed)]:
        await run.sources.forget(stale)


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


def _refuted_calls(run: Run, result: RunResult) -> set[str]:
    """Return the calls of programs that failed their check and that the accepted solution does without."""
    if result.solution is None:
        return set()
    calls = {call for item in run.progress.refuted for call in _calls(item.candidate.code, item.apis)}
    return calls - _calls(result.solution.code, result.solution.apis)


def _calls(code: str, apis: Sequence[str]) -> set[str]:
    """Return the calls of these APIs in the code, with variables left open: `floor(_, 2, mode='down')`."""
    names = {path.rpartition(".")[2] for path in apis}
    try:
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {_open_call(call) for call in calls if ast.unparse(call.func).rpartition(".")[2] in names}


def _open_call(call: ast.Call) -> str:
    given = [*map(_open_argument, call.args), *(f"{one.arg}={_open_argument(one.value)}" for one in call.keywords)]
    return f"{ast.unparse(call.func).rpartition('.')[2]}({', '.join(given)})"


def _open_argument(value: ast.expr) -> str:
    return repr(value.value) if isinstance(value, ast.Constant) else "_"


def _solution_snippets(run: Run, result: RunResult) -> Iterable[Snippet]:
    if result.solution:
        title = " ".join(run.task.text.split())
        yield from _make_snippet(run, title, result.solution.code, result.solution.apis, "")


def _make_snippet(run: Run, title: str, code: str, apis: tuple[str, ...], observed: str) -> Iterable[Snippet]:
    """Yield the snippet, if it calls one of the libraries and needs nothing of the user's."""
    documented = next((api for api in map(run.knowledge.lookup, apis) if api), None)
    if documented and is_self_contained(code):
        python = ".".join(run.python.split(".")[:2])
        yield Snippet(documented.library, documented.version, title, code, apis, observed, python)
