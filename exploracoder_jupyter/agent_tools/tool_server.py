"""Defines the tools of the server: names, arguments and descriptions, written for a model that reads them."""

from __future__ import annotations

import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from anyio.abc import TaskGroup
from pydantic import BaseModel, ConfigDict, Field

from exploracoder_jupyter.agent_tools import protocol_sdk, tool_limits
from exploracoder_jupyter.agent_tools.call_log import CallLog, calls_path
from exploracoder_jupyter.agent_tools.tool_limits import (
    DEFAULT_TOKENS,
    FRESH,
    MAX_FOUND,
    ControlName,
    fitting_json,
)
from exploracoder_jupyter.core.errors import ExploraError, InternalError, to_explora_error

if TYPE_CHECKING:
    from exploracoder_jupyter.agent_tools.exploration_tools import ExplorationTools
    from exploracoder_jupyter.agent_tools.tries_notebook import TriesNotebook
    from exploracoder_jupyter.agent_tools.trying_tools import TryingTools

INSTRUCTIONS: Final = (
    "Read an API here before you call it: the answers are of exactly the installed version. Try code here before you "
    "write it into a notebook or file: try_variants runs up to eight variants at once, in forks of the user's live "
    "kernel with all its variables, or in a fresh kernel, and changes neither the user's variables nor files. "
    "Usual order: find_packages if no library is given, search_apis, read_api, try_variants; then continue from the "
    "best with `after`."
)

Kernel = Annotated[str, Field(max_length=500, description="id or notebook from list_kernels")]
StartKernel = Annotated[
    str, Field(max_length=500, description=f'id or notebook from list_kernels, or "{FRESH}" for an empty kernel')
]
OtherKernel = Annotated[
    str, Field(max_length=500, description="read the environment of this running kernel; empty: the server's own")
]
Libraries = Annotated[
    list[str], Field(min_length=1, max_length=10, description="import or distribution names, installed")
]
MaxTokens = Annotated[
    int,
    Field(
        ge=tool_limits.MIN_TOKENS,
        le=tool_limits.MAX_TOKENS,
        description="size limit of the answer; raise it if the answer says that something was cut",
    ),
]
RunId = Annotated[str, Field(max_length=60, description="from explore_task")]


class VariantArgument(BaseModel):
    """One variant of try_variants."""

    model_config = ConfigDict(extra="forbid")
    label: Annotated[str, Field(max_length=40, description="your name for it: letters, digits, . _ + -")]
    code: Annotated[str, Field(max_length=tool_limits.MAX_CODE, description="Python, as in a notebook cell")]
    after: Annotated[
        str,
        Field(
            max_length=100,
            description="start from the state that this variant left: its label, or `state` of an earlier result",
        ),
    ] = ""


@dataclass
class Workbench:
    """What the tools of one client have started, and the folder in which they work.

    The modules that do the work are imported by the first call that needs them, so that the server answers at once.
    """

    tasks: TaskGroup
    workdir: Path
    log: CallLog
    tries: TriesNotebook | None = None

    @cached_property
    def trying(self) -> TryingTools:
        """The tools that look into kernels."""
        from exploracoder_jupyter.agent_tools.sibling_hosts import SiblingHosts
        from exploracoder_jupyter.agent_tools.trying_tools import TryingTools

        return TryingTools(SiblingHosts(self.tasks), self.workdir, self.tries)

    @cached_property
    def exploring(self) -> ExplorationTools:
        """The tools that explore tasks."""
        from exploracoder_jupyter.agent_tools.exploration_tools import ExplorationTools

        return ExplorationTools(self.tasks, self.workdir)


@asynccontextmanager
async def open_tools(
    workdir: Path, *, log: CallLog | None = None, tries: TriesNotebook | None = None
) -> AsyncIterator[Any]:
    """Open a server with all tools; what they have started ends when the block is left.

    Fresh kernels and traces are in `workdir`; `tries` gets what is tried. Raises MissingRequirement: the package mcp is
    not installed.
    """
    async with anyio.create_task_group() as tasks:
        try:
            yield build_server(Workbench(tasks, workdir, log or CallLog(calls_path()), tries))
        finally:
            tasks.cancel_scope.cancel()


def build_server(bench: Workbench) -> Any:
    """Return the server. Raises MissingRequirement: the package mcp is not installed."""
    server = protocol_sdk.new_server("exploracoder", INSTRUCTIONS)
    _add_library_tools(server, bench.log, bench.workdir)
    _add_kernel_tools(server, bench)
    _add_exploration_tools(server, bench)
    return server


