"""Searching again on a real library and real kernels: a snippet fails for want of an API, which is then found.

First the model is scripted as one that writes what its prompt documents, and guesses a name where the prompt lacks it.
Then it is a language model's replies, as recorded in two runs of one task: with searching again, and without.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.budget_settings import Budget
from exploracoder_jupyter.core.configuration.exploration_settings import Exploration
from exploracoder_jupyter.core.configuration.retrieval_settings import Retrieval
from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.events import ModelCalled, RunStarted
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.agent_programs import local_inspector
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.replay_model import ReplayModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.trace import load
from tests.unit.pipeline.test_task_run import answers, fenced
from tests.unit.world import NoSteering, happened

DATA = "import statistics\ndata = [1, 5, 2, 8, 7, 9, 3, 4]\n"
EXAMPLES = Path(__file__).parents[3] / "examples"
SEARCHED_AGAIN = EXAMPLES / "6-found-by-searching-again-recorded.ipynb"
NOT_SEARCHED_AGAIN = Path(__file__).parents[1] / "recorded" / "not-searched-again.ipynb"
WANTED = "tidebook.survey.hang"
GUESSED = f"{DATA}cuts = statistics.cut_points(data, 4)\nprint(cuts)"
DOCUMENTED = f"{DATA}cuts = statistics.quantiles(data, n=4)\nprint(cuts)"


def model():
    def write(request):
        prompt = request.messages[1].content
        return fenced(DOCUMENTED if "statistics.quantiles(" in prompt else GUESSED)

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


async def test_a_task_that_fails_with_the_first_retrieval_is_solved_by_searching_again(tmp_path):
    library = await TaskLibraries.open(["statistics"], inspect=local_inspector(Sandbox()), cache=tmp_path / "cache")
    without, outcome = await explored(library, tmp_path, Retrieval(rounds=0))
    assert outcome == "unsolved" and "statistics.quantiles" not in happened(without, "knowledge_searched")[0].apis
    run, outcome = await explored(library, tmp_path, Retrieval())
    assert outcome == "solved"
    [again] = [event for event in happened(run, "knowledge_searched") if event.round]
    assert "statistics.quantiles" in again.apis and again.formulation == "error"
    [debugged] = [e.candidate for e in happened(run, "candidate_proposed") if e.candidate.round]
    assert (debugged.id, debugged.repairs) == ("1.1r1", "1.1")


async def replayed(recording, tmp_path):
    """The recorded run once more: the replies are the recorded ones, search and execution are not."""
    events = [record.event for record in load(recording)]
    started = next(event for event in events if isinstance(event, RunStarted))
    exchanges = [event.exchange for event in events if isinstance(event, ModelCalled)]
    exploration = Exploration(**started.settings["exploration"])
    folder = tmp_path / "folder"
    shutil.copytree(EXAMPLES / "tidebook", folder / "tidebook")
    records = []
    async with open_siblings(Sandbox(), workdir=folder) as siblings:
        library = await TaskLibraries.open(["tidebook"], inspect=siblings.inspect, cache=tmp_path / "cache")
        model, meter = ReplayModel(exchanges), Meter(Budget())
        run = Run(started.task, exploration, model, library, await siblings.root(), records.append, NoSteering(), meter)
        run = replace(run, retrieval=Retrieval(**started.settings["retrieval"]))
        ending = await run_task(run)
    return run, ending.verdict.outcome


@pytest.mark.parametrize(("recording", "ended"), [(SEARCHED_AGAIN, "solved"), (NOT_SEARCHED_AGAIN, "unsolved")])
async def test_with_recorded_replies_a_task_is_solved_by_searching_again_and_not_without(recording, ended, tmp_path):
    run, outcome = await replayed(recording, tmp_path)
    assert outcome == ended
    searches = [event for event in happened(run, "knowledge_searched") if event.subject != "solution"]
    assert not any(WANTED in event.apis for event in searches if not event.round)
    assert any(WANTED in event.apis for event in searches if event.round) is (ended == "solved")
    failed = [event.subtask for event in happened(run, "subtask_finished") if event.status == "failed"]
    assert failed == ([] if ended == "solved" else ["3"])
