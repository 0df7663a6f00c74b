"""The methods that RRR is compared with (section 5.1, Table 8), each with the same description and target.

BasicPrompting has only the description, NaiveRAG the snippets that are nearest to it as well; RepoCoder retrieves again
with what it has written; Reflexion has no code of the repository but the feedback of the tests. Attempts of the first
three are tested once, at the end, and see nothing of it.
"""

from __future__ import annotations

from exploracoder_jupyter.pipeline.retrieval.query_rewriting import LONGEST_QUERY
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.repository.strategies.attempts import Attempts
from exploracoder_jupyter.repository.strategies.rrr import improve_until_passed, reflect, related_snippets


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
