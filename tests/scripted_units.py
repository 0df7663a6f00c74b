"""Units that need no model: what they return is scripted, and they may kill their worker."""

import asyncio
import hashlib
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from exploracoder_jupyter.core.types import Message, Sampling, Usage
from exploracoder_jupyter.evaluation.problems import Problem
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.pipeline.ports import ModelRequest, Reply


@dataclass(frozen=True)
class ScriptedUnit:
    number: int
    strategy: str = "rag"
    sample: int = 0
    seconds: float = 0.0
    kills: int = 0
    """How often it kills its worker before it returns; counted in files of the results folder."""
    fails: str = ""
    """`raise`, or the failure of the result."""
    child: bool = False
    """Whether it starts a process."""
    problem: Problem = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "problem", Problem(f"p{self.number}", "a task", ("toy",), ("assert True",)))

    @property
    def digest(self):
        return hashlib.sha256(f"{self.number} {self.strategy} {self.sample}".encode()).hexdigest()[:32]


def result_of(unit, **changes):
    passed = not unit.fails and int(unit.digest[:8], 16) % 3 > 0
    values = {
        "unit": unit.digest,
        "problem": unit.problem.id,
        "problem_set": "toys",
        "strategy": unit.strategy,
        "model": "scripted",
        "sample": unit.sample,
        "outcome": "unchecked",
        "passed": passed,
        "ran": True,
        "tests_passed": int(passed),
        "tests": 1,
        "failure": unit.fails or ("" if passed else "wrong result"),
        "calls": 1,
        "prompt_tokens": 100 + unit.number,
        "completion_tokens": 10,
        "code": f"print({unit.number})",
        "settings": {"exploration": {"candidates": 3}},
        "packages": {"toy": "1.0"},
    }
    return UnitResult(**{**values, **changes})


async def run_scripted(unit, folder, *, wrap, replies):
    """Do what the unit says."""
    (folder / "began").mkdir(exist_ok=True)
    (folder / "began" / f"{unit.digest}.{os.getpid()}").touch()
    await asyncio.sleep(unit.seconds)
    marks = [folder / f"killed-{unit.digest}-{number}" for number in range(unit.kills)]
    if unit.fails == "raise":
        raise ValueError("a bug")
    for mark in marks:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if unit.child:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(6 * 7)", stdout=-1)
        assert (await process.communicate())[0] == b"42\n"
    return result_of(unit)


def table(results):
    """What a table of results is computed from, without what depends on time and place."""
    return sorted((row.unit, row.strategy, row.passed, row.failure, row.prompt_tokens) for row in results)


def units(count, **options):
    return [ScriptedUnit(number, **options) for number in range(count)]


def began(folder: Path):
    """The units that have begun, once for each process that ran them."""
    return list((folder / "began").glob("*"))


async def run_with_model(unit, folder, *, wrap, replies):
    """Make one request to a model that records when it was asked."""

    class Clocked:
        name = "scripted"

        async def complete(self, request):
            (folder / f"request-{time.time()}-{unit.number}").touch()
            yield Reply(0, "x = 1", Usage(1, 10, 10))

    request = ModelRequest("propose", None, (Message("user", "hello"),), Sampling())
    async for _ in wrap(Clocked()).complete(request):
        pass
    return result_of(unit)


async def run_quietly(unit, folder, *, wrap, replies):
    """Wait as the unit says, and leave no files."""
    await asyncio.sleep(unit.seconds)
    return result_of(unit)
