"""One exploration, from order to summary. Whatever ends it, its siblings are ended and its trace is closed."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

import anyio

from exploracoder_jupyter import __version__
from exploracoder_jupyter.config import OFFLINE, Secrets, Settings, secrets
from exploracoder_jupyter.errors import unwrapped
from exploracoder_jupyter.events import RunStarted
from exploracoder_jupyter.execution import RerunSiblings
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.session.order import Order, RunSteering, checked
from exploracoder_jupyter.session.parts import (
    choose_model,
    exploration,
    hidden_strings,
    notices,
    open_knowledge,
    recorded,
    settled,
)
from exploracoder_jupyter.session.teller import Listener, Place, Summary, Teller


async def run(
    order: Order, listen: Listener, *, steering: RunSteering | None = None, begun: Place | None = None
) -> Summary:
    """Carry an order out and return its summary; `begun` is told where the trace is, once there is one.

    Raises:
        UsageError, MissingMeans: the order cannot be carried out; no trace was written.
        EndpointError, KernelError: our means failed on the way; the trace is closed and says so.
    """
    steering = steering or RunSteering()
    settings = checked(order)
    keys = secrets()
    hidden = hidden_strings(settings.endpoint, keys)
    teller = Teller(order, settings, listen, begun=begun or (lambda path: None), hidden=hidden)
    with anyio.CancelScope() as scope:
        steering.bind(scope)
        try:
            await _carry_out(order, settings, keys, teller, steering)
        except Exception as error:
            raise teller.failed(unwrapped(error)) from None
        finally:
            teller.close()
    return teller.summary()


async def _carry_out(order: Order, settings: Settings, keys: Secrets, tell: Teller, steering: RunSteering) -> None:
    meter = Meter(settings.budget)
    settings = await settled(settings, keys)
    async with AsyncExitStack() as stack:
        siblings = RerunSiblings(settings.sandbox, workdir=order.workdir, variables=order.variables)
        await stack.enter_async_context(siblings)
        tell(_started(order, settings, siblings))
        for notice in notices(settings, keys):
            tell(notice)
        knowledge = await open_knowledge(
            order.task.libraries,
            settings,
            keys,
            inspect=siblings.inspect,
            advance=tell.advance,
            tell=tell,
            stack=stack,
        )
        model = await choose_model(settings, keys, knowledge, stack)
        root = await siblings.root()
        share, parallel = settings.endpoint.share, os.cpu_count() or 2
        method = exploration(settings)
        await run_task(
            Run(order.task, method, model, knowledge, root, tell, steering, meter, sharing=share, parallel=parallel)
        )


def _started(order: Order, settings: Settings, siblings: RerunSiblings) -> RunStarted:
    return RunStarted(
        os.urandom(4).hex(),
        order.task,
        recorded(settings),
        settings.endpoint.model or OFFLINE,
        siblings.environment(),
        __version__,
    )
