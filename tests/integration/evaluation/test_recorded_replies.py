"""An exploration in real kernels is recorded and replayed without its model, with the same candidates and prompts."""

import anyio
import pytest

from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.events import CandidateObserved, CandidateSelected, ModelCalled
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.recorded import ReplyArchive, ReplyRecording
from exploracoder_jupyter.runs.exploration_run import run
from exploracoder_jupyter.runs.order import Order

pytestmark = pytest.mark.integration
TEXT = "Count the triangles of the karate club graph and list the nodes by degree"


def _run(folder, archive, *, asks_model, text=TEXT):
    """Run as an evaluation does; the recording names its model, so that a replay need not."""
    endpoint = {"model": "offline"} if asks_model else {}
    folder.mkdir()
    layer = {"endpoint": endpoint, "exploration": {"candidates": 2}, "view": {"out": str(folder / "trace.ipynb")}}
    replies = ReplyRecording(ReplyArchive(archive), "karate, explore, 0", asks_model)
    records = []
    order = Order(Task(text, ("networkx",)), (layer,), workdir=folder, replies=replies)
    summary = anyio.run(run, order, records.append)
    return summary, [record.event for record in records]


def _without_times(events):
    calls = [event.exchange for event in events if isinstance(event, ModelCalled)]
    observed = [(event.candidate, event.observation.status) for event in events if isinstance(event, CandidateObserved)]
    chosen = [event.selection.candidate for event in events if isinstance(event, CandidateSelected)]
    return [(call.step, call.subject, call.replies, call.usage) for call in calls], sorted(observed), chosen


def test_a_replay_repeats_replies_without_a_model(tmp_path):
    archive = tmp_path / "replies"
    with pytest.raises(UsageError, match="recorded replies"):
        _run(tmp_path / "nothing", archive, asks_model=False)
    recorded, events = _run(tmp_path / "recorded", archive, asks_model=True)
    ReplyArchive(archive).pack()
    replayed, again = _run(tmp_path / "replayed", archive, asks_model=False)
    assert _without_times(again) == _without_times(events)
    assert replayed["solution"] == recorded["solution"]
    with pytest.raises(EndpointError, match="karate, explore, 0"):
        _run(tmp_path / "other", archive, asks_model=False, text="Draw the karate club graph")
