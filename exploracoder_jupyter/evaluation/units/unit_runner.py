"""Runs one unit: the strategy first, then the hidden tests on its solution.

The strategy sees the task, the setup and the documentation of the problem. Stored snippets are neither used nor
written, so that units do not learn from one another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.configuration.settings_sources import Layer
from exploracoder_jupyter.core.errors import EndpointError, format_error
from exploracoder_jupyter.core.events import LibraryRead, Record, RunFinished, RunStarted
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.problems.problem import Problem
from exploracoder_jupyter.evaluation.units.solution_scoring import Score, score_solution, task_of
from exploracoder_jupyter.evaluation.units.unit import Unit
from exploracoder_jupyter.llm.recorded_replies import ReplyRecording
from exploracoder_jupyter.pipeline.ports import Model
from exploracoder_jupyter.runs import Order, run

TRACES = "traces"
"""Folder of the traces, in the folder of the results."""

BUDGET, ENDPOINT, FAULT = "budget", "endpoint", "fault"


async def run_unit(
    unit: Unit,
    results: Path,
    *,
    wrap: Callable[[Model], Model] | None = None,
    replies: ReplyRecording | None = None,
    listen: Callable[[Record], None] | None = None,
) -> UnitResult:
    """Run one unit, and return its result, whatever happens except a cancellation.

    Args:
        unit: the unit to run.
        results: folder of the results; the trace is written to `traces/<digest>.ipynb` in it.
        wrap: wraps the model that makes the requests, for example with a rate limit.
        replies: where the replies of the model are recorded, or come from.
        listen: called with every record of the run.
    """
    log = _RunLog()

    def collect(record: Record) -> None:
        log.add(record)
        if listen:
            listen(record)

    trace = results.resolve() / TRACES / f"{unit.digest}.ipynb"
    failure = fault = ""
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        await run(replace(_order(unit, trace), wrap_model=wrap, replies=replies), collect)
    except EndpointError:
        failure = ENDPOINT
    except Exception as error:
        failure, fault = FAULT, format_error(error)
    return await _scored(unit, log, replace(_unscored(unit, log, trace), failure=failure, fault=fault))


@dataclass(slots=True)
class _RunLog:
    """What the result needs of the events of a run."""

    started: RunStarted | None = None
    finished: RunFinished | None = None
    libraries: tuple[LibraryInfo, ...] = ()

    def add(self, record: Record) -> None:
        match record.event:
            case RunStarted() as event:
                self.started = event
            case RunFinished() as event:
                self.finished = event
            case LibraryRead(libraries=libraries):
                self.libraries = libraries

    @property
    def code(self) -> str:
        return self.finished.solution.code if self.finished and self.finished.solution else ""


def _order(unit: Unit, trace: Path) -> Order:
    docs = [str(path.resolve()) for path in unit.docs]
    forced: Layer = {
        "exploration": {"strategy": unit.strategy},
        "retrieval": {"snippets": False, "docs": list(docs)},
        "view": {"out": str(trace)},
        "history": {"keep": False},
    }
    return Order(task_of(unit.problem), (forced, unit.layer), workdir=_working_folder(unit.problem, trace.parent))


def _working_folder(problem: Problem, traces: Path) -> Path:
    """Return the working directory of the run: an empty one beside the traces if the problem has none."""
    if problem.repository:
        from exploracoder_jupyter.evaluation.units.repository_scoring import prepare_repository  # the extra `repo`

        return prepare_repository(problem, traces.with_name("repositories"))
    if problem.folder != Path():
        return problem.folder.resolve()
    empty = traces.with_name("workdir")
    empty.mkdir(exist_ok=True)
    return empty


def _unscored(unit: Unit, log: _RunLog, trace: Path) -> UnitResult:
    finished, problem = log.finished, unit.problem
    usage = finished.usage if finished else None
    return UnitResult(
        unit=unit.digest,
        problem=problem.id,
        problem_set=problem.problem_set,
        strategy=unit.strategy,
        model=log.started.model if log.started else unit.resolved.endpoint.model or OFFLINE,
        sample=unit.sample,
        outcome=finished.verdict.outcome if finished else "stopped",
        passed=False,
        ran=False,
        tests_passed=0,
        tests=len(problem.tests),
        calls=usage.calls if usage else 0,
        prompt_tokens=usage.prompt_tokens if usage else 0,
        completion_tokens=usage.completion_tokens if usage else 0,
        executions=usage.executions if usage else 0,
        seconds=usage.seconds if usage else 0.0,
        cost=usage.cost if usage else None,
        code=log.code,
        trace=f"{TRACES}/{trace.name}" if trace.exists() else "",
        packages={"exploracoder_jupyter": __version__, **{info.name: info.version for info in log.libraries}},
        settings=unit.changed_settings,
    )


async def _scored(unit: Unit, log: _RunLog, result: UnitResult) -> UnitResult:
    """Add the score of the solution; an error of the run takes precedence over a failure of the tests."""
    try:
        score = await score_solution(unit.problem, log.code, unit.resolved, libraries=log.libraries)
    except Exception as error:
        return replace(result, failure=FAULT, fault=result.fault or format_error(error))
    passed = score.tests.ran and 0 < score.tests.passed == score.total
    return replace(
        result,
        tests=score.total,
        passed=passed,
        ran=score.tests.ran,
        tests_passed=score.tests.passed,
        failure="" if passed else _failure(log, result, score),
        missing_apis=score.missing_apis,
        recall=score.recall,
        precision=score.precision,
    )


def _failure(log: _RunLog, result: UnitResult, score: Score) -> str:
    if result.failure:
        return result.failure
    return BUDGET if log.finished and log.finished.verdict.stopped_by == "budget" else score.tests.failure
