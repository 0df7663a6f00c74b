"""Each hostile candidate of the table, tried at each level: it is stopped exactly where the level promises so."""

import os
import socket
import uuid
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from exploracoder_jupyter.core.errors import ExploraError
from tests.as_user import visible_place
from tests.integration.kernels.attacks import ATTACKS, PAGE, SECRET, candidate, page
from tests.integration.siblings import LEVELS, open_engine
from tests.integration.world import open_world
from tests.patience import patience

LIMITS = {"memory_mb": 512, "processes": 40, "file_mb": 8, "copy_mb": 20}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with open_world(tmp_path_factory.mktemp("beside")) as world:
        yield world


def pytest_generate_tests(metafunc):
    """Each level, whoever tries it: an ordinary user may do to other processes what root without rights may not."""
    if "level" in metafunc.fixturenames:
        metafunc.parametrize("level", LEVELS, indirect=True, scope="module")


@pytest.fixture(scope="module")
def level(request):
    return request.param


class Field:
    """Where attacks take place: branches of one root, and a sibling that has a secret and can be recognised.

    One branch serves for the attacks that leave their own process as it was, the others have one each. Engine, root and
    sibling are made anew after an attack that has harmed them.
    """

    def __init__(self, level, world):
        self.level, self.world = level, world
        self.siblings = self.root = self.sibling = self.shared = None
        self._engine = AsyncExitStack()
        self.mark = str(uuid.uuid4().int % 10**8 + 10**9)

    @classmethod
    @asynccontextmanager
    async def lay_out(cls, level, world):
        field = cls(level, world)
        try:
            yield field
        finally:
            await field.clear()
            await field._engine.aclose()

    async def prepare(self):
        if self.sibling is not None:
            return
        if self.siblings is None or not psutil.pid_exists(self.siblings.pid):
            await self._engine.aclose()
            engine = open_engine(self.level, LIMITS, workdir=self.world.workdir)
            self.siblings = await self._engine.enter_async_context(engine)
        self.root = await self.siblings.root()
        (self.sibling,) = await self.root.fork(1)
        code = (
            f"import subprocess; open('by-sibling.txt', 'w').write({SECRET[::-1]!r}[::-1])\n"
            f"own = subprocess.Popen(['/bin/sleep', {self.mark!r}])"
        )
        assert (await self.sibling.run(code, timeout=patience(20))).status == "ok"

    async def clear(self):
        with suppress(ExploraError):
            for each in (self.shared, self.sibling, self.root):
                if each is not None:
                    await each.close()
        self.root = self.sibling = self.shared = None
        self.world.end_marked(self.mark, self.world.mark)

    async def try_out(self, attack):
        """What is harmed by the attack, in words."""
        await self.prepare()
        (process,) = self.world.marked(self.mark)
        given = self.world.given(engine=self.siblings.pid, sibling=process.ppid())
        harmed = await self._attack(attack, given)
        harmed += self.world.harms()
        harmed += [f"process {process.pid} is left" for process in self.world.marked(self.world.mark)]
        self.world.end_marked(self.world.mark)
        lost = await self._harm_of_sibling()
        if lost or any(
            harm.startswith("the engine") for harm in harmed
        ):  # the state that others start from may be gone
            await self.clear()
            await self._engine.aclose()
            self.siblings = None
        return harmed + lost

    async def _attack(self, attack, given):
        branch = self.shared
        if branch is None or attack.alone:
            (branch,) = await self.root.fork(1)
        self.shared = None
        harmed, lives = await self._run(branch, attack, given)
        if lives and not attack.alone:
            self.shared = branch
        else:
            with anyio.move_on_after(patience(5)), suppress(ExploraError):  # with the engine
                await branch.close()
        return harmed

    async def _run(self, branch, attack, given):
        """What became of it, and whether the branch can serve again. What it locks or opens ends with the branch."""
        seconds = patience(attack.seconds)
        try:
            observation = await branch.run(candidate(attack, given), timeout=seconds)
        except ExploraError as error:
            return [f"the engine: {error}"], False
        assert observation.error is None or observation.error.name not in ("SyntaxError", "NameError"), observation
        harmed = ["a secret" for secret in self.world.knows if secret in str(observation.outputs)]
        harmed += ["done"] * ("DONE" in observation.text)
        harmed += ["time"] * (observation.seconds > seconds + patience(6))
        harmed += ["it was not ended"] * (attack.lasting and observation.status == "ok")
        harmed += self.world.harms(observation.text)
        return harmed, observation.status in ("ok", "error")

    async def _harm_of_sibling(self):
        if not psutil.pid_exists(self.siblings.pid):
            return ["the engine"]
        try:
            return [] if (await self.sibling.run("own.poll()", timeout=patience(10))).status == "ok" else ["a sibling"]
        except ExploraError as error:
            return [f"a sibling: {error}"]


@pytest.fixture(scope="module")
async def field(level, world, anyio_backend):
    async with Field.lay_out(level, world) as field:
        yield field


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.group == "machine"])
async def test_an_escaping_candidate_does_as_the_table_says(field, level, name):
    await check(field, ATTACKS[name], level)


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.group != "machine"])
async def test_a_hostile_candidate_does_what_the_table_says(field, level, name):
    """Issue 14, items 1 to 5 and 7."""
    await check(field, ATTACKS[name], level)


async def check(field, attack, level):
    stopped = attack.stopped_at(level, user=os.getuid() != 0)
    if attack.needs and not stopped and not _is_possible(attack, field.world):
        pytest.skip("this machine does not allow it to anybody")
    if "outside" in attack.code and not stopped and visible_place() is None:
        pytest.skip("this user can write nowhere outside of the home and the folders for temporary files")
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
