"""Retrieve-Repotools-Reflect: attempts, tests, tool calls and reflection in turns (RRR, section 4.1, Algorithm 1).

For c oracle calls at most c attempts are written, each tested once: 3c - 2 requests, as each attempt after the first
follows the tools that the model calls and a reflection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from anyio import to_thread

from exploracoder_jupyter.core.configuration.retrieval_settings import Formulation
from exploracoder_jupyter.core.errors import BudgetExceeded, ReplyError
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_text
from exploracoder_jupyter.pipeline.prompting.reply_fragments import join_lines
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.repository.strategies.attempts import Attempts, passages_of
from exploracoder_jupyter.repository.tools.repository_tool_calls import parse_tool_request


async def rrr(run: Run) -> RunResult:
    """Retrieve, write, test, call tools, reflect, and write again. The strategy `rrr`."""
    attempts = await Attempts.begin(run)

    async def first() -> str | None:
        return await attempts.write("write", await related_snippets(attempts, run.task.text))

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


async def related_snippets(attempts: Attempts, query: str, round_: int = 0) -> list[Passage]:
    """Return the snippets of the repository nearest to a query, without the target and what is shown anyway."""
    tools, without = attempts.tools, attempts.shown_lines
    found = await to_thread.run_sync(lambda: tools.get_related_snippets(query, without=without))
    passages = passages_of(found)
    formulation: Formulation = "code" if round_ else "task"
    attempts.run.emit(KnowledgeSearched(SOLUTION.id, round_, formulation, query, (), tuple(passages)))
    return passages


async def reflect(attempts: Attempts, found: list[Passage]) -> list[str]:
    """Return the reflection on the latest attempt; none if the reply is empty."""
    inputs = attempts.inputs("reflect", found)
    try:
        return [join_lines(await ask_text(attempts.run, "strategy", inputs, subject=attempts.subject))]
    except ReplyError:
        return []
