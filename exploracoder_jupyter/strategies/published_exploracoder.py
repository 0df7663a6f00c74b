"""ExploraCoder as published: the chain of API exploration, without and with self-debugging (sections 3 and 5.1).

The product's own exploration with the paper's settings, whatever the user's are, and without what the product adds:
look-ups, repeated searches, revisions of the plan, early stopping, repairs and tests of the solution. The number of
subtasks is limited as in the product. 3 + 2n calls, about 3 + 3.6n with self-debugging.
"""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.pipeline.task_run import explore
from exploracoder_jupyter.strategies.documented_task import limit_retrieval


async def exploracoder(run: Run) -> RunResult:
    """Explore each subtask, and write the solution once. The strategy `exploracoder`."""
    return await explore(_as_published(run, debug_rounds=0))


async def exploracoder_debug(run: Run) -> RunResult:
    """Explore as `exploracoder` does, and debug where all candidates fail. The strategy `exploracoder-debug`."""
    return await explore(_as_published(run, debug_rounds=1))


def _as_published(run: Run, *, debug_rounds: int) -> Run:
    """Return the run with the settings of section 5.1."""
    settings = replace(
        run.settings,
        candidates=5,
        retrieved=20,
        retrieved_global=20,
        planners=4,
        temperature=0.8,
        top_p=0.95,
        debug_rounds=debug_rounds,
        plan_revisions=0,
        solution_rounds=1,
        tests=False,
        review=False,
    )
    return replace(limit_retrieval(run), settings=settings)
