"""Runs one unit: the strategy first, then the hidden tests on its solution.

The strategy sees the task, the setup or the live variables that it makes, the check and the documentation of the
problem. Stored snippets are neither used nor
written, so that units do not learn from one another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.configuration.settings_sources import Layer
from exploracoder_jupyter.core.errors import EndpointError, format_error
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import RunState, fold_all
from exploracoder_jupyter.core.types import Usage, UserVariable
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.units.solution_scoring import score_solution, task_of
from exploracoder_jupyter.evaluation.units.unit import Unit
from exploracoder_jupyter.llm.archived_replies_model import ReplyRecording
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

    The trace is written to `traces/<digest>.ipynb` in the folder of the results. `wrap` wraps the model that makes the
    requests, for example with a rate limit; `replies` is where its replies are recorded, or come from.
    """
    records: list[Record] = []

    def collect(record: Record) -> None:
        records.append(record)
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
    state = fold_all(records)
    return await _scored(unit, state, replace(_unscored(unit, state, trace), failure=failure, fault=fault))


def _order(unit: Unit, trace: Path) -> Order:
    forced: Layer = {
        "exploration": {"strategy": unit.strategy},
        "retrieval": {"snippets": False, "docs": [str(path.resolve()) for path in unit.docs]},
        "view": {"out": str(trace)},
        "history": {"keep": False},
    }
    problem, folder = unit.problem, trace.parent.with_name("workdir")
    if problem.repository:
        from exploracoder_jupyter.evaluation.units.repository_scoring import prepare_repository  # the extra `repo`

        folder = prepare_repository(problem, folder.with_name("repositories"))
    elif problem.folder != Path():
        folder = problem.folder.resolve()
    else:
        folder.mkdir(exist_ok=True)
    given = tuple(UserVariable(name, given=True) for name in problem.live)
    before = problem.setup if given else ""
    return Order(task_of(problem), (forced, unit.layer), workdir=folder, mentioned=given, before=before)


def _unscored(unit: Unit, state: RunState, trace: Path) -> UnitResult:
    finished, problem = state.finished, unit.problem
    usage, solution = (finished.usage, finished.solution) if finished else (Usage(), None)
    libraries = state.library.libraries if state.library else ()
    return UnitResult(
        unit=unit.digest,
        problem=problem.id,
        problem_set=problem.problem_set,
        strategy=unit.strategy,
        model=state.model or unit.resolved.endpoint.model or OFFLINE,
        sample=unit.sample,
        outcome=finished.verdict.outcome if finished else "stopped",
        tests=len(problem.tests),
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        executions=usage.executions,
        seconds=usage.seconds,
        cost=usage.cost,
        code=solution.code if solution else "",
        trace=f"{TRACES}/{trace.name}" if trace.exists() else "",
        packages={"exploracoder_jupyter": __version__, **{info.name: info.version for info in libraries}},
        settings=unit.changed_settings,
    )


async def _scored(unit: Unit, state: RunState, result: UnitResult) -> UnitResult:
    """Add the score of the solution; an error of the run takes precedence over a failure of the tests."""
    libraries = state.library.libraries if state.library else ()
    try:
        score = await score_solution(unit.problem, result.code, unit.resolved, libraries=libraries)
    except Exception as error:
        return replace(result, failure=FAULT, fault=result.fault or format_error(error))
    passed = score.tests.ran and 0 < score.tests.passed == score.total
    ended_by = BUDGET if state.finished and state.finished.verdict.stopped_by == "budget" else score.tests.failure
    return replace(
        result,
        tests=score.total,
        passed=passed,
        ran=score.tests.ran,
        tests_passed=score.tests.passed,
        failure="" if passed else result.failure or ended_by,
        missing_apis=score.missing_apis,
        recall=score.recall,
        precision=score.precision,
    )
