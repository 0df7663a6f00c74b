"""One exploration, from order to summary. Whatever ends it, its siblings are ended and its trace is closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path

import anyio

from exploracoder_jupyter.core.errors import EndpointError, ExploraError, UsageError, unwrapped
from exploracoder_jupyter.core.events import LibraryRead, Notice, Record, RunStarted
from exploracoder_jupyter.core.settings import OFFLINE, Secrets, Settings, secrets, unknown_variables
from exploracoder_jupyter.core.types import Environment, Task
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.knowledge import Library
from exploracoder_jupyter.llm import RememberingModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.pipeline.ports import Model, Soup
from exploracoder_jupyter.pipeline.prompting.prompt_templates import without_offer
from exploracoder_jupyter.pipeline.solving.check_names import missing_names_notice
from exploracoder_jupyter.protocol.browser_messages import CellChange
from exploracoder_jupyter.runs.adapters import (
    check_libraries_at_target,
    choose_model,
    exploration,
    hidden_strings,
    notices,
    open_knowledge,
    recorded,
    settled,
)
from exploracoder_jupyter.runs.event_recorder import Listener, Place, Summary, Teller
from exploracoder_jupyter.runs.history_writer import Historian
from exploracoder_jupyter.runs.import_check import import_notices
from exploracoder_jupyter.runs.run_order import Earlier, Order, RunSteering, checked, lacking, told_of_variables, unseen
from exploracoder_jupyter.runs.source_factory import open_soup
from exploracoder_jupyter.trace import CellView, Redactor
from exploracoder_jupyter.trace.sanitizing.path_redaction import own_homes
from exploracoder_jupyter.trace.trace_paths import files_path

CellListener = Callable[[list[CellChange]], None]
"""Is told what has to change in the calling notebook."""


async def run(
    order: Order,
    listen: Listener,
    *,
    steering: RunSteering | None = None,
    begun: Place | None = None,
    cells: CellListener | None = None,
) -> Summary:
    """Carry an order out and return its summary; `begun` is told where the trace is, once there is one, and `cells`
    what changes in the notebook of the calling cell, where the order names one.

    Raises:
        UsageError, MissingMeans: the order cannot be carried out; no trace was written.
        EndpointError, KernelError, InternalError: our means failed on the way, or this package did; the trace is closed
            and says so, and the error has the `summary`.
    """
    steering = steering or RunSteering()
    settings = checked(order)
    keys = secrets()
    hidden = hidden_strings(settings.endpoint, keys)
    if cells and order.cell:
        listen = _with_cells(listen, CellView(order.cell, settings.view.show), cells)
    historian = Historian(order, settings, listen, begun or (lambda path: None))
    teller = Teller(order, settings, historian.listen, begun=historian.begun, renamed=historian.renamed, hidden=hidden)
    failure: ExploraError | None = None
    try:
        with anyio.CancelScope() as scope:
            steering.bind(scope)
            await _carry_out(order, settings, keys, teller, steering)
    except Exception as error:
        failure = teller.failed(error)
        failure.__cause__ = unwrapped(error)
    finally:
        teller.close()
    if failure is None:
        return teller.summary()
    if teller.records:
        failure.summary = teller.summary()
    raise failure


def _with_cells(listen: Listener, view: CellView, cells: CellListener) -> Listener:
    """Tell the record, then the changes of cells that follow from it.

    Until the libraries are read nothing is changed: a mistake in a name must not replace an earlier exploration.
    """
    held: list[CellChange] | None = []

    def both(record: Record) -> None:
        nonlocal held
        listen(record)
        changes = view.apply(record)
        if held is not None:
            held += changes
            if not isinstance(record.event, LibraryRead):
                return
            changes, held = held, None
        if changes:
            cells(changes)

    return both


async def _carry_out(order: Order, settings: Settings, keys: Secrets, tell: Teller, steering: RunSteering) -> None:
    meter = Meter(settings.budget)
    await check_libraries_at_target(order.task.libraries, settings, folder=order.workdir)
    async with AsyncExitStack() as stack:
        siblings = await stack.enter_async_context(
            open_siblings(settings.sandbox, workdir=order.workdir, variables=order.variables, live=order.live)
        )
        root = await siblings.root()  # at once: it is the caller's kernel as it is now
        if order.recording:
            root = await order.recording.begin(root)
        else:
            settings = await _settled(order, settings, keys)  # an endpoint may take its time
        environment = replace(siblings.environment(), folder=str(order.workdir.resolve()))
        _check_variables(order, environment)
        task = told_of_variables(order, environment)
        tell(_with_earlier(_started(task, settings, environment), order.earlier, tell.path))
        for notice in _notices(
            order, settings, keys, (*siblings.notices, unseen(order, task), missing_names_notice(task))
        ):
            tell(notice)
        knowledge = await open_knowledge(
            order.task.libraries,
            settings,
            keys,
            inspect=siblings.inspect,
            advance=tell.advance,
            tell=tell,
            stack=stack,
            folder=order.workdir,
            acquainted=order.recording is None,
        )
        if not order.recording:
            seconds = settings.exploration.timeout
            for notice in await import_notices(root, knowledge.unread, timeout=seconds):
                tell(notice)
        model, soup = await _asked(order, settings, keys, knowledge, tell, stack)
        run = Run(
            task,
            exploration(settings),
            model,
            knowledge,
            root,
            tell,
            steering,
            meter,
            sharing=settings.endpoint.share,
            parallel=os.cpu_count() or 2,
            files=files_path(tell.path) if settings.view.keep_files else None,
            unsent=lacking(order, task),
            steerable=order.steerable,
            given=order.given,
            retrieval=settings.retrieval,
            soup=soup,
            python=environment.python,
        )
        try:
            await run_task(run)
        finally:
            _leave_no_empty(run.files)


async def _settled(order: Order, settings: Settings, keys: Secrets) -> Settings:
    """As `settled`, saying of an address that it comes from a trace."""
    try:
        return await settled(settings, keys)
    except EndpointError as error:
        if not (order.earlier and order.earlier.address):
            raise
        more = "That address is the trace's: --base-url names another, --model offline asks none."
        raise EndpointError(error.message, remedy=f"{error.remedy} {more}".strip()) from None


def _check_variables(order: Order, environment: Environment) -> None:
    """Refuse to explore without variables that were named: a fresh kernel has only what could be sent."""
    if not order.unsent or environment.state.startswith("live"):
        return
    why = f"Experiments start {environment.state}." if ":" in environment.state else ""
    if order.variables is None:
        raise UsageError(f"{why} {order.unsent}".strip())
    raise UsageError(f"--use: {order.unsent} {why}".strip(), remedy="--pickle may carry more.")


async def _asked(
    order: Order, settings: Settings, keys: Secrets, knowledge: Library, tell: Teller, stack: AsyncExitStack
) -> tuple[Model, Soup]:
    """What is asked in the run: a model and what is searched, or a recording in place of both."""
    if order.recording:
        return order.recording.model, order.recording.soup
    soup = await open_soup(order, settings, keys, knowledge=knowledge, tell=tell, stack=stack)
    model = await choose_model(settings, keys, knowledge, stack, advance=tell.advance)
    if order.earlier and order.earlier.exchanges:
        hide = Redactor(hidden_strings(settings.endpoint, keys), homes=own_homes()).text  # as the trace has them
        model = RememberingModel(model, order.earlier.exchanges, clean=lambda text: without_offer(hide(text)))
    return model, soup


def _notices(order: Order, settings: Settings, keys: Secrets, said: Iterable[str]) -> list[Notice]:
    """What the user should know before anything is asked."""
    if order.recording:
        return [Notice(order.recording.said), *map(Notice, filter(None, said))]
    before = [Notice(order.earlier.said)] if order.earlier else []
    unknown = [Notice(f"{what} {remedy}", "warning") for what, remedy in unknown_variables()]
    return [*before, *unknown, *map(Notice, filter(None, said)), *notices(settings, keys)]


def _leave_no_empty(folder: Path | None) -> None:
    with suppress(OSError):
        if folder:
            folder.rmdir()


def _started(task: Task, settings: Settings, environment: Environment) -> RunStarted:
    return RunStarted(
        os.urandom(4).hex(), task, recorded(settings), settings.endpoint.model or OFFLINE, environment, __version__
    )


def _with_earlier(started: RunStarted, earlier: Earlier | None, trace: Path) -> RunStarted:
    """With the run that it goes on from, and from where: it may be cut off before it has taken that over."""
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
