"""An evaluation from Python: problems x strategies x samples, each a unit, in local processes or on a Dask cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product
from pathlib import Path

import anyio

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Layer, as_json, read_secrets, recorded_layer, resolve
from exploracoder_jupyter.core.errors import UsageError, unwrap_group
from exploracoder_jupyter.core.messages import did_you_mean, plural
from exploracoder_jupyter.evaluation.dask_workers import connect, create_shared_times, run_on_cluster
from exploracoder_jupyter.evaluation.local_workers import default_workers, run_locally
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.records import (
    Manifest,
    default_folder,
    prepare_folder,
    problems_digest,
    read_manifest,
    read_results,
    write_parquet,
)
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scheduling import (
    Limits,
    Progress,
    RecordedReplies,
    RunUnit,
    UnitExecution,
    UnitQueue,
    is_final,
)
from exploracoder_jupyter.evaluation.units import Unit, run_unit
from exploracoder_jupyter.kernel_agent.entry_points import registered
from exploracoder_jupyter.llm.recorded import ReplyArchive, ReplyRecording
from exploracoder_jupyter.runs.factories import with_recorded_model, with_resolved_model

STRATEGIES = ("rag", "adaptive")
"""The strategies of an evaluation that names none: the cheapest that retrieves, and the product."""
_REQUESTS = {"direct": 1, "rag": 1}
"""Requests of a unit, where all units of a strategy make the same number."""
ShowProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What to evaluate, and where."""

    problems: tuple[Problem, ...]
    strategies: tuple[str, ...] = STRATEGIES
    settings: Settings = field(default_factory=Settings)
    samples: int = 1
    out: Path | None = None
    """Folder of the results; by default a new one, `evaluations/<problem set>-<time>`."""
    resume: bool = False
    """Whether `out` contains this evaluation already, and is continued."""
    workers: int | None = None
    """Number of processes of this machine; by default as many as it has cores and memory for."""
    scheduler: str | None = None
    """Address of a Dask scheduler, to be used instead of processes of this machine."""
    limits: Limits = field(default_factory=Limits)
    replies: RecordedReplies | None = None
    """Where the replies of the model are recorded, or come from."""

    @property
    def units(self) -> Iterator[Unit]:
        """All units; strategies alternate, so that a part of an evaluation compares them too."""
        layer: Layer = recorded_layer(as_json(self.settings))
        problems = [
            problem if problem.folder == Path() else replace(problem, folder=problem.folder.resolve())
            for problem in self.problems
        ]
        for sample, problem, strategy in product(range(self.samples), problems, self.strategies):
            yield Unit(problem, strategy, sample, layer)

    @property
    def estimate(self) -> str:
        """One sentence: the number of units, and of requests to the model where it is known."""
        each, strategies = len(self.problems) * self.samples, ", ".join(self.strategies)
        sizes = f"{plural(len(self.problems), 'problem')}, {strategies}, {plural(self.samples, 'sample')}"
        known = ", ".join(
            f"{name} makes {plural(each * _REQUESTS[name], 'request')}" for name in self.strategies if name in _REQUESTS
        )
        unknown = ", ".join(name for name in self.strategies if name not in _REQUESTS)
        more = f"; how many requests {unknown} will make is not known in advance" if unknown else ""
        return f"{plural(each * len(self.strategies), 'unit')} ({sizes}){': ' if known else ''}{known}{more}."


@dataclass(frozen=True, slots=True)
class Results:
    """The results of an evaluation, complete or not."""

    folder: Path
    rows: tuple[UnitResult, ...]
    """One a unit."""
    left: int
    """Number of units without a result, or with one that is the fault of this program or of the endpoint."""


async def aevaluate(
    request: EvaluationRequest,
    *,
    progress: ShowProgress | None = None,
    started: Callable[[Path], None] | None = None,
    run: RunUnit | None = None,
) -> Results:
    """Run an evaluation. Cancelling it leaves a folder that can be resumed.

    `progress` is called after each unit, `started` with the folder of the results once it is known.

    Raises:
        UsageError: the evaluation cannot be run as requested; nothing was spent.
        MissingRequirement: Dask, or something that the model needs, is missing.
        EndpointError: the endpoint cannot be used; with results so far in the folder if it was usable at first.
        SchedulerLost: the connection to the Dask scheduler was lost.
    """
    await _validate(request)
    replies = request.replies
    if replies is None or replies.asks_model:
        settings = await with_resolved_model(
            request.settings, read_secrets(base_url=request.settings.endpoint.base_url)
        )
    else:
        recorded = ReplyRecording(ReplyArchive(replies.folder), "", asks_model=False)
        settings = with_recorded_model(request.settings, recorded)
    request = replace(request, settings=settings)
    changed = next(request.units).changed_settings
    manifest = Manifest(
        "-".join(dict.fromkeys(problem.problem_set for problem in request.problems)),
        len(request.problems),
        problems_digest(request.problems),
        request.strategies,
        request.settings.endpoint.model or OFFLINE,
        request.samples,
        {section: values for section, values in changed.items() if section not in ("view", "history")},
        str(replies.folder) if replies and not replies.asks_model else "",
    )
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(request.scheduler)) if request.scheduler else None
        folder = (request.out or default_folder(Path.cwd(), manifest.problem_set, datetime.now())).resolve()
        manifest = prepare_folder(folder, manifest, resume=request.resume)
        if started:
            started(folder)
        known = read_results(folder)
        counted = Progress(dict.fromkeys(request.strategies, len(request.problems) * request.samples), known)
        queue: UnitQueue[Unit] = UnitQueue(request.units, done={row.unit for row in known if is_final(row)})
        execution = UnitExecution(run or run_unit, folder, manifest.id, manifest.model, request.limits, request.replies)

        def listen(result: UnitResult) -> None:
            counted.add(result)
            if progress:
                progress(counted)

        try:
            if client:
                await create_shared_times(client, execution.evaluation)
                await run_on_cluster(queue, execution, client=client, listen=listen)
            else:
                await run_locally(queue, execution, workers=request.workers or default_workers(), listen=listen)
        except ExceptionGroup as group:
            raise unwrap_group(group) from group
        finally:
            results = load_results(folder)
            write_parquet(results.rows, folder)
    return results


