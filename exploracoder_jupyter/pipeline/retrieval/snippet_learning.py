"""Stores code that ran for later tasks on the same libraries, and drops code that no longer runs (ARKS, section 2.1).

A snippet must run in a fresh session, so it includes the earlier cells that it needs. Not stored are whole programs
that nothing has checked, code that needs the user's variables or makes them up, and code with a call that a program
which failed its check made in the same way and the accepted solution does without.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

import anyio

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.task import find_invented
from exploracoder_jupyter.core.types import Experience, Passage, Snippet
from exploracoder_jupyter.pipeline.code_analysis import same_statements, slice_dependencies, unbound_names
from exploracoder_jupyter.pipeline.context import Run, heuristic
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.pipeline.prompting.documentation import shorten
from exploracoder_jupyter.pipeline.solving.solution import RunResult

_LONGEST_SHOWN: Final = 400
_PATIENCE: Final = 5.0
_OF_API: Final = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError")
"""Errors that a call raises if its API was removed or its signature changed."""


@heuristic("keeping code for later tasks", lambda run, experience, result: None)
async def store_snippets(run: Run, experience: Sequence[Experience], result: RunResult) -> None:
    """Store the selected cells that ran and the solution, if the run ended with one that ran.

    Not cut off by the end of the time budget: the run has its result by then.
    """
    # Code assembled by the offline model may run without being meaningful: only a check shows that, and only of the
    # solution. So may a whole program of any model; a cell of an exploration was selected because its result is what
    # its step asked for.
    acceptable = ("solved",) if run.model.name == OFFLINE else ("solved", "unchecked")
    if not run.retrieval.snippets or result.verdict.outcome not in acceptable:
        return
    ran = [item for item in experience if item.observation.ran and run.model.name != OFFLINE]
    refuted, solution = set[str](), result.solution
    if solution:  # the calls of programs that failed their check, except those that the solution makes too
        refuted = {call for item in run.progress.refuted for call in _calls(item.candidate.code, item.apis)}
        refuted -= _calls(solution.code, solution.apis)
    found: list[Snippet] = []
    for index, item in enumerate(ran):
        code = slice_dependencies(ran[: index + 1])
        shown = shorten(item.observation.text.strip(), _LONGEST_SHOWN) if run.sharing == "values" else ""
        snippets = _make_snippet(run, item.subtask.title, code, item.apis, shown)
        found += [snippet for snippet in snippets if not refuted & _calls(snippet.code, snippet.apis)]
    if solution and result.verdict.outcome == "solved":
        found += _make_snippet(run, " ".join(run.task.text.split()), solution.code, solution.apis, "")
    distinct = {fingerprint(snippet.code): snippet for snippet in reversed(found)}  # a cell's has what it showed
    if distinct:
        with anyio.move_on_after(_PATIENCE, shield=True):
            await run.sources.learn(tuple(reversed(distinct.values())))


@heuristic("looking for outdated snippets", lambda run, passages, experiences: None)
async def drop_stale_snippets(run: Run, passages: Iterable[Passage], experiences: Sequence[Experience]) -> None:
    """Drop the snippets among the passages that a candidate repeated exactly and that failed at an API."""
    errors = ((item.candidate.code, item.observation.error) for item in experiences if not item.observation.ran)
    failed = [code for code, error in errors if error and error.name in _OF_API]
    snippets = [item for item in passages if item.source == "snippet"]
    if stale := [item.origin for item in snippets if any(same_statements(code, item.text) for code in failed)]:
        await run.sources.forget(stale)


def _calls(code: str, apis: Sequence[str]) -> set[str]:
    """Return the calls of these APIs in the code, with variables left open: `floor(_, 2, mode='down')`."""
    names = {path.rpartition(".")[2] for path in apis}
    found = set()
    for call in (node for node in ast.walk(parse_python(code)) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func).rpartition(".")[2]
        given = [*map(_open_argument, call.args), *(f"{one.arg}={_open_argument(one.value)}" for one in call.keywords)]
        if name in names:
            found.add(f"{name}({', '.join(given)})")
    return found


def _open_argument(value: ast.expr) -> str:
    return repr(value.value) if isinstance(value, ast.Constant) else "_"


def _make_snippet(run: Run, title: str, code: str, apis: tuple[str, ...], observed: str) -> Iterable[Snippet]:
    """Yield the snippet, if it calls one of the libraries and needs nothing of the user's."""
    documented = next((api for api in map(run.knowledge.lookup, apis) if api), None)
    makes_input = find_invented(code, [one.name for one in run.task.variables])
    if documented and unbound_names(code) == set() and not makes_input:
        python = ".".join(run.python.split(".")[:2])
        yield Snippet(documented.library, documented.version, title, code, apis, observed, python)
