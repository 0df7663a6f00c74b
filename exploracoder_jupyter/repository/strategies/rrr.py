"""Retrieve-Repotools-Reflect, and the methods that it is compared with (RRR, section 5.1)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from anyio import to_thread

from exploracoder_jupyter.core.configuration.sections import Formulation
from exploracoder_jupyter.core.errors import BudgetExceeded, ReplyError
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.pipeline.context import Run
from exploracoder_jupyter.pipeline.prompting.replies import join_lines
from exploracoder_jupyter.pipeline.prompting.requests import ask_text
from exploracoder_jupyter.pipeline.retrieval.queries import LONGEST_QUERY
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution import RunResult
from exploracoder_jupyter.repository.index import is_test_file
from exploracoder_jupyter.repository.search import lineage
from exploracoder_jupyter.repository.strategies.attempts import Attempts, passages_of
from exploracoder_jupyter.repository.tools import Finding, parse_tool_request

# Retrieve-Repotools-Reflect: attempts, tests, tool calls and reflection in turns (RRR, section 4.1, Algorithm 1).
#
# For c oracle calls at most c attempts are written, each tested once: 3c - 2 requests, as each attempt after the
# first follows the tools that the model calls and a reflection.

_MOST_CLASSES: Final = 6
_MOST_FILES: Final = 3
_MOST_LINES: Final = 15
_LONGEST_CHAIN: Final = 2
"""Fixtures and variables that are made with one another."""
_LONGEST_LINE: Final = 160
_QUOTED: Final = re.compile(r"[`'\"]([\w.]+)[`'\"]")
_WORD: Final = re.compile(r"[A-Za-z_][\w.]*\w")
_IMPORT: Final = re.compile(r"\s*(?:from|import)\b")
_FUNCTION: Final = re.compile(r"\s*(?:async )?def (\w+)")
_ASSIGNED: Final = re.compile(r"\s*(\w+)\s*=[^=]")
_GIVES: Final = re.compile(r"\s*(?:return|yield)\b")


async def rrr(run: Run) -> RunResult:
    """Retrieve, write, test, call tools, reflect, and write again. The strategy `rrr`."""
    attempts = await Attempts.begin(run)

    async def first() -> str | None:
        connected = await to_thread.run_sync(connected_parts, attempts)
        return await attempts.write("write", await related_snippets(attempts, run.task.text, first=connected))

    async def improved() -> str | None:
        found = list[Passage]()
        with suppress(ReplyError):  # the model may call no tools
            text = await ask_text(run, "strategy", attempts.inputs("tools"), subject=attempts.subject)
            thought, calls = parse_tool_request(text)
            found = await to_thread.run_sync(attempts.look_up, calls, thought)
        reflection = await reflect(attempts, found)
        return await attempts.write("improve", found, reflection)

    return await improve_until_passed(attempts, first, improved)


async def improve_until_passed(
    attempts: Attempts, first: Callable[[], Awaitable[str | None]], improved: Callable[[], Awaitable[str | None]]
) -> RunResult:
    """Write and test attempts until one passes, at most `oracle_calls`, or the model or the budget gives none."""
    try:
        for number in range(attempts.run.settings.oracle_calls):
            code = await (improved() if number else first())
            if code is None or (await attempts.test(code)).report.complete:
                break
    except BudgetExceeded as reason:
        return attempts.finish(stopped=str(reason), cause="budget")
    return attempts.finish()


async def related_snippets(
    attempts: Attempts, query: str, round_: int = 0, *, first: Sequence[Passage] = ()
) -> list[Passage]:
    """Return the snippets of the repository nearest to a query, without the target and what is shown anyway.

    Those that come `first` precede them.
    """
    tools, without = attempts.tools, attempts.shown_lines
    found = await to_thread.run_sync(lambda: tools.get_related_snippets(query, without=without))
    passages = [*first, *passages_of(found)]
    formulation: Formulation = "code" if round_ else "task"
    attempts.run.emit(KnowledgeSearched(SOLUTION.id, round_, formulation, query, (), tuple(passages)))
    return passages


def connected_parts(attempts: Attempts) -> list[Passage]:
    """Return what the target is connected with: its bases, the classes that the task and the tests name, its uses.

    Of the tests only the lines are shown that use the target, or what they make of it.
    """
    index, task, target = attempts.tools.index, attempts.run.task, attempts.target
    tests = [file for file in attempts.every.files if _is_chosen(file.path, attempts.task.tests)]
    uses = {file.path: _uses(attempts.every.lines(file.path), target.last_name) for file in tests}
    using = [file for file in tests if uses[file.path]]
    named = [*_class_names(task.text), *(item.name for file in using for item in file.imports)]
    bases = [base for item in target.present if item.kind == "class" for base in lineage(index, item)[0][1:]]
    classes = dict.fromkeys([*bases, *(item for name in named for item in index.classes(name))])
    shown = attempts.shown_lines
    foreign = [item for item in classes if item not in target.present and not (shown and item.file == shown[0])]
    paths = [index.path_of(item) for item in foreign][:_MOST_CLASSES]
    found = [one for path in paths for one in attempts.tools.get_class_info(path, task.text)[:1]]
    title = f"How tests use {target.last_name}"
    tested = [Finding(title, file.path, "\n".join(uses[file.path])) for file in using[:_MOST_FILES]]
    return passages_of([*found, *tested])


def _is_chosen(path: str, selectors: Sequence[str]) -> bool:
    """Whether a file holds tests that are run, or what they need."""
    chosen = [selector.partition("::")[0] for selector in selectors if not selector.startswith("-")]
    fixtures = path.endswith("conftest.py") or not chosen
    return is_test_file(path) and (fixtures or any(f"{path}/".startswith(f"{one.rstrip('/')}/") for one in chosen))


def _class_names(text: str) -> list[str]:
    """Return the words of a text that may name a class: those with capitals, and those in code."""
    code = {word for quoted in _QUOTED.findall(text) for word in _WORD.findall(quoted)}
    return [word for word in _WORD.findall(text) if word in code or not word.islower()]


def _uses(lines: Sequence[str], name: str) -> list[str]:
    """Return the lines that use a name, or a variable or fixture that is made with it, each once."""
    made, code = {name}, [line for line in lines if not _IMPORT.match(line)]
    for _ in range(_LONGEST_CHAIN):
        function, known = "", re.compile(rf"\b(?:{'|'.join(map(re.escape, made))})\b")
        for line in code:
            if found := _FUNCTION.match(line):
                function = found[1]
            elif known.search(line):
                made |= {found[1]} if (found := _ASSIGNED.match(line)) else set()
                made |= {function} if function and _GIVES.match(line) else set()
    wanted = re.compile(rf"\b{re.escape(name)}\b|\b(?:{'|'.join(map(re.escape, made))})[.(]")
    kept = (line for line in code if wanted.search(line) and not _FUNCTION.match(line))
    return list(dict.fromkeys(line.strip()[:_LONGEST_LINE] for line in kept))[:_MOST_LINES]


async def reflect(attempts: Attempts, found: list[Passage]) -> list[str]:
    """Return the reflection on the latest attempt; none if the reply is empty."""
    inputs = attempts.inputs("reflect", found)
    try:
        return [join_lines(await ask_text(attempts.run, "strategy", inputs, subject=attempts.subject))]
    except ReplyError:
        return []


# The methods that RRR is compared with (section 5.1, Table 8), each with the same description and target.
#
# BasicPrompting has only the description, NaiveRAG the snippets that are nearest to it as well; RepoCoder retrieves
# again with what it has written; Reflexion has no code of the repository but the feedback of the tests. Attempts of
# the first three are tested once, at the end, and see nothing of it.


async def basic_prompting(run: Run) -> RunResult:
    """Write the target from its description alone. The strategy `repository-basic`."""
    attempts = await Attempts.begin(run)
    return await _test_once(attempts, await attempts.write("write"))


async def naive_rag(run: Run) -> RunResult:
    """Write the target with the snippets nearest to its description. The strategy `repository-rag`."""
    attempts = await Attempts.begin(run)
    snippets = await related_snippets(attempts, run.task.text)
    return await _test_once(attempts, await attempts.write("write", snippets))


async def repocoder(run: Run) -> RunResult:
    """Retrieve and write in turns, each time by what was written before. The strategy `repository-repocoder`."""
    attempts, code = await Attempts.begin(run), None
    for round_ in range(max(run.retrieval.rounds, 1)):
        query = code[:LONGEST_QUERY] if code else run.task.text
        code = await attempts.write("write", await related_snippets(attempts, query, round_)) or code
    return await _test_once(attempts, code)


async def reflexion(run: Run) -> RunResult:
    """Write, test and reflect in turns, without code of the repository. The strategy `repository-reflexion`."""
    attempts = await Attempts.begin(run)

    async def first() -> str | None:
        return await attempts.write("write")

    async def improved() -> str | None:
        return await attempts.write("improve", (), await reflect(attempts, []))

    return await improve_until_passed(attempts, first, improved)


async def _test_once(attempts: Attempts, code: str | None) -> RunResult:
    if code is not None:
        await attempts.test(code)
    return attempts.finish()
