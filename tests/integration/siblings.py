"""Siblings of every implementation and level, for tests: each in an engine of its own, primitives really denied.

`LEVELS` names what there is; `open_engine` starts an engine (`serving`), below a seccomp filter (`denied`) where the
level is what is left without some primitive, and gives its siblings, whose branches have the methods of the port.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from exploracoder_jupyter.core import errors
from tests.integration import denied, serving

_ROOT = Path(__file__).resolve().parents[2]
_LONGEST = 1 << 28
_unreachable: dict[str, str] = {}
"""Levels that this machine cannot have, with the reason: an engine takes seconds to find that out."""


@dataclass(frozen=True)
class Level:
    """An implementation of branches, and how far it can confine them."""

    branching: str
    reached: str
    """How its description begins."""
    denied: tuple[str, ...] = ()
    """What the machine lacks."""


LEVELS = {
    "rerun-bubblewrap": Level("rerun", "bubblewrap"),
    "rerun-limits": Level("rerun", "limits", ("namespaces",)),
    "fork-namespaces": Level("fork", "namespaces"),
    "fork-landlock": Level("fork", "landlock", ("namespaces",)),
    "fork-limits": Level("fork", "limits", ("namespaces", "landlock")),
}


class Siblings:
    """The siblings of an engine."""

    def __init__(self, process):
        self.environment = None
        self.pid = process.pid
        self._process = process
        self._numbers = count(1)
        self._waiting = {}
        self._answers = {}

    async def read(self):
        """Take answers in until the engine ends."""
        stream = BufferedByteReceiveStream(self._process.stdout)
        try:
            while True:
                answer = json.loads(await stream.receive_until(b"\n", _LONGEST))
                self._answers[answer["id"]] = answer
                if answer["id"] in self._waiting:
                    self._waiting[answer["id"]].set()
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            for number, event in self._waiting.items():
                self._answers.setdefault(number, {"error": {"kind": "KernelError", "message": "the engine ended"}})
                event.set()

    async def answer(self, number):
        """Wait for the answer to a request."""
        self._waiting.setdefault(number, anyio.Event())
        if number not in self._answers:
            await self._waiting[number].wait()
        del self._waiting[number]
        answer = self._answers.pop(number)
        if "error" in answer:
            raise getattr(errors, answer["error"]["kind"], RuntimeError)(answer["error"]["message"])
        return answer["value"]

    async def ask(self, verb, **request):
        """Have something done; cut short here, it is cut short there."""
        number = next(self._numbers)
        self._waiting[number] = anyio.Event()
        try:
            await self._process.stdin.send(json.dumps({"id": number, "verb": verb, **request}).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise errors.KernelError("the engine ended") from error
        try:
            return await self.answer(number)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.ask("cancel", other=number)
                await self._waiting[number].wait()
            raise

    async def root(self):
        return Branch(self, await self.ask("root"))


@dataclass(frozen=True)
class Branch:
    """The port's methods, done by the engine."""

    siblings: Siblings
    number: int

    async def run(self, code, *, timeout):
        value = await self.siblings.ask("run", branch=self.number, code=code, timeout=timeout)
        return serving.OBSERVATION.validate_python(value)

    async def fork(self, n):
        return [Branch(self.siblings, number) for number in await self.siblings.ask("fork", branch=self.number, n=n)]

    async def expect(self, n):
        await self.siblings.ask("expect", branch=self.number, n=n)

    async def files(self, folder):
        return await self.siblings.ask("files", branch=self.number, folder=str(folder))

    async def close(self):
        await self.siblings.ask("close", branch=self.number)


@asynccontextmanager
async def open_engine(name, sandbox=(), *, workdir, setup="", variables=None, environ=()):
    """The siblings of the level of this name; the test is skipped where the machine cannot have it."""
    level = LEVELS[name]
    if level.denied and not denied.supported():
        pytest.skip("nothing can be denied on this system")
    if name in _unreachable:
        pytest.skip(_unreachable[name])
    order = {
        "sandbox": {"branching": level.branching, **dict(sandbox)},
        "workdir": str(workdir),
        "setup": setup,
        "variables": variables and str(variables),
    }
    before = denied.prefix(namespaces="namespaces" in level.denied, landlock="landlock" in level.denied)
    command = [*before, sys.executable, "-m", serving.__name__, json.dumps(order)]
    environment = {**os.environ, **dict(environ)}
    async with await anyio.open_process(command, stderr=None, cwd=_ROOT, env=environment) as process:
        siblings = Siblings(process)
        reader = asyncio.create_task(siblings.read())
        try:
            siblings.environment = serving.ENVIRONMENT.validate_python(await siblings.answer(0))
            _check(name, siblings.environment)
            yield siblings
        finally:
            with anyio.CancelScope(shield=True):
                await process.stdin.aclose()
                await reader
                await process.wait()


def _check(name, environment):
    level = LEVELS[name]
    assert environment.branching == level.branching
    if not environment.isolation.startswith(level.reached):
        assert not level.denied, environment.isolation
        _unreachable[name] = f"not on this machine: {environment.isolation}"
        pytest.skip(_unreachable[name])
