"""What every worker does with a unit, wherever it is: run it within the rate limit, and return a result in any case."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from exploracoder_jupyter.core.errors import format_error
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.scheduling.endpoint_rate_limit import Limits, RateLimit, RateLimitedModel
from exploracoder_jupyter.evaluation.units.unit import Unit
from exploracoder_jupyter.llm.archived_replies_model import ReplyRecording
from exploracoder_jupyter.llm.reply_archive import ReplyArchive

RunUnit = Callable[..., Awaitable[UnitResult]]
"""Runs a unit and its tests, as `units.unit_runner.run_unit` does. Can be pickled."""


@dataclass(frozen=True, slots=True)
class RecordedReplies:
    """A folder of recorded replies."""

    folder: Path
    asks_model: bool
    """Whether the model is asked for what is not recorded, and its replies are recorded; else the unit fails."""

    def of(self, unit: Unit) -> ReplyRecording:
        """Return the replies of a unit: of this sample, whatever the settings are."""
        name = f"{unit.problem.problem_set}/{unit.problem.id} {unit.strategy} {unit.sample}"
        return ReplyRecording(_archive(self.folder), name, self.asks_model)


@lru_cache(maxsize=4)
def _archive(folder: Path) -> ReplyArchive:
    """Return the archive in this folder: one for all units of this process, because reading it takes time."""
    return ReplyArchive(folder)


@dataclass(frozen=True, slots=True)
class UnitExecution:
    """What a worker needs beside the units. Can be pickled."""

    run: RunUnit
    folder: Path
    evaluation: str
    """The `id` of the manifest."""
    model: str
    limits: Limits
    replies: RecordedReplies | None = None


async def execute_unit(unit: Unit, execution: UnitExecution, limit: RateLimit) -> UnitResult:
    """Run a unit; an exception becomes a result with a fault."""
    try:
        return await execution.run(
            unit,
            execution.folder,
            wrap=lambda model: RateLimitedModel(model, limit),
            replies=execution.replies.of(unit) if execution.replies else None,
        )
    except Exception as error:
        return fault_result(unit, execution.model, format_error(error))


def fault_result(unit: Unit, model: str, fault: str) -> UnitResult:
    """Return the result of a unit that this program failed to run."""
    problem = unit.problem
    return UnitResult(
        unit=unit.digest,
        problem=problem.id,
        problem_set=problem.problem_set,
        strategy=unit.strategy,
        model=model,
        sample=unit.sample,
        tests=len(problem.tests),
        failure="fault",
        fault=fault,
    )