def load_results(folder: Path) -> Results:
    """Read the results in the folder of an evaluation; UsageError if there is none in it."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise UsageError(f"There is no evaluation in {str(folder)!r}.", remedy="Name a folder with a manifest.json.")
    rows = read_results(folder)
    total = manifest.problems * len(manifest.strategies) * manifest.samples
    return Results(folder, tuple(rows), total - sum(map(is_final, rows)))


async def _validate(request: EvaluationRequest) -> None:
    """Refuse what cannot be evaluated, before anything is spent."""
    if not request.problems:
        raise UsageError("There are no problems.", remedy="Name a file with problems.")
    names = [plugin.name for plugin in registered("strategies")]
    for name in request.strategies:
        if name not in names:
            remedy = f"{did_you_mean(name, names)}Choose from {', '.join(sorted(names))}."
            raise UsageError(f"There is no strategy {name!r}.", remedy=remedy)
        plugins.get("strategies", name)
    if request.resume and request.out is None:
        raise UsageError("--resume requires --out.", remedy="Name the folder of the evaluation with --out.")
    ids = Counter((problem.problem_set, problem.id) for problem in request.problems)
    if twice := [id_ for (_, id_), count in ids.items() if count > 1]:
        raise UsageError(f"Several problems have the id {twice[0]!r}.", remedy="Give each problem its own id.")
    first = {problem.folder: problem for problem in reversed(request.problems) if problem.repository}
    if first and not request.scheduler and not request.resume:
        from exploracoder_jupyter.evaluation.scoring import check_tests_run  # needs the extra `repo`

        for problem in first.values():
            await check_tests_run(problem, request.settings)


def evaluate(
    problems: str | Path | Sequence[Problem],
    *,
    strategies: Sequence[str] = STRATEGIES,
    model: str | None = None,
    base_url: str | None = None,
    samples: int = 1,
    workers: int | None = None,
    scheduler: str | None = None,
    limits: Limits | None = None,
    record: str | Path | None = None,
    replay: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    settings: Layer | None = None,
    progress: ShowProgress | None = None,
) -> Results:
    """Measure strategies on problems with hidden tests, and return one result for each unit.

    Args:
        problems: a problem file, or problems.
        strategies: registered names of strategies.
        model: name of the model; by default as configured.
        base_url: address of the endpoint; by default as configured.
        samples: how often each strategy solves each problem.
        workers: number of processes of this machine; by default as many as it has cores and memory for.
        scheduler: address of a Dask scheduler, e.g. `tcp://host:8786`, to be used instead.
        limits: what the endpoint allows all workers together.
        record: folder in which the model's replies are recorded; what it contains already is not requested again.
        replay: folder of recorded replies, to be used instead of a model.
        out: folder of the results; by default a new one, `evaluations/<problem set>-<time>`.
        resume: continue the evaluation in `out`.
        settings: other settings, e.g. `{"exploration": {"candidates": 3}}`.
        progress: called after each unit.

    Raises:
        UsageError, MissingRequirement, EndpointError, SchedulerLost: see `aevaluate`.
    """
    endpoint = {name: value for name, value in (("model", model), ("base_url", base_url)) if value is not None}
    resolved = resolve({"endpoint": endpoint}, settings or {})

    async def main() -> Results:
        found = await read_problems([problems], resolved) if isinstance(problems, str | Path) else tuple(problems)
        request = EvaluationRequest(
            found,
            tuple(dict.fromkeys(strategies)),
            resolved,
            samples,
            Path(out) if out is not None else None,
            resume,
            workers,
            scheduler,
            limits or Limits(),
            recorded_replies(record, replay),
        )
        return await aevaluate(request, progress=progress)

    return anyio.run(main)


def recorded_replies(record: str | Path | None, replay: str | Path | None) -> RecordedReplies | None:
    """Return the folder of recorded replies, if one is given; UsageError if both are."""
    if record is not None and replay is not None:
        raise UsageError("Replies cannot be recorded and replayed at the same time.", remedy="Give only one folder.")
    folder = record if replay is None else replay
    return None if folder is None else RecordedReplies(Path(folder).resolve(), asks_model=replay is None)


async def read_problems(
    paths: Sequence[str | Path],
    settings: Settings,
    *,
    limit: int | None = None,
    notify: Callable[[str], None] = lambda sentence: None,
) -> tuple[Problem, ...]:
    """Read the problems of all files, at most `limit` of each; `notify` receives notices about the files."""
    from exploracoder_jupyter.evaluation.problem_files import load_problems

    found: list[Problem] = []
    for path in paths:
        problem_set = await load_problems(Path(path), settings)
        found += problem_set.problems[:limit]
        for sentence in problem_set.notices:
            notify(sentence)
    return tuple(found)
