"""Searching again on a real library and real kernels: a snippet fails for want of an API, which is then found.

The replies are a language model's, as recorded in two runs of one task: with searching again, and without.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sections import Budget, Exploration, Retrieval, Sandbox
from exploracoder_jupyter.core.events import ModelCalled, RunStarted
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries
from exploracoder_jupyter.llm.recorded import ReplayModel
from exploracoder_jupyter.pipeline import Meter, Run, run_task
from exploracoder_jupyter.trace import load
from tests.unit.world import NoSteering, happened

EXAMPLES = Path(__file__).parents[3] / "examples"
SEARCHED_AGAIN = EXAMPLES / "6-found-by-searching-again-recorded.ipynb"
NOT_SEARCHED_AGAIN = Path(__file__).parents[1] / "recorded" / "not-searched-again.ipynb"
WANTED = "tidebook.survey.hang"


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
async def test_searching_again_solves_a_recorded_task(recording, ended, tmp_path):
    run, outcome = await replayed(recording, tmp_path)
    assert outcome == ended
    searches = [event for event in happened(run, "knowledge_searched") if event.subject != "solution"]
    assert not any(WANTED in event.apis for event in searches if not event.round)
    assert any(WANTED in event.apis for event in searches if event.round) is (ended == "solved")
    failed = [event.subtask for event in happened(run, "subtask_finished") if event.status == "failed"]
    assert failed == ([] if ended == "solved" else ["3"])
