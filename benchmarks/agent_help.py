"""Whether the tools help an agent: `python -m benchmarks.agent_help ARM RESULTS.jsonl`, in the repository's folder.

Twenty problems, ten of the everyday set and ten of the hard set, each with a notebook's kernel in which the setup of
the problem has run. The agent is whoever asks over HTTP, a model with a loop around it; it sees a problem, calls
tools, and submits code once. Two arms:

- `execute`: one tool that executes code in the notebook's kernel, as Jupyter's agent extensions have it.
- `tools`: those of `jupyter explora mcp` that need no model, over standard streams.

Hidden tests judge the submitted code in a new kernel. A row of the results has: whether it passed, the calls, the
tokens (a quarter of the characters) of the problem, the calls and their answers, and whether what the setup made in
the notebook's kernel is still the same. The descriptions of the tools are not counted: an agent reads them once.
The environment has the extra `mcp`, the libraries of `everyday_requirements.txt`, and cloudpickle for the hashes.

    GET  /problems            the ids
    GET  /problem?id=ID       the task, and how to submit
    POST /call                {"id", "tool", "arguments"}: the answer of a tool
    POST /submit              {"id", "code"}: ends the problem
"""

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.scoring import score_solution

PROBLEMS = Path(__file__).parent / "problems"
CHOSEN = {
    "everyday": "narwhals/region-totals xarray+pyproj/stations sqlglot/columns-read pint_pandas/fuel "
    "igraph/water-network ibis/latest-orders polars/hourly-power shapely/building-land lmfit/two-peaks "
    "openpyxl/time-sheet",
    "hard": "quernal/heavy-crates quernal/station-means quernal/turnover-mix skerries/shortest-trip "
    "skerries/supply-range skerries/ferry-then-bus drovel/pack-boxes drovel/sku-quantities osterly/live-briefs "
    "osterly/export-value",
}
MODEL_FREE = ("find_packages", "search_apis", "read_api", "list_kernels", "inspect_variables", "try_variants")
EXECUTE = {
    "name": "execute",
    "description": "Execute Python code in the notebook's kernel, and return its output or its error.",
    "input": {"properties": {"code": {"type": "string"}}, "required": ["code"]},
}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 120.0
MOST = 8_000
"""Characters of an answer of `execute`; the other tools have limits of their own."""
STATE_HASH = """
def _state_hash():
    import cloudpickle, hashlib, types
    hidden = ("_", "In", "Out", "exit", "quit", "open", "get_ipython")
    kept = {k: v for k, v in globals().items() if k in _given and not k.startswith(hidden)}
    return {k: hashlib.sha256(cloudpickle.dumps(v)).hexdigest() for k, v in kept.items()}
"""
GIVEN = (
    "_given = [k for k, v in globals().items() if not k.startswith('_') and type(v).__name__ not in ('module', 'type')]"
)


async def chosen_problems() -> dict[str, Problem]:
    """Return the problems by id."""
    found: dict[str, Problem] = {}
    for name, ids in CHOSEN.items():
        problems = {problem.id: problem for problem in (await load_problems(PROBLEMS / f"{name}.jsonl")).problems}
        found |= {one: problems[one] for one in ids.split()}
    return found


class _Spec(KernelSpecManager):
    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="notebook", language="python")


class Notebook:
    """The kernel of a problem, in which its setup has run."""

    def __init__(self, client: AsyncKernelClient) -> None:
        self._client = client
        self._busy = anyio.Lock()

    async def run(self, code: str, silent: bool = False) -> str:
        """Return what the code printed, its result or its error, as text."""
        shown: list[str] = []

        def hook(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                shown.append(content["text"])
            elif message["msg_type"] in ("execute_result", "display_data"):
                shown.append(content["data"].get("text/plain", ""))
            elif message["msg_type"] == "error":
                shown.append(_ANSI.sub("", "\n".join(content["traceback"])))

        async with self._busy:
            try:
                await self._client.execute_interactive(
                    code, silent=silent, store_history=not silent, timeout=SECONDS, output_hook=hook
                )
            except TimeoutError:
                shown.append(f"No end after {SECONDS:.0f} s.")
        text = "".join(shown).strip()
        return text if len(text) <= MOST else f"{text[: MOST // 2]}\n[...]\n{text[-MOST // 2 :]}"

    async def state(self) -> str:
        """Return a hash of each variable that the setup made."""
        return await self.run("print(_state_hash())")


@asynccontextmanager
async def notebook(problem: Problem, name: str, runtime: Path, folder: Path) -> AsyncIterator[Notebook]:
    """Start the kernel of a problem, so that servers find it by this name."""
    manager = AsyncKernelManager(
        kernel_name="notebook", kernel_spec_manager=_Spec(), connection_file=str(runtime / f"kernel-{name}.json")
    )
    await manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=SECONDS)
        started = Notebook(client)
        for code in (problem.setup, GIVEN, STATE_HASH):
            if said := await started.run(code):
                print(f"{problem.id}: {said}", file=sys.stderr)
        yield started
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


