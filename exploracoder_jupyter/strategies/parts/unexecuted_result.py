"""The result of a strategy that writes a program and never executes it."""

from __future__ import annotations

from exploracoder_jupyter.core.types import Candidate, Solution, Verdict
from exploracoder_jupyter.pipeline.exploring.called_apis import find_called_apis
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts

_NOT_RUN = "The strategy {name!r} does not run the program that it writes, so nothing has checked it."


def unexecuted_result(attempts: SolutionAttempts, candidate: Candidate | None) -> RunResult:
    """Return a program that was not executed as the solution; without one, the result of giving up."""
    if candidate is None:
        return attempts.give_up()
    run = attempts.run
    solution = Solution(candidate.code, candidate.id, find_called_apis(candidate.code, run.knowledge))
    verdict = Verdict("unchecked", _NOT_RUN.format(name=run.settings.strategy))
    return attempts.adopt(candidate, RunResult(solution, verdict), ("not run",))
