"""What every worker does with a unit, wherever it is: run it within the rate limit, and return a result in any case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from exploracoder_jupyter.core.errors import format_error
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.scheduling.endpoint_rate_limit import Limits, RateLimit, RateLimitedModel
from exploracoder_jupyter.llm.recorded_replies import ReplyRecording
from exploracoder_jupyter.llm.reply_archive import ReplyArchive
from exploracoder_jupyter.pipeline.ports import Model

ModelWrapper = Callable[[Model], Model]


class Unit(Protocol):
    """One sample of one strategy on one problem; can be pickled."""

    @property
    def digest(self) -> str:
        """Digest of everything that determines the unit."""
        ...

    @property
    def problem(self) -> Problem:
        """The problem."""
        ...

    @property
    def strategy(self) -> str:
        """Registered name of the strategy."""
        ...

    @property
    def sample(self) -> int:
        """Number of the sample, from 0."""
        ...


class RunUnit(Protocol):
    """A coroutine function that can be pickled."""

    async def __call__(
        self, unit: Any, results: Path, /, *, wrap: ModelWrapper, replies: ReplyRecording | None
    ) -> UnitResult:
        """Run a unit and its tests.

        Args:
            unit: what to run.
            results: folder of the results, where the trace belongs.
            wrap: returns the model with the rate limit; is applied to the model that makes requests.
            replies: where the replies of the model are recorded, or come from.
        """
        ...


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
            wrap=lambda model: RateLimitedModel(model, limit, execution.limits),
            replies=execution.replies.of(unit) if execution.replies else None,
        )
    except Exception as error:
        return fault_result(unit, execution.model, format_error(error))


def fault_result(unit: Unit, model: str, fault: str) -> UnitResult:
    """Return the result of a unit that this program failed to run."""
    return UnitResult(
        unit=unit.digest,
        problem=unit.problem.id,
        problem_set=unit.problem.problem_set,
        strategy=unit.strategy,
        model=model,
        sample=unit.sample,
        outcome="stopped",
        passed=False,
        ran=False,
        tests_passed=0,
        tests=len(unit.problem.tests),
        failure="fault",
        fault=fault,
    )