class Bench:
    """The problems, as one arm sees them."""

    def __init__(self, arm: str, results: Path, problems: dict[str, Problem], stack: AsyncExitStack) -> None:
        self._arm, self._results, self._problems, self._stack = arm, results, problems, stack
        self._open: dict[str, tuple[Notebook, str, list[dict[str, Any]]]] = {}
        self._opening = anyio.Lock()
        self._session: ClientSession | None = None
        self._runtime = Path(tempfile.mkdtemp(prefix="run"))
        self.tools: list[dict[str, Any]] = [EXECUTE]

    async def start(self) -> None:
        """Start the server of the arm `tools`."""
        if self._arm != "tools":
            return
        command = ["-m", "exploracoder_jupyter.cli", "mcp", "--workdir", str(PROBLEMS / "hard")]
        environ = {**os.environ, "JUPYTER_RUNTIME_DIR": str(self._runtime)}
        parameters = StdioServerParameters(command=sys.executable, args=command, env=environ)
        streams = await self._stack.enter_async_context(stdio_client(parameters))
        self._session = await self._stack.enter_async_context(ClientSession(*streams))
        await self._session.initialize()
        listed = [tool.model_dump(mode="json", by_alias=True) for tool in (await self._session.list_tools()).tools]
        self.tools = [
            {"name": tool["name"], "description": tool["description"], "input": tool["inputSchema"]}
            for tool in listed
            if tool["name"] in MODEL_FREE
        ]

    async def problems(self, _: Request) -> Response:
        """Return the ids, and the tools."""
        return JSONResponse({"problems": [*self._problems], "tools": self.tools})

    async def problem(self, request: Request) -> Response:
        """Return a problem, and start its kernel."""
        id_ = request.query_params["id"]
        problem = self._problems[id_]
        await self._notebook(id_)
        return PlainTextResponse(self._told(problem))

    def _told(self, problem: Problem) -> str:
        about = [problem.task, f"Libraries: {', '.join(problem.libraries)}, installed."]
        if problem.setup and not problem.live:
            about.append(f"This ran in the notebook, and runs before your code:\n{problem.setup}")
        if problem.live:
            about.append(f"These variables are in the notebook, and before your code: {', '.join(problem.live)}.")
        if problem.docs:
            about.append(f"Documentation lies in the notebook's folder, in {', '.join(problem.docs)}.")
        if problem.check:
            about.append(f"Your code must pass:\n{problem.check}")
        about.append(f"The notebook's kernel: {_name(problem.id)}. Submit code for a cell that comes after what ran.")
        return "\n\n".join(about)

    async def call(self, request: Request) -> Response:
        """Call a tool."""
        body = await request.json()
        started, _, calls = await self._notebook(body["id"])
        tool, arguments = body["tool"], body["arguments"]
        if tool == "execute" and self._arm == "execute":
            text = await started.run(arguments["code"]) or "(no output)"
        elif self._session and tool in MODEL_FREE:
            answer = await self._session.call_tool(tool, arguments)
            text = "\n".join(part.text for part in answer.content if part.type == "text")
        else:
            return PlainTextResponse(f"There is no tool {tool}.", 400)
        calls.append({"tool": tool, "arguments": arguments, "answer": text})
        return PlainTextResponse(text)

    async def submit(self, request: Request) -> Response:
        """Judge the code, and write the row of the problem."""
        body = await request.json()
        id_, code = body["id"], body["code"]
        problem = self._problems[id_]
        started, before, calls = await self._notebook(id_)
        unchanged = await started.state() == before
        score = await score_solution(problem, code, resolve())
        said = [self._told(problem), code, *(json.dumps(one) for one in calls)]
        row = {
            "arm": self._arm,
            "id": id_,
            "passed": not score.tests.failure,
            "calls": len(calls),
            "tokens": sum(map(len, said)) // 4,
            "state_unchanged": unchanged,
            "code": code,
            "log": calls,
        }
        with self._results.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
        return PlainTextResponse("submitted")

    async def _notebook(self, id_: str) -> tuple[Notebook, str, list[dict[str, Any]]]:
        async with self._opening:
            if id_ not in self._open:
                problem = self._problems[id_]
                folder = problem.folder if problem.folder != Path() else PROBLEMS / "hard"
                started = await self._stack.enter_async_context(notebook(problem, _name(id_), self._runtime, folder))
                self._open[id_] = started, await started.state(), []
        return self._open[id_]


def _name(id_: str) -> str:
    return id_.replace("/", "-").replace("+", "-")


async def serve(arm: str, results: Path, port: int) -> None:
    """Serve until interrupted."""
    async with AsyncExitStack() as stack:
        bench = Bench(arm, results, await chosen_problems(), stack)
        await bench.start()
        routes = [
            Route("/problems", bench.problems),
            Route("/problem", bench.problem),
            Route("/call", bench.call, methods=["POST"]),
            Route("/submit", bench.submit, methods=["POST"]),
        ]
        await uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=port, log_level="warning")).serve()


def table(paths: list[Path]) -> str:
    """Return the rows of all files as a Markdown table, a row for each arm and set."""
    rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    lines = ["| arm | set | solved | calls | tokens | state unchanged |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for arm in sorted({row["arm"] for row in rows}):
        for name, ids in CHOSEN.items():
            mine = [row for row in rows if row["arm"] == arm and row["id"] in ids.split()]
            if mine:
                mean = [sum(row[key] for row in mine) / len(mine) for key in ("calls", "tokens")]
                solved, same = (
                    f"{sum(row[key] for row in mine)} of {len(mine)}" for key in ("passed", "state_unchanged")
                )
                lines.append(f"| {arm} | {name} | {solved} | {mean[0]:.1f} | {mean[1]:,.0f} | {same} |")
    return "\n".join(lines)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arm", choices=["execute", "tools", "table"])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--port", type=int, default=8790)
    arguments = parser.parse_args()
    if arguments.arm == "table":
        print(table(arguments.results))
    else:
        anyio.run(serve, arguments.arm, arguments.results[0], arguments.port)


if __name__ == "__main__":
    main()
