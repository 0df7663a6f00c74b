"""Correctness testing and checks on real kernels: what is judged is what a kernel really showed."""

import json
from contextlib import asynccontextmanager

import pytest

from exploracoder_jupyter.core.configuration.sections import Budget, Exploration, Sandbox
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from tests.patience import patience
from tests.unit.strategies.replies import fenced
from tests.unit.world import MATH, FewApis, NoSteering, happened

pytestmark = pytest.mark.parametrize("branching", ["fork", "rerun"])

TASK = "Which columns differ between row 0 and row 8 of df? NaN equals NaN. Give the pairs of values in a list."
NAIVE = """import pandas as pd
def differing(df):
    row0, row8 = df.iloc[0], df.iloc[8]
    differ = row0 != row8
    return list(zip(row0[differ], row8[differ]))"""
SOUND = NAIVE.replace("row0 != row8", "(row0 != row8) & ~(row0.isna() & row8.isna())")
FRAME = """import numpy as np, pandas as pd
df = pd.DataFrame(np.arange(30.0).reshape(10, 3), columns=["a", "b", "c"])
df.loc[[0, 8], "b"] = {b}"""
INPUTS = json.dumps(
    {
        "tests": [
            {"title": "numbers alone", "before": FRAME.format(b="1.0"), "after": "differing(df)"},
            {"title": "NaN in both rows", "before": FRAME.format(b="np.nan"), "after": "differing(df)"},
            {"title": "no such row", "before": "import pandas as pd", "after": "differing(pd.DataFrame({'a': [1]}))"},
        ]
    }
)


def judging(request):
    """Judges by what was shown, as a model would."""
    shown = {item.subtask.id: item.observation.text for item in request.inputs.results}
    if "(nan, nan)" in shown["t2"]:
        return f"t1: right\nt2: wrong, NaN is paired with NaN\nt3: right\nwrong\n{fenced(SOUND)}"
    return "t1: right\nt2: right\nt3: right, there is no row 8\nright"


def scripted(solve, repair="", judge=judging, invent=INPUTS):
    fixed = {
        "plan": json.dumps({"subtasks": ["compare two rows"]}),
        "recommend": json.dumps({"apis": []}),
        "recommend_global": json.dumps({"apis": []}),
        "propose": [fenced("n = 1\nassert n == 1")],
        "solve": fenced(solve),
        "repair": fenced(repair or solve),
        "invent": invent,
        "judge": judge,
    }
    return ScriptedModel(
        lambda request: fixed[request.step](request) if callable(fixed[request.step]) else fixed[request.step]
    )


@asynccontextmanager
async def prepared(branching, workdir, given=""):
    """A branch of a real kernel that has what the code `given` makes."""
    async with open_siblings(Sandbox(branching=branching), workdir=workdir) as siblings:
        [base] = await (await siblings.root()).fork(1)
        assert (await base.run(given or "pass", timeout=patience(60))).ran
        yield base


async def explored(model, base, *, text=TASK, uses=(), check=None, name=None, tests=True):
    """A run from this branch: how it ended, and the run."""
    settings = Exploration(candidates=1, planners=0, tests=tests, solution_rounds=1)
    task = Task(text, ("math",), uses=uses, check=check, solution_name=name)
    run = Run(task, settings, model, FewApis(MATH), base, [].append, NoSteering(), Meter(Budget()), parallel=2)
    return await run_task(run), run


async def test_a_wrong_nan_pairing_is_corrected_by_output(branching, tmp_path):
    async with prepared(branching, tmp_path) as base:
        ending, run = await explored(scripted(NAIVE), base, name="differing")
    assert ending.solution.code == SOUND
    assert ending.verdict.outcome == "solved"
    assert ending.verdict.reason == "Judged right on 2 generated inputs (1 could not be run); no check was given."
    first, second = happened(run, "solution_tested")
    texts = [
        [item.observation.text.splitlines()[-1].strip() for item in event.results[:2]] for event in (first, second)
    ]
    assert texts[0] == ["[(0.0, 24.0), (2.0, 26.0)]", "[(0.0, 24.0), (nan, nan), (2.0, 26.0)]"]
    assert texts[1] == ["[(0.0, 24.0), (2.0, 26.0)]"] * 2
    assert first.results[2].observation.error.name == "IndexError"
    assert [e.judgement.ruling for e in happened(run, "solution_judged")] == ["wrong", "right"]


GIVEN = FRAME.format(b="np.nan") + "\ngolden = df.head(2).copy()\ntally = (item for item in [1])"


PROGRAMS = {
    "result = df.iloc[:2]": "solved",
    "result = df.iloc[1:3]": "unsolved",
    "result = golden = df.iloc[1:3]": "unsolved",
    "golden.drop(golden.index, inplace=True)\nresult = golden": "unsolved",
    "golden['b'] = 0\nresult = golden": "unsolved",
    "class All:\n    __eq__ = lambda self, other: True\nresult = All()": "unsolved",
    "class All(type(df)):\n    __eq__ = lambda self, other: True\nresult = All(df)": "unsolved",
    "del _explora_kept\nresult = golden = 0": "unsolved",
}


REPEATED = ("result = df.iloc[:2]", "result = golden = df.iloc[1:3]", "del _explora_kept\nresult = golden = 0")
"""Where each program repeats all cells before it, only these: how a copy is made, not how it is compared, differs."""


async def test_a_check_compares_with_the_original_frame(branching, tmp_path):
    programs = REPEATED if branching == "rerun" else PROGRAMS
    given = {"text": "Take the first two rows of df", "uses": ("df", "golden"), "tests": False}
    async with prepared(branching, tmp_path, GIVEN) as base:
        for program in programs:
            outcome = PROGRAMS[program]
            [own] = await base.fork(1)
            ending, _ = await explored(scripted(program), own, check="assert result == golden", **given)
            assert ending.verdict.outcome == outcome, program
            reason = "The solution ran and passed its check." if outcome == "solved" else "No "
            assert ending.verdict.reason.startswith(reason), program
            await own.close()
        [own] = await base.fork(1)
        given = {"text": "Make a list", "uses": ("tally",), "tests": False}
        ending, _ = await explored(scripted("result = tally"), own, check="result == tally", **given)
    assert ending.verdict.outcome == "solved"
    assert "could have been changed by the program: no copy could be made of tally" in ending.verdict.reason
