"""A unit of an evaluation: one sample of one strategy on one problem, run and scored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Layer, as_json, recorded_layer, resolve
from exploracoder_jupyter.core.errors import EndpointError, format_error
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import RunState, fold_all
from exploracoder_jupyter.core.types import Usage, UserVariable
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scoring import score_solution, task_of
from exploracoder_jupyter.llm.recorded import ReplyRecording
from exploracoder_jupyter.pipeline.ports import Model
from exploracoder_jupyter.runs import Order, run

# A unit of work of an evaluation: one sample of one strategy on one problem, independent of all others.

_NOT_DETERMINING = {
    "endpoint": {"base_url", "timeout", "retries"},
    "retrieval": {"docs"},
    "sandbox": {"python", "engine_python", "gateway"},
    "exploration": {"strategy"},
}
"""Settings that say where something is, not what it is, and those that the digest contains in another form."""
_LEFT_OUT = ("view", "history")
_PROBLEM_LEFT_OUT = ("folder", "solution", "docs", "repository", "live", "check")


@dataclass(frozen=True)
class Unit:
    """One sample of one strategy on one problem."""

    problem: Problem
    strategy: str = "explore"
    """Registered name."""
    sample: int = 0
    """Number of the sample, from 0."""
    settings: Layer = field(default_factory=dict)
    """Settings that differ from the defaults. Configuration files and environment variables of the machine that runs
    the unit have no effect, except for the address and the key of the endpoint."""

    @cached_property
    def resolved(self) -> Settings:
        """All settings; UsageError if one is unknown or has an invalid value."""
        return resolve(
            {**self.settings, "exploration": {**self.settings.get("exploration", {}), "strategy": self.strategy}},
            path=Path(os.devnull),
            environ={},
        )

    @property
    def layer(self) -> Layer:
        """All settings as a layer for a run; only the endpoint's address is left out if it is not set."""
        layer = {section: dict(values) for section, values in recorded_layer(as_json(self.resolved)).items()}
        if self.resolved.endpoint.base_url is None:
            layer["endpoint"].pop("base_url")
        return layer

    @property
    def changed_settings(self) -> dict[str, JsonValue]:
        """The settings that differ from their defaults, as JSON: `{"exploration": {"candidates": 3}}`."""
        now, default = as_json(self.resolved), as_json(Settings())
        changed: dict[str, JsonValue] = {}
        for section, values in now.items():
            plain = default[section]
            if isinstance(values, dict) and isinstance(plain, dict) and values != plain:
                changed[section] = {name: value for name, value in values.items() if value != plain[name]}
        return changed

    @cached_property
    def digest(self) -> str:
        """Identifies the unit: 32 hexadecimal digits, computed from everything that determines its result.

        That is the problem with the content of its documentation, but neither its reference solution nor its folder;
        the strategy, the sample, the model and the settings, but not where files and the endpoint are.
        """
        determining: dict[str, JsonValue] = {}
        for section, values in self.changed_settings.items():
            if section not in _LEFT_OUT and isinstance(values, dict):
                where = _NOT_DETERMINING.get(section, set())
                if kept := {name: value for name, value in values.items() if name not in where}:
                    determining[section] = kept
        repository = self.problem.repository
        names = [one.name for one in fields(Problem) if one.name not in _PROBLEM_LEFT_OUT]
        content = {
            "problem": {
                **{name: getattr(self.problem, name) for name in names},
                **({"repository": asdict(repository)} if repository else {}),
                **({"live": list(self.problem.live)} if self.problem.live else {}),
                **({"check": self.problem.check} if self.problem.check else {}),
            },
            "docs": [_content_digest(path) for path in self.docs],
            "strategy": self.strategy,
            "sample": self.sample,
            "settings": determining,
        }
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return sha256(canonical.encode()).hexdigest()[:32]

    @property
    def docs(self) -> tuple[Path, ...]:
        """Files and folders with documentation: those of the problem, then those of the settings."""
        return tuple(self.problem.folder / path for path in (*self.problem.docs, *self.resolved.retrieval.docs))


def _content_digest(path: Path) -> str:
    """Return a digest of a file, or of the files in a folder with their relative paths; missing files have one too."""
    digest = sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            digest.update(sha256(file.read_bytes()).digest())
    return digest.hexdigest()


# Runs one unit: the strategy first, then the hidden tests on its solution.
#
# The strategy sees the task, the setup or the live variables that it makes, the check and the documentation of the
# problem. Stored snippets are neither used nor written, so that units do not learn from one another.

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
        from exploracoder_jupyter.evaluation.scoring import prepare_repository  # the extra `repo`

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
