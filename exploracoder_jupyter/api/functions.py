"""`explore` and `aexplore`, an exploration from Python code, and `search`, the documentation of installed
libraries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from exploracoder_jupyter import runs
from exploracoder_jupyter.api.exploration import Exploration
from exploracoder_jupyter.core.configuration.options import OPTIONS, nest_settings
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import UsageError, to_explora_error
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.messages import did_you_mean
from exploracoder_jupyter.core.types import RepositoryTask, Task
from exploracoder_jupyter.ipython_extension.running.offered_state import send_variables
from exploracoder_jupyter.ipython_extension.searching.search_results import Results, parse_results
from exploracoder_jupyter.ipython_extension.user_variables import describe_variables
from exploracoder_jupyter.runs import Listener, Order, RunSteering
from exploracoder_jupyter.runs.library_search import search as search_libraries

# `explore` and `aexplore`: an exploration from Python code.

Progress = bool | Callable[[Record], None]
"""Whether progress is written to standard error, or a function that receives each event of the run."""


def explore(
    task: str,
    *,
    libraries: str | Sequence[str] = (),
    repo: str | Path | None = None,
    target: str = "",
    check: str | None = None,
    setup: str = "",
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
        repo: the folder of a repository for which code is written, instead of exploring libraries. Then `tests`
            selects the tests as pytest does (a string, or several), or `test_command` is a shell command that tests.
        target: what is written in the repository: `"src/shop/cart.py::Cart"`.
        check: Python assertions, `input -> output` pairs, a doctest, or the path of a pytest file. Without one,
            a solution is `"solved"` only by an example with its result in the task, or by the model's judgement on
            inputs that it generates (`tests=True`), and `"unchecked"` otherwise.
        setup: code that makes the variables of which the task speaks; runs first, and is not part of the solution.
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
        repo=repo,
        target=target,
        check=check,
        setup=setup,
        name=name,
        variables=variables,
        workdir=workdir,
        progress=progress,
        steering=steering,
        **options,
    )
    with start_blocking_portal(name="explore") as portal:
        found = portal.start_task_soon(main)
        try:
            return found.result()
        except KeyboardInterrupt:
            steering.stop()
            print("Stopping the exploration ...", file=sys.stderr)  # noqa: T201
            wait([found])
            raise


async def aexplore(
    task: str,
    *,
    libraries: str | Sequence[str] = (),
    repo: str | Path | None = None,
    target: str = "",
    check: str | None = None,
    setup: str = "",
    name: str | None = None,
    variables: Mapping[str, object] | None = None,
    workdir: str | Path | None = None,
    progress: Progress = True,
    steering: RunSteering | None = None,
    **options: Any,
) -> Exploration:
    """The same as a coroutine. Cancelling it closes the trace; `steering` stops or steers it from another task."""
    names = (libraries,) if isinstance(libraries, str) else tuple(dict.fromkeys(libraries))
    task_in_repository = _pop_repository_task(target, options) if repo is not None else None
    known = {option.dest for option in OPTIONS if option.section and option.places}
    for unknown in options.keys() - known:
        raise UsageError(f"explore() has no option {unknown!r}.{did_you_mean(unknown, known)}")
    layer = nest_settings(options)
    try:
        folder = Path(workdir or Path.cwd())
    except FileNotFoundError as error:
        raise to_explora_error(error) from None
    with ExitStack() as stack:
        given = variables or {}
        sent = send_variables([*given], given, stack, resolve(layer).sandbox)
        if sent.problems:
            raise UsageError(" ".join(sent.problems.values()), remedy="Give `setup` code that makes them.")
        order = Order(
            Task(task, names, check=check, solution_name=name, uses=tuple(given), setup=setup),
            (layer,),
            folder,
            variables=Path(sent.folder) if sent.folder else None,
            mentioned=tuple(describe_variables(task, check, given, given, hidden={})),
        )
        if repo is not None and task_in_repository:
            order = runs.in_repository(order, Path(repo), task_in_repository)
        with _shown(progress) as listen:
            return await execute_order(order, listen, steering)


async def execute_order(order: Order, listen: Listener, steering: RunSteering | None = None) -> Exploration:
    """Execute an order of `explore` or of the command line, and collect its events."""
    records: list[Record] = []

    def collect(record: Record) -> None:
        records.append(record)
        listen(record)

    summary = await runs.run(order, collect, steering=steering)
    trace = summary.get("trace")
    return Exploration(tuple(records), Path(str(trace)) if trace else None, summary)


def _pop_repository_task(target: str, options: dict[str, Any]) -> RepositoryTask:
    if not target:
        raise UsageError("`repo` requires a `target`.", remedy='For example: target="src/shop/cart.py::Cart"')
    tests = options.pop("tests", None) or ()
    return RepositoryTask(
        target, (tests,) if isinstance(tests, str) else tuple(tests), options.pop("test_command", None) or ""
    )


@contextmanager
def _shown(progress: Progress) -> Iterator[Listener]:
    if callable(progress):
        yield progress
    elif progress:
        from exploracoder_jupyter.cli.run_display import progress_listener

        with progress_listener() as listen:
            yield listen
    else:
        yield lambda record: None


# `search`: the documentation of installed libraries, without a run.


def search(library: str | Sequence[str], query: str, k: int = 10, **options: Any) -> Results:
    """The APIs of a library that are nearest to a query, best first; the library is read at the first search.

    Args:
        library: distribution or import name, or several.
        query: what to do, in plain language, or a name.
        k: how many results, at most.
        options: the options of `jupyter explora search`, with underscores, such as `docs=["guide.md"]`.

    Raises:
        UsageError: a library is not installed.
    """
    names = [library] if isinstance(library, str) else list(library)

    async def main() -> Results:
        return parse_results(json.dumps(await search_libraries(names, query, k, layers=(nest_settings(options),))))

    with start_blocking_portal(name="search") as portal:  # an event loop may be running here
        return portal.call(main)
