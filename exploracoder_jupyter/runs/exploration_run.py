"""Executes one exploration, from order to summary. However it ends, its siblings are ended and its trace is closed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from importlib.machinery import PathFinder
from inspect import getsource
from pathlib import Path

import anyio

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.sections import EXPLORE, OFFLINE
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import Secrets, read_secrets, unknown_variables
from exploracoder_jupyter.core.errors import EndpointError, ExploraError, MissingRequirement, unwrap_group
from exploracoder_jupyter.core.events import LibraryRead, Notice, Record, RunFinished, RunStarted
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Environment, Output, Task
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.kernel_agent.introspection.locations import module_origin
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.agent import find_interpreter
from exploracoder_jupyter.kernels.sandbox.working_directory import is_root_folder
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.recorded import PartialReplayModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.pipeline.ports import Branch, Model, PassageSearch
from exploracoder_jupyter.pipeline.prompting.requests import strip_lookup_offer
from exploracoder_jupyter.pipeline.solving.user_check import missing_names_notice
from exploracoder_jupyter.protocol.browser_messages import CellChange
from exploracoder_jupyter.runs.factories import (
    check_libraries_at_target,
    choose_model,
    exploration_settings,
    model_notices,
    open_sources,
    recordable_settings,
    secret_strings,
    with_recorded_model,
    with_resolved_model,
)
from exploracoder_jupyter.runs.knowledge_factory import open_knowledge
from exploracoder_jupyter.runs.order import (
    Order,
    ResumedRun,
    find_variables,
    lacking_variables_message,
    unsent_variables_message,
    validate_order,
)
from exploracoder_jupyter.runs.recording import (
    EventRecorder,
    HistoryWriter,
    Listener,
    StateListener,
    Summary,
    TraceCreated,
)
from exploracoder_jupyter.runs.steering import RunSteering
from exploracoder_jupyter.runs.trace_check.re_execution import retry_on_branching_change, run_setup
from exploracoder_jupyter.trace import CellView, Redactor
from exploracoder_jupyter.trace.cells import solution_outputs
from exploracoder_jupyter.trace.paths import files_path
from exploracoder_jupyter.trace.redaction import local_homes

CellListener = Callable[[list[CellChange]], None]
"""Called with the changes to make in the calling notebook."""
OutputListener = Callable[[list[Output]], None]
"""Called with sanitized outputs."""


async def run(
    order: Order,
    listen: Listener,
    *,
    steering: RunSteering | None = None,
    on_trace_created: TraceCreated | None = None,
    cells: CellListener | None = None,
    solution: OutputListener | None = None,
) -> Summary:
    """Execute an order and return its summary.

    `cells` is called with the changes in the notebook of the calling cell, if the order names one; `solution` at the
    end with what the solution showed when it ran.

    Raises:
        UsageError, MissingRequirement: the order cannot be executed; no trace was written.
        EndpointError, KernelError, InternalError: the endpoint, a kernel or this package failed during the run; the
            trace is closed and contains the failure, and the error has the `summary`.
    """
    steering = steering or RunSteering()
    settings = with_recorded_model(validate_order(order), order.replies)
    keys = read_secrets(base_url=settings.endpoint.base_url)
    hidden = secret_strings(settings.endpoint, keys)
    view = CellView(order.cell, settings.view.show, settings.view.cells)
    notify = _combine_listeners(listen, view, cells if order.cell else None, solution)
    historian = HistoryWriter(order, settings, notify, on_trace_created or (lambda path: None))
    emit = EventRecorder(
        order,
        settings,
        historian.listen,
        on_trace_created=historian.trace_created,
        renamed=historian.trace_renamed,
        hidden=hidden,
    )
    failure: ExploraError | None = None
    try:
        with anyio.CancelScope() as scope:
            steering.bind(scope)
            await _explore(order, settings, keys, emit, steering)
    except Exception as error:
        failure = emit.fail(error)
        failure.__cause__ = unwrap_group(error)
    finally:
        emit.close()
    if failure is None:
        return emit.summary()
    if emit.records:
        failure.summary = emit.summary()
    raise failure


def _combine_listeners(
    listen: Listener, view: CellView, cells: CellListener | None, show: OutputListener | None
) -> StateListener:
    """Return a listener that passes on each record, the cell changes that follow from it, and the solution's outputs.

    Changes are deferred until the libraries are read: a typo in a name must not replace an earlier exploration.
    """
    deferred: list[CellChange] | None = []

    def notify(record: Record, state: RunState) -> None:
        nonlocal deferred
        listen(record)
        if cells:
            changes = view.update(state)
            if deferred is not None:
                deferred += changes
                changes = []
                if isinstance(record.event, LibraryRead):
                    changes, deferred = deferred, None
            if changes:
                cells(changes)
        if show and isinstance(record.event, RunFinished) and (outputs := solution_outputs(state)):
            show([*outputs])

    return notify


async def _explore(order: Order, settings: Settings, keys: Secrets, emit: EventRecorder, steering: RunSteering) -> None:
    meter, method = Meter(settings.budget, settings.prices), exploration_settings(settings, order.layers)
    if order.task.repository:
        plugins.get("strategies", method.method)  # names the extra if the libraries that read source code are missing

        from exploracoder_jupyter.repository.index import RepositoryIndex
        from exploracoder_jupyter.repository.target import find_target

        # refuses a target that cannot be written before any kernel is started
        find_target(RepositoryIndex(order.workdir.resolve(), (), ""), order.task.repository.target)
    await check_libraries_at_target(order.task.libraries, settings, folder=order.workdir)
    async with AsyncExitStack() as stack:
        siblings = await stack.enter_async_context(
            open_siblings(settings.sandbox, workdir=order.workdir, variables=order.variables, live=order.live)
        )
        root = await siblings.root()  # first, so that it has the state of the caller's kernel at the start of the run
        if order.recording:
            root = await order.recording.begin(root)
        base, given = root, replace(order.task, setup=order.before or order.task.setup)
        root = await retry_on_branching_change(lambda: run_setup(base, given))
        if not order.recording and (order.replies is None or order.replies.asks_model):
            settings = await _resolve_settings(order, settings, keys)  # after the root, since an endpoint may be slow
        environment = replace(siblings.environment(), folder=str(order.workdir.resolve()))
        task = order.task
        if not order.recording:
            begin, seconds = root, settings.exploration.timeout
            task = await retry_on_branching_change(
                lambda: find_variables(order, begin, state=environment.state, timeout=seconds)
            )
        emit(_started_event(task, settings, environment, order.earlier, emit.path))
        messages = (
            _folder_notice(order.workdir),
            *siblings.notices,
            lacking_variables_message(task),
            missing_names_notice(task),
        )
        for notice in _initial_notices(order, settings, keys, messages):
            emit(notice)
        knowledge = await open_knowledge(
            order.task.libraries,
            settings,
            keys,
            inspect=siblings.inspect,
            advance=emit.advance,
            emit=emit,
            stack=stack,
            folder=order.workdir,
            store_introductions=order.recording is None and order.replies is None,
        )
        if not order.recording:
            for notice in await check_imports(root, knowledge.unread, timeout=settings.exploration.timeout):
                emit(notice)
            suspected = {
                name: origin
                for name, origin in knowledge.origins.items()
                if environment.state.startswith("live") or _may_be_shadowed(name, order.workdir)
            }
            for notice in await check_origins(root, suspected, timeout=settings.exploration.timeout):
                emit(notice)
        model, sources = await _open_model_and_sources(order, settings, keys, knowledge, emit, stack)
        if task.repository and model.name == OFFLINE:
            raise MissingRequirement(
                "The offline model cannot write code for a repository.", remedy="Choose a language model with --model."
            )
        meter.use_model(model.name, required=order.recording is None)
        run = Run(
            task,
            method,
            model,
            knowledge,
            root,
            emit,
            steering,
            meter,
            sharing=settings.endpoint.share,
            parallel=os.cpu_count() or 2,
            files=files_path(emit.path) if settings.view.keep_files else None,
            unsent=unsent_variables_message(order, task),
            steerable=order.steerable,
            given=order.given,
            retrieval=settings.retrieval,
            sources=sources,
            python=environment.python,
            interpreter=_other_interpreter(settings),
            as_published=_follows_older_procedure(order),
            workdir=order.workdir.resolve(),
        )
        try:
            await run_task(run, plugins.get("strategies", EXPLORE if run.as_published else method.method))
        finally:
            with suppress(OSError):  # it has files
                if run.files:
                    run.files.rmdir()


def _other_interpreter(settings: Settings) -> str:
    """Return the path of the interpreter that the settings name; empty without one."""
    kernel, python = settings.sandbox.kernel, settings.sandbox.python
    if settings.sandbox.gateway or not (kernel or python):
        return ""
    path = find_interpreter(kernel, python).command[0]
    return path if Path(path).is_absolute() else shutil.which(path) or ""


def _follows_older_procedure(order: Order) -> bool:
    """Whether the run replays one from before there was a choice of effort: then every request was always made."""
    recorded = [layer.get("exploration", {}) for layer in order.layers]
    chosen = any("effort" in layer or layer.get("strategy") not in (None, EXPLORE) for layer in recorded)
    return order.recording is not None and not chosen


async def _resolve_settings(order: Order, settings: Settings, keys: Secrets) -> Settings:
    """Call `with_resolved_model`; if the endpoint's address comes from the trace, the error's remedy mentions that."""
    try:
        return await with_resolved_model(settings, keys)
    except EndpointError as error:
        if not (order.earlier and order.earlier.address):
            raise
        more = "That address comes from the trace: use --base-url for another endpoint, or --model offline for none."
        raise EndpointError(error.message, remedy=f"{error.remedy} {more}".strip()) from None


async def _open_model_and_sources(
    order: Order,
    settings: Settings,
    keys: Secrets,
    knowledge: TaskLibraries,
    emit: EventRecorder,
    stack: AsyncExitStack,
) -> tuple[Model, PassageSearch]:
    if order.recording:
        return order.recording.model, order.recording.sources
    sources = await open_sources(order, settings, keys, knowledge=knowledge, emit=emit, stack=stack)
    model = await choose_model(
        settings,
        keys,
        knowledge,
        stack,
        advance=emit.advance,
        wrap=order.wrap_model,
        replies=order.replies,
        secrets=secret_strings(settings.endpoint, keys),
    )
    if order.earlier and order.earlier.exchanges:
        redact = Redactor(secret_strings(settings.endpoint, keys), homes=local_homes()).text  # as in the trace
        model = PartialReplayModel(model, order.earlier.exchanges, clean=lambda text: strip_lookup_offer(redact(text)))
    return model, sources


def _folder_notice(workdir: Path) -> str:
    if not is_root_folder(workdir):
        return ""
    return f"Experiments start in an empty folder instead of {workdir}: use absolute paths for your files."


def _initial_notices(order: Order, settings: Settings, keys: Secrets, messages: Iterable[str]) -> list[Notice]:
    if order.recording:
        return [Notice(order.recording.message), *map(Notice, filter(None, messages))]
    before = [Notice(order.earlier.message)] if order.earlier else []
    unknown = [Notice(f"{problem} {remedy}", "warning") for problem, remedy in unknown_variables()]
    return [*before, *unknown, *map(Notice, filter(None, messages)), *model_notices(settings, keys)]


def _started_event(
    task: Task, settings: Settings, environment: Environment, earlier: ResumedRun | None, trace: Path
) -> RunStarted:
    """Return the first event, with the run that is resumed, needed if this one is cut off before repeating it."""
    model = settings.endpoint.model or OFFLINE
    run_id = os.urandom(4).hex()
    started = RunStarted(run_id, task, recordable_settings(settings), model, environment, __version__)
    if earlier is None:
        return started
    beside = earlier.trace.parent == trace.parent
    return replace(
        started,
        resumes=earlier.run_id,
        resumes_trace=earlier.trace.name if beside else str(earlier.trace),
        resumes_from=earlier.cell,
        resumes_hint=earlier.hint,
    )


async def check_imports(root: Branch, names: Sequence[str], *, timeout: float) -> list[Notice]:
    """Import each library in a temporary branch, and return a notice with the result.

    `timeout` is in seconds, for each import.
    """
    notices = []
    for name in names:
        (branch,) = await root.fork(1)
        try:
            observation = await branch.run(f"import {name}", timeout=timeout)
        finally:
            await branch.close()
        if observation.ran:
            notices.append(Notice(f"Experiments can import {name!r}."))
            continue
        why = observation.error.headline if observation.error else "the import does not end"
        text = f"Experiments cannot import {name!r} either ({why}), so all that use it will fail."
        notices.append(Notice(text, "warning"))
    return notices


def _may_be_shadowed(name: str, workdir: Path) -> bool:
    """Whether something in the working directory, where experiments look first, has the name of a library."""
    return PathFinder.find_spec(name.partition(".")[0], [str(workdir)]) is not None


def _in_folder(place: str) -> str:
    return place if Path(place).is_absolute() else f"{place} in this folder"


async def check_origins(root: Branch, origins: Mapping[str, str], *, timeout: float) -> list[Notice]:
    """Return a notice for each library that experiments import from elsewhere than what its APIs were read from.

    `origins` are the files that were read (see `module_origin`); `timeout` is in seconds.
    """
    if not origins:
        return []
    names = {name: name.partition(".")[0] for name in origins}
    code = f"{getsource(module_origin)}\nprint(*map(module_origin, {[*names.values()]!r}), sep='\\n')"
    (branch,) = await root.fork(1)
    try:
        observation = await branch.run(code, timeout=timeout)
    finally:
        await branch.close()
    places = dict(zip(names, observation.text.split("\n"), strict=False)) if observation.ran else {}
    return [
        Notice(
            f"Experiments import {name!r} from {_in_folder(place)}, not from "
            f"{origins[name]}, whose APIs are shown. If that is not intended, rename or move the former.",
            "warning",
        )
        for name, place in places.items()
        if place and place != origins[name]
    ]
