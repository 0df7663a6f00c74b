"""Searching again on a real library and real kernels: a snippet fails for want of an API, which is then found.

The model is scripted as one that writes what its prompt documents, and guesses a name where the prompt lacks it.
"""

import json
from dataclasses import replace

import pytest

from exploracoder_jupyter.config import Budget, Exploration, Retrieval, Sandbox
from exploracoder_jupyter.execution import open_siblings
from exploracoder_jupyter.execution.inspect import inspector
from exploracoder_jupyter.knowledge import Library
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.types import Task
from tests.unit.test_pipeline import answers, fenced
from tests.unit.world import NoSteering, happened

DATA = "import statistics\ndata = [1, 5, 2, 8, 7, 9, 3, 4]\n"
GUESSED = f"{DATA}cuts = statistics.cut_points(data, 4)\nprint(cuts)"
DOCUMENTED = f"{DATA}cuts = statistics.quantiles(data, n=4)\nprint(cuts)"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def model():
    def write(request):
        told = request.messages[1].content
        return fenced(DOCUMENTED if "statistics.quantiles(" in told else GUESSED)

    steps = dict.fromkeys(("propose", "debug", "solve", "repair"), write)
    explained = "It divides data into intervals with equal probability."
    plan = ("Find where quarters of the sorted numbers end",)
    return answers(
        plan=plan, introduce="It is for data.", recommend=json.dumps({"apis": []}), explain=explained, **steps
    )


async def explored(library, tmp_path, retrieval):
    events = []
    async with open_siblings(Sandbox(), workdir=tmp_path) as siblings:
        settings = Exploration(candidates=1, planners=0, retrieved=2, retrieved_global=2)
        task = Task("Find where quarters of the sorted numbers end", ("statistics",), check="assert len(cuts) == 3")
        meter = Meter(Budget())
        run = Run(task, settings, model(), library, await siblings.root(), events.append, NoSteering(), meter)
        run = replace(run, retrieval=retrieval)
        ending = await run_task(run)
    return run, ending.verdict.outcome


@pytest.mark.anyio
async def test_a_task_that_fails_with_the_first_retrieval_is_solved_by_searching_again(tmp_path):
    library = await Library.open(["statistics"], inspect=inspector(Sandbox()), cache=tmp_path / "cache")
    without, outcome = await explored(library, tmp_path, Retrieval(rounds=0))
    assert outcome == "unsolved" and "statistics.quantiles" not in happened(without, "knowledge_searched")[0].apis
    run, outcome = await explored(library, tmp_path, Retrieval())
    assert outcome == "solved"
    [again] = [event for event in happened(run, "knowledge_searched") if event.round]
    assert "statistics.quantiles" in again.apis and again.formulation == "explained"
    [debugged] = [e.candidate for e in happened(run, "candidate_proposed") if e.candidate.round]
    assert (debugged.id, debugged.repairs) == ("1.1r1", "1.1")