def _add_library_tools(server: Any, log: CallLog, workdir: Path) -> None:
    async def find_packages_tool(
        query: Annotated[str, Field(max_length=tool_limits.MAX_QUERY, description="what a package is to do, in words")],
        k: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 5,
        kernel: OtherKernel = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        from exploracoder_jupyter.agent_tools.library_tools import find_packages

        return fitting_json(await find_packages(query, k, kernel), max_tokens)

    async def search_apis_tool(
        query: Annotated[str, Field(max_length=tool_limits.MAX_QUERY, description="what to do, in a few words")],
        libraries: Libraries,
        k: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 10,
        kernel: OtherKernel = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        from exploracoder_jupyter.agent_tools.library_tools import search_apis

        return fitting_json(await search_apis(query, libraries, k, kernel, workdir), max_tokens)

    async def read_api_tool(
        paths: Annotated[
            list[str],
            Field(min_length=1, max_length=tool_limits.MAX_NAMES, description='such as "networkx.Graph.add_edge"'),
        ],
        source: Annotated[bool, Field(description="with source code")] = False,
        guides: Annotated[bool, Field(description="with passages of guides that the library ships")] = False,
        kernel: OtherKernel = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        from exploracoder_jupyter.agent_tools.library_tools import read_api

        answer = await read_api(paths, source=source, guides=guides, kernel=kernel, workdir=workdir)
        return fitting_json(answer, max_tokens)

    _add(
        server,
        log,
        find_packages_tool,
        "find_packages",
        "Find packages",
        "Find the installed packages that can do something, each with its best APIs: when the library is not known. "
        "The first call reads all packages; an answer that came before the end says how many were read.",
    )
    _add(
        server,
        log,
        search_apis_tool,
        "search_apis",
        "Search APIs",
        "Find functions, classes and methods of installed libraries by what they do. Best first, with signatures. "
        "The first search of a library reads it, which can take a minute.",
    )
    _add(
        server,
        log,
        read_api_tool,
        "read_api",
        "Read APIs",
        "Everything about an API as installed: signature, parameters, docstring, members of a class or module, "
        "runnable examples; source code on request. A path that does not exist is answered by similar ones.",
    )


def _add_kernel_tools(server: Any, bench: Workbench) -> None:
    async def list_kernels_tool(max_tokens: MaxTokens = DEFAULT_TOKENS) -> str:
        return fitting_json(await bench.trying.list_kernels(), max_tokens)

    async def inspect_variables_tool(
        kernel: Kernel,
        names: Annotated[
            list[str], Field(max_length=tool_limits.MAX_NAMES, description="variables; none: list all with their types")
        ] = [],  # noqa: B006  read only
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        return fitting_json(await bench.trying.inspect_variables(kernel, names), max_tokens)

    async def try_variants_tool(
        variants: Annotated[list[VariantArgument], Field(min_length=1, max_length=tool_limits.MAX_VARIANTS)],
        kernel: StartKernel = FRESH,
        check: Annotated[
            str,
            Field(
                max_length=tool_limits.MAX_CODE,
                description="assertions that run after each variant, in a copy of its state: `assert len(result) == 3`",
            ),
        ] = "",
        timeout: Annotated[
            float, Field(gt=0, le=tool_limits.MAX_SECONDS, description="seconds for each variant")
        ] = 30.0,
        images: Annotated[
            int, Field(ge=0, le=tool_limits.MAX_VARIANTS, description="return so many of the images that they show")
        ] = 0,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> Any:
        from exploracoder_jupyter.agent_tools.variant_trials import Variant

        wanted = [Variant(one.label, one.code, one.after) for one in variants]
        answer, shown = await bench.trying.try_variants(kernel, wanted, check, timeout, images)
        pictures = ((f"Shown by {label}:", protocol_sdk.png_image(content)) for label, content in shown)
        return [fitting_json(answer, max_tokens), *chain.from_iterable(pictures)]

    _add(
        server,
        bench.log,
        list_kernels_tool,
        "list_kernels",
        "List kernels",
        "The user's running notebook kernels: id, notebook, language, whether busy, and why one cannot be forked.",
    )
    _add(
        server,
        bench.log,
        inspect_variables_tool,
        "inspect_variables",
        "Inspect variables",
        "Type, shape and a sample of variables in a live kernel, without running anything in it.",
    )
    _add(
        server,
        bench.log,
        try_variants_tool,
        "try_variants",
        "Try variants of code",
        "Run 1 to 8 variants of code at once, each in its own fork of a live kernel (all variables are there) or of a "
        "fresh one; a kernel that cannot be forked sends the variables that the code "
        "names. The user's variables and files stay unchanged; there is no network. For each: whether it ran, its "
        "output, what changed, or an error report with hints; `same_as` marks equal results. Print or end with an "
        "expression to see values. Use several variants when you are unsure, and `after` to continue from one.",
        reads_only=False,
    )


def _add_exploration_tools(server: Any, bench: Workbench) -> None:
    async def explore_task_tool(
        task: Annotated[str, Field(max_length=64_000, description="what the solution should do")],
        libraries: Libraries,
        check: Annotated[
            str, Field(max_length=tool_limits.MAX_CODE, description="assertions that a solution must pass")
        ] = "",
        kernel: StartKernel = FRESH,
        seconds: Annotated[float, Field(gt=0, le=3600, description="budget of time")] = 600.0,
        tokens: Annotated[int, Field(ge=1, le=2_000_000, description="budget of the user's model")] = 200_000,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        answer = await bench.exploring.explore_task(task, libraries, check, kernel, seconds, tokens)
        return fitting_json(answer, max_tokens)

    async def explore_status_tool(
        id: RunId,
        wait: Annotated[float, Field(ge=0, le=tool_limits.MAX_WAIT, description="seconds to wait for the end")] = 30.0,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        return fitting_json(await bench.exploring.explore_status(id, wait), max_tokens)

    async def steer_exploration_tool(
        id: RunId,
        control: Annotated[
            ControlName,
            Field(
                description="stop; skip or retry a subtask; choose a candidate; replan the rest; explore instead of "
                "whole programs"
            ),
        ],
        target: Annotated[str, Field(max_length=40, description="id of the subtask or candidate")] = "",
        hint: Annotated[str, Field(max_length=2_000, description="for retry")] = "",
        titles: Annotated[list[str], Field(max_length=20, description="for replan: the new subtasks")] = [],  # noqa: B006
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        return fitting_json(await bench.exploring.steer_exploration(id, control, target, hint, titles), max_tokens)

    async def check_trace_tool(
        path: Annotated[str, Field(max_length=4_096, description="trace notebook of an exploration")],
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> str:
        from exploracoder_jupyter.agent_tools.exploration_tools import check_one_trace

        return fitting_json(await check_one_trace(path), max_tokens)

    _add(
        server,
        bench.log,
        explore_task_tool,
        "explore_task",
        "Explore a task",
        "Let the user's own model plan and solve a whole task by experiments; spends their tokens and writes a trace "
        "notebook. Returns an id at once. Prefer try_variants if you can write the code yourself.",
        reads_only=False,
    )
    _add(
        server,
        bench.log,
        explore_status_tool,
        "explore_status",
        "Status of an exploration",
        "Wait for an exploration, and return its state, latest tries, and the result if it has ended.",
    )
    _add(
        server,
        bench.log,
        steer_exploration_tool,
        "steer_exploration",
        "Steer an exploration",
        "Stop an exploration, or change its course.",
        reads_only=False,
    )
    _add(
        server,
        bench.log,
        check_trace_tool,
        "check_trace",
        "Check a trace",
        "Execute the code of a recorded exploration again, isolated, and say what has changed since.",
        reads_only=False,
    )


def _add(
    server: Any,
    log: CallLog,
    function: Callable[..., Awaitable[Any]],
    name: str,
    title: str,
    about: str,
    *,
    reads_only: bool = True,
) -> None:
    """Add a tool whose calls are logged, and whose errors are one sentence with its remedy."""

    @wraps(function)
    async def logged(**arguments: Any) -> Any:
        start, outcome = time.monotonic(), "answered"
        try:
            return await function(**arguments)
        except ExploraError as error:
            outcome = error.message
            raise protocol_sdk.tool_error(str(error)) from None
        except Exception as error:
            known = to_explora_error(error)
            outcome = known.message
            if isinstance(known, InternalError):
                traceback.print_exception(error)  # to standard error, for a report
            raise protocol_sdk.tool_error(str(known)) from error
        except BaseException:
            outcome = "cancelled"
            raise
        finally:
            log.write(name, _plain(arguments), time.monotonic() - start, outcome)

    protocol_sdk.add_tool(server, logged, name=name, title=title, about=about, reads_only=reads_only)


def _plain(arguments: dict[str, Any]) -> dict[str, object]:
    """Return the arguments of a call without the SDK's own types."""

    def plain(value: Any) -> object:
        if isinstance(value, BaseModel):
            return value.model_dump()
        return [plain(one) for one in value] if isinstance(value, list) else value

    return {name: plain(value) for name, value in arguments.items()}
