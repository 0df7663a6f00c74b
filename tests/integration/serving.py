"""An engine for tests: opens siblings in a process of its own and does what its standard input says.

One JSON object a line. A request has an `id` and a `verb`; its answer has the same `id`, and either `value` or `error`.
Requests run beside one another; `cancel` cuts one short. The end of the input is the end of the siblings. So a test can
deny primitives to an engine, lose one, or let a candidate attack one, and stay whole itself.
"""

import json
import os
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import TypeAdapter

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.types import Environment, Observation
from exploracoder_jupyter.kernels import open_siblings

OBSERVATION = TypeAdapter(Observation)
ENVIRONMENT = TypeAdapter(Environment)


@dataclass
class Server:
    """Answers requests about the siblings of one run."""

    siblings: object
    answers: int
    """A descriptor of its own: what else is printed in this process goes elsewhere."""
    branches: dict = field(default_factory=dict)
    scopes: dict = field(default_factory=dict)
    numbers: count = field(default_factory=count)

    async def answer(self, tasks, request):
        with anyio.CancelScope() as scope:
            self.scopes[request["id"]] = scope
            try:
                answer = {"value": await getattr(self, request["verb"])(request)}
            except Exception as error:  # a test is to see it, whatever it is
                answer = {"error": {"kind": type(error).__name__, "message": str(error)}}
        del self.scopes[request["id"]]
        if scope.cancelled_caught:
            answer = {"error": {"kind": "Cancelled", "message": "cut short"}}
        self.send({"id": request["id"], **answer})

    def send(self, answer):
        waiting = json.dumps(answer).encode() + b"\n"
        while waiting:
            waiting = waiting[os.write(self.answers, waiting) :]

    def keep(self, branch):
        number = next(self.numbers)
        self.branches[number] = branch
        return number

    async def root(self, request):
        return self.keep(await self.siblings.root())

    async def run(self, request):
        branch = self.branches[request["branch"]]
        return OBSERVATION.dump_python(await branch.run(request["code"], timeout=request["timeout"]), mode="json")

    async def fork(self, request):
        return [self.keep(branch) for branch in await self.branches[request["branch"]].fork(request["n"])]

    async def expect(self, request):
        self.branches[request["branch"]].expect(request["n"])

    async def files(self, request):
        return list(await self.branches[request["branch"]].files(Path(request["folder"])))

    async def close(self, request):
        await self.branches[request["branch"]].close()

    async def cancel(self, request):
        if request["other"] in self.scopes:
            self.scopes[request["other"]].cancel()


async def main(order):
    answers = os.dup(1)
    os.dup2(2, 1)
    variables = Path(order["variables"]) if order["variables"] else None
    try:
        async with open_siblings(
            Sandbox(**order["sandbox"]), workdir=Path(order["workdir"]), setup=order["setup"], variables=variables
        ) as siblings:
            server = Server(siblings, answers)
            server.send({"id": 0, "value": ENVIRONMENT.dump_python(siblings.environment(), mode="json")})
            async with anyio.create_task_group() as tasks:
                while line := await to_thread.run_sync(sys.stdin.buffer.readline, abandon_on_cancel=True):
                    tasks.start_soon(server.answer, tasks, json.loads(line))
    except ExploraError as error:
        failed = {"id": 0, "error": {"kind": type(error).__name__, "message": error.message}}
        os.write(answers, json.dumps(failed).encode() + b"\n")


if __name__ == "__main__":
    anyio.run(main, json.loads(sys.argv[1]))
