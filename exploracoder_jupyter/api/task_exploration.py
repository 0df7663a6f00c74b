"""`explore` and `aexplore`: an exploration from Python code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from exploracoder_jupyter.api.event_loop_thread import start_in_thread
from exploracoder_jupyter.api.exploration import Exploration
from exploracoder_jupyter.core.command_options import OPTIONS, nest_settings
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.settings import resolve
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.core.wording import did_you_mean
from exploracoder_jupyter.frontend.running.variable_sending import send_variables
from exploracoder_jupyter.runs import Listener, Order, RunSteering, run

Progress = bool | Callable[[Record], None]
"""Whether progress is written to standard error, or a function that receives each event of the run."""


def explore(
    task: str,
    *,
    libraries: str | Sequence[str],
    check: str | None = None,
    name: str | None = None,
    variables: Mapping[str, object] | None = None,
    workdir: str | Path | None = None,
    progress: Progress = True,
    **options: Any,
) -> Exploration:
    """Explore a task with libraries and return what was found; waits for the end, also inside a running event loop.

    An interrupt (Ctrl-C) stops the run, closes its trace and is then raised again.

    Args:
        task: what to do, in plain language.
        libraries: the libraries to explore, by distribution or import name.
        check: Python assertions, `input -> output` pairs, a doctest, or the path of a pytest file. Without one,
            a solution is at most `"unchecked"`, unless generated inputs are asked for with `tests=True`.
        name: the name of the function that the solution is to define.
        variables: values that experiments may use; they receive copies.
        workdir: the folder whose files experiments see as copies, and below which the trace is written; by default
            the current one.
        progress: `False` for none, or a function that receives each event.
        options: the options of `jupyter explora run`, with underscores: `model="offline"`, `candidates=3`,
            `timeout=60`. Settings that are not given come from the configuration file and the environment.

    Raises:
        UsageError, MissingRequirement: the run cannot be started; nothing was written.
        EndpointError, KernelError, InternalError: it ended early; its trace is complete up to that point.
    """
    steering = RunSteering()
    main = partial(
        aexplore,
        task,
        libraries=libraries,
        check=check,
        name=name,
        variables=variables,
        workdir=workdir,
        progress=progress,
        steering=steering,
        **options,
    )
    found = start_in_thread(main, "explore")
    try:
        return found.result()
    except KeyboardInterrupt:
        steering.stop()
        print("Stopping the exploration ...", file=sys.stderr)  # noqa: T201
        wait([found])  # a second interrupt ends this
        raise


async def aexplore(
    task: str,
    *,
    libraries: str | Sequence[str],
    check: str | None = None,
    name: str | None = None,
    variables: Mapping[str, object] | None = None,
    workdir: str | Path | None = None,
    progress: Progress = True,
    steering: RunSteering | None = None,
    **options: Any,
) -> Exploration:
    """The same as a coroutine. Cancelling it closes the trace; `steering` stops or steers it from another task."""
    names = (libraries,) if isinstance(libraries, str) else tuple(dict.fromkeys(libraries))
    layer = _layer(options)
    folder = Path(workdir or Path.cwd())
    with ExitStack() as stack:
        given = variables or {}
        values, unsent = send_variables([*given], given, stack, resolve(layer).sandbox, forks="never")
        order = Order(
            Task(task, names, check=check, solution_name=name, uses=tuple(given)),
            (layer,),
            folder,
            variables=Path(values) if values else None,
            unsent=unsent,
        )
        with shown(progress) as listen:
            return await carry_out(order, listen, steering)


async def carry_out(order: Order, listen: Listener, steering: RunSteering | None = None) -> Exploration:
    """Carry out an order of any front end and collect its events."""
    records: list[Record] = []

    def collect(record: Record) -> None:
        records.append(record)
        listen(record)

    summary = await run(order, collect, steering=steering)
    trace = summary.get("trace")
    return Exploration(tuple(records), Path(str(trace)) if trace else None, summary)


@contextmanager
def shown(progress: Progress) -> Iterator[Listener]:
    """A listener that shows progress as asked: live on a terminal, else as lines."""
    if callable(progress):
        yield progress
    elif progress:
        from exploracoder_jupyter.cli.display.run_display import progress_listener

        with progress_listener() as listen:
            yield listen
    else:
        yield lambda record: None


def _layer(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings that these options set.

    Raises:
        UsageError: one is unknown, or belongs to the command line alone.
    """
    known = {option.dest for option in OPTIONS if option.section}
    for name in options:
        if name not in known:
            raise UsageError(f"explore() has no option {name!r}.{did_you_mean(name, known)}")
    return nest_settings(options)
