"""Each hostile candidate of the table, tried at each level: what is said to be stopped is, and nothing else."""

import os
import socket
import uuid
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from exploracoder_jupyter.core.errors import ExploraError
from tests.integration.attacks import ATTACKS, PAGE, SECRET, candidate, page
from tests.integration.siblings import LEVELS, open_engine
from tests.integration.world import open_world
from tests.patience import patience

LIMITS = {"memory_mb": 512, "processes": 40, "file_mb": 8, "copy_mb": 20}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with open_world(tmp_path_factory.mktemp("beside")) as world:
        yield world


@pytest.fixture(scope="module", params=LEVELS)
def level(request):
    return request.param


@pytest.fixture(scope="module")
async def siblings(level, world, anyio_backend):
    async with open_engine(level, LIMITS, workdir=world.workdir) as siblings:
        yield siblings


class Field:
    """Where attacks take place: branches of one root, one each, and a sibling that has a secret and can be recognised.

    The root and the sibling serve for many attacks, and are made anew after one that has harmed anything.
    """

    def __init__(self, siblings, world):
        self.siblings, self.world = siblings, world
        self.root = self.sibling = None
        self.mark = str(uuid.uuid4().int % 10**8 + 10**9)

    @classmethod
    @asynccontextmanager
    async def lay_out(cls, siblings, world):
        field = cls(siblings, world)
        try:
            yield field
        finally:
            await field.clear()

    async def prepare(self):
        if self.sibling is not None:
            return
        self.root = await self.siblings.root()
        (self.sibling,) = await self.root.fork(1)
        code = (
            f"import subprocess; open('by-sibling.txt', 'w').write({SECRET[::-1]!r}[::-1])\n"
            f"own = subprocess.Popen(['/bin/sleep', {self.mark!r}])"
        )
        assert (await self.sibling.run(code, timeout=patience(20))).status == "ok"

    async def clear(self):
        with suppress(ExploraError):
            for each in (self.sibling, self.root):
                if each is not None:
                    await each.close()
        self.root = self.sibling = None
        self.world.end_marked(self.mark, self.world.mark)

    async def try_out(self, attack):
        """What is harmed by the attack, in words."""
        await self.prepare()
        (process,) = self.world.marked(self.mark)
        given = self.world.given(engine=self.siblings.pid, sibling=process.ppid())
        harmed = await self._attack(candidate(attack, given), patience(attack.seconds))
        harmed += self.world.harms()
        harmed += [f"process {process.pid} is left" for process in self.world.marked(self.world.mark)]
        harmed += await self._harm_of_sibling()
        if harmed:
            await self.clear()
        return harmed

    async def _attack(self, code, seconds):
        (branch,) = await self.root.fork(1)
        try:
            return await self._run(branch, code, seconds)
        finally:
            with anyio.move_on_after(patience(5)), suppress(ExploraError):  # with the engine
                await branch.close()

    async def _run(self, branch, code, seconds):
        try:
            observation = await branch.run(code, timeout=seconds)
        except ExploraError as error:
            return [f"the engine: {error}"]
        assert observation.error is None or observation.error.name != "SyntaxError", observation
        harmed = ["a secret"] * (SECRET in str(observation.outputs)) + ["done"] * ("DONE" in observation.text)
        return harmed + ["time"] * (observation.seconds > seconds + patience(6))

    async def _harm_of_sibling(self):
        if not psutil.pid_exists(self.siblings.pid):
            return ["the engine"]
        try:
            return [] if (await self.sibling.run("own.poll()", timeout=patience(10))).status == "ok" else ["a sibling"]
        except ExploraError as error:
            return [f"a sibling: {error}"]


@pytest.fixture(scope="module")
async def field(siblings, world):
    async with Field.lay_out(siblings, world) as field:
        yield field


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if not attack.engine])
async def test_a_hostile_candidate_does_what_the_table_says(field, level, name):
    """Issue 14, items 1 to 5 and 7."""
    await check(field, ATTACKS[name], level)


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.engine])
async def test_a_candidate_hostile_to_the_engine_does_what_the_table_says(level, world, name, anyio_backend):
    async with open_engine(level, LIMITS, workdir=world.workdir) as siblings, Field.lay_out(siblings, world) as field:
        await check(field, ATTACKS[name], level)


async def check(field, attack, level):
    stopped = attack.stopped_at(level, user=os.getuid() != 0)
    if attack.needs and not stopped and not _is_possible(attack, field.world):
        pytest.skip("this machine does not allow it to anybody")
    harmed = await field.try_out(attack)
    if stopped:
        assert harmed == []
    else:
        assert harmed != [], f"it is stopped at {level}: say so in the table"


def _is_possible(attack, world):
    try:
        return eval(attack.needs, {"os": os, "Path": Path, "socket": socket, "given": world.given()})
    except OSError:
        return False


def test_the_page_is_what_the_table_says():
    assert PAGE.read_text() == page()
