"""Reflexion: a failed program is reflected on in words, and the next one follows the reflections (RRR, section 5.1).

After Shinn et al. 2023, whose memory has at most three reflections. The feedback is that of the run: the error, or the
user's check if there is one, never hidden tests. Nothing is retrieved (RRR, appendix B). At most
`solution_rounds` programs; for r retries 2r + 1 calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.types import Candidate, Experience
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_text
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.reply_fragments import join_lines
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.solving.solution_rounds import propose_until_accepted
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.documented_task import limit_retrieval

_REMEMBERED: Final = 3
"""Maximum number of reflections in a prompt (Shinn et al. 2023, section 4)."""


async def reflexion(run: Run) -> RunResult:
    """Write a program; while it fails, reflect and write another. The strategy `reflexion`."""
    run = limit_retrieval(run)
    run = replace(run, settings=replace(run.settings, tests=False))
    announce_libraries(run)
    attempts = await SolutionAttempts.begin(run)
    reflections: list[str] = []

    async def propose() -> Candidate | None:
        if not attempts.tried:
            return await attempts.propose("strategy", _inputs(run, "direct", (), ()))
        reflections[:] = [*reflections, *await _reflect(run, attempts.tried, reflections)][-_REMEMBERED:]
        return await attempts.propose("strategy", _inputs(run, "reflexion", attempts.tried, reflections))

    return await propose_until_accepted(attempts, propose)


async def _reflect(run: Run, tried: Sequence[Experience], reflections: Sequence[str]) -> list[str]:
    """Return the reflection on the latest program; none if the reply is empty."""
    inputs = _inputs(run, "reflect", tried, reflections)
    try:
        return [join_lines(await ask_text(run, "strategy", inputs, subject=tried[-1].candidate.id))]
    except ReplyError:
        return []


def _inputs(run: Run, template: str, tried: Sequence[Experience], reflections: Sequence[str]) -> StrategyInputs:
    name = f"exploracoder_jupyter.strategies:{template}"
    return StrategyInputs(name, run.task, experience=tuple(tried), notes=tuple(reflections))
