"""Showing a recorded run again: its replies and what it found come from the trace, all else happens anew.

No model is asked, nothing is searched beside the libraries' documentation, and nothing is kept for later runs. The code
is run again, so a library that has changed, or a program that depends on chance, may lead elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.config import Layer
from exploracoder_jupyter.earlier_settings import as_layer
from exploracoder_jupyter.errors import EndpointError, UsageError
from exploracoder_jupyter.events import KnowledgeSearched, PlanMade, Record, RunStarted, Steered
from exploracoder_jupyter.knowledge.soup import RecordedSoup
from exploracoder_jupyter.models import ReplayModel
from exploracoder_jupyter.notebook import load, summary
from exploracoder_jupyter.notebook.state import Run, Section, fold_all
from exploracoder_jupyter.pipeline import Given
from exploracoder_jupyter.session.check.places import at_home
from exploracoder_jupyter.session.course import SAME, course
from exploracoder_jupyter.session.earlier import carried, exchanges
from exploracoder_jupyter.session.order import Order, Recording, RunSteering
from exploracoder_jupyter.session.resume import with_variables
from exploracoder_jupyter.session.run import run
from exploracoder_jupyter.session.teller import Listener, Summary
from exploracoder_jupyter.types import Task

Delay = Literal["recorded", "none"]
"""Whether replies take as long as they did."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded run that is to be shown again."""

    order: Order
    recorded: Run
    out: Path


def replayed(trace: Path, out: Path, *, delay: Delay = "none") -> Replay:
    """What shows the run of this trace again, and writes a trace of that.

    Raises:
        UsageError: it is not the trace of a run, both paths are one, or variables that the run used are not here.
    """
    trace, out = trace.expanduser().resolve(), out.expanduser().resolve()
    if trace == out:
        raise UsageError("--out names the trace that is replayed.", remedy="Name another path.")
    records = load(trace)
    known = fold_all(records)
    if known.started is None:
        raise UsageError(f"The trace {trace.name} does not tell which task was run.", remedy="Explore it anew.")
    begin = _given(records, known)
    order = Order(
        _task(known.started.task),
        (_of_replay(out), *_recorded(known.started)),
        given=begin,
        recording=_recording(records, known, trace, delay, steered=_steered(records) > bool(begin.hint)),
    )
    with_variables(order, order.task, remedy="Only runs without such variables can be replayed.")
    return Replay(order, known, out)


async def replay(asked: Replay, listen: Listener, *, steering: RunSteering | None = None) -> Summary:
    """Show the run again and return its summary, with `replay`: whether it took the same course, or where not.

    Raises:
        UsageError, MissingMeans: it cannot be shown here; no trace was written.
        KernelError: our means failed on the way; the trace is closed and says so.
    """
    told: list[Record] = []

    def both(record: Record) -> None:
        told.append(record)
        listen(record)

    try:
        found = await run(asked.order, both, steering=steering)
    except EndpointError:  # only the recording raises it: it is at its end
        found = summary(told, trace=asked.out)
    said = course(fold_all(told), asked.recorded)
    return found | {"replay": {"of": asked.recorded.run_id, "same_course": said == SAME, "course": said}}


def _task(recorded: Task) -> Task:
    return replace(recorded, check=at_home(recorded.check) if recorded.check else None)


def _of_replay(out: Path) -> Layer:
    """What is otherwise than in the recorded run: nothing is asked of an endpoint or a server, and code stays here."""
    return {
        "view": {"out": str(out)},
        "endpoint": {"embedding_model": None},
        "retrieval": {"embedding_folder": None},
        "sandbox": {"network": False, "gateway": None},
    }


def _recorded(started: RunStarted) -> tuple[Layer, ...]:
    """The recorded settings; there is no live kernel to start from."""
    layer = as_layer(started.settings)
    live = layer.get("sandbox", {}).get("state") == "live"
    return ({"sandbox": {"state": "auto"}}, layer) if live else (layer,)


def _given(records: list[Record], known: Run) -> Given:
    """What the recorded run itself did not ask for: it went on from another, or knew the introduction."""
    asked = {(one.step, one.subject) for one in exchanges(records)}
    steps = {step for step, _ in asked}
    introduction = known.library.introduction if known.library and "introduce" not in steps else None
    plan = next((record.event.plan for record in records if isinstance(record.event, PlanMade)), None)
    if plan is None or "plan" in steps:
        return Given(introduction=introduction)
    sections = [known.sections.get(subtask.id, Section(subtask)) for subtask in plan.subtasks]
    taken = [None if ("recommend", one.subtask.id) in asked else carried(one) for one in sections]
    explored = next((one for one, carried_ in zip(sections, taken, strict=True) if carried_ is None), None)
    hint = explored.wishes[0].hint if explored and explored.wishes else ""
    titles = tuple(one.subtask.title for one in sections)
    return Given(titles, tuple(taken), hint, introduction=introduction)


def _recording(records: list[Record], known: Run, trace: Path, delay: Delay, *, steered: bool) -> Recording:
    assert known.started
    searches = [record.event for record in records if isinstance(record.event, KnowledgeSearched)]
    retrieval = known.started.settings.get("retrieval")
    online = isinstance(retrieval, dict) and retrieval.get("web", "off") != "off"
    when = datetime.fromtimestamp(known.started_at).strftime("%Y-%m-%d %H:%M")
    by_hand = " That run was steered by hand, which a replay does not repeat." if steered else ""
    return Recording(
        ReplayModel(exchanges(records), paced=delay == "recorded"),
        RecordedSoup(searches, online=online),
        f"This shows the run of {when} ({trace.name}, {known.run_id}) again: replies are recorded ones, no model is"
        f" asked.{by_hand}",
    )


def _steered(records: list[Record]) -> int:
    """How often the user took the wheel; the hint that a run began with is told in the same way."""
    return sum(isinstance(record.event, Steered) for record in records)
