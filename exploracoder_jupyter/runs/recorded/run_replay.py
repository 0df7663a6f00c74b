"""Showing a recorded run again: its replies and what it found come from the trace, all else happens anew.

No model is asked, nothing is searched beside the libraries' documentation, and nothing is kept for later runs. The code
is run again, so a library that has changed, or a program that depends on chance, may lead elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.events import Estimated, KnowledgeSearched, Notice, PlanMade, Record, RunStarted, Steered
from exploracoder_jupyter.core.recorded_settings import as_layer
from exploracoder_jupyter.core.settings import Layer, resolve
from exploracoder_jupyter.core.trace_peek import REPLAYED
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.knowledge.sources import RecordedSoup
from exploracoder_jupyter.llm import ReplayModel
from exploracoder_jupyter.pipeline import Given
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.runs.event_recorder import Listener, Place, Summary
from exploracoder_jupyter.runs.exploration_run import CellListener, run
from exploracoder_jupyter.runs.recorded.recorded_progress import carried, exchanges
from exploracoder_jupyter.runs.recorded.replay_differences import SAME, course
from exploracoder_jupyter.runs.recorded.run_resume import elsewhere, when, with_variables
from exploracoder_jupyter.runs.recorded.trace_loader import records_of
from exploracoder_jupyter.runs.recorded.trace_permissions import interpreters, no_looser
from exploracoder_jupyter.runs.run_order import Order, Recording, RunSteering
from exploracoder_jupyter.runs.trace_check import starting_state
from exploracoder_jupyter.runs.trace_check.check_subject import code_of, read
from exploracoder_jupyter.runs.trace_check.relocated_paths import at_home, workdir_of
from exploracoder_jupyter.trace import summary
from exploracoder_jupyter.trace.run_state import Run, Section, fold_all
from exploracoder_jupyter.trace.trace_paths import notebook_path

Delay = Literal["recorded", "none"]
"""Whether replies take as long as they did."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded run that is to be shown again."""

    order: Order
    recorded: Run
    out: Path


def replayed(
    trace: Path,
    out: Path | None = None,
    *,
    delay: Delay = "none",
    before: Path | None = None,
    kernel: str | None = None,
    workdir: Path | None = None,
    order: Order | None = None,
) -> Replay:
    """What shows the run of this trace again, and writes a trace of that.

    Args:
        trace: a notebook or a journal.
        out: the new trace; none: `<name>-replayed.ipynb` beside the other.
        delay: whether replies take as long as they did.
        before: a file with what is run first, for runs that used variables of a notebook.
        kernel: where the code is run; none: where it was run then.
        workdir: the folder with the files that the run had; none: the trace's, as for a check. Not with an order.
        order: who asks, with a working directory, and a live kernel or variables where there are any.

    Raises:
        UsageError: it is not the trace of a run, both paths are one, variables that the run used are not here, there is
            no such folder, or it was run by an interpreter that is not the one of now.
    """
    trace = _whole(trace)
    recorded = notebook_path(trace)
    out = _whole(out) if out else recorded.with_name(f"{recorded.stem}{REPLAYED}.ipynb")
    if recorded == out:
        raise UsageError("--out names the trace that is replayed.", remedy="Name another path.")
    records = records_of(trace)
    known = fold_all(records)
    if known.started is None:
        raise UsageError(f"The trace {trace.name} does not tell which task was run.", remedy="Explore it anew.")
    begin, code = _given(records, known), _code(trace, before)
    layer, order = _of_replay(out, kernel), order or Order(Task("", ()), workdir=workdir_of(trace, workdir))
    order = replace(
        order,
        task=_task(known.started.task),
        layers=(layer, _recorded(known.started, layer)),
        given=begin,
        recording=Recording(
            ReplayModel(exchanges(records), paced=delay == "recorded"),
            _soup(records, known.started),
            f"This shows the run{when(known)} ({trace.name}, {known.run_id}) again: replies are recorded ones, no model"
            f" is asked.{_by_hand(records, begin)}{elsewhere(known, order.workdir)}",
            partial(_from_the_start, trace=trace, code=code),
        ),
    )
    if not code:
        with_variables(order, order.task, remedy="--before FILE runs a .py or .ipynb first that makes them.")
    return Replay(order, known, out)


async def replay(
    asked: Replay,
    listen: Listener,
    *,
    steering: RunSteering | None = None,
    begun: Place | None = None,
    cells: CellListener | None = None,
) -> Summary:
    """Show the run again and return its summary, with `replay`: whether it took the same course, or where not. For
    `begun` and `cells` see `run`.

    Raises:
        UsageError, MissingMeans: it cannot be shown here; no trace was written.
        KernelError: our means failed on the way; the trace is closed and says so.
    """
    told: list[Record] = []

    def both(record: Record) -> None:
        told.append(record)
        if not isinstance(record.event, Estimated):  # nobody is to pay for it
            listen(record)

    try:
        found = await run(asked.order, both, steering=steering, begun=begun, cells=cells)
    except EndpointError:  # only the recording raises it: it is at its end
        found = summary(told, trace=asked.out)
    said = course(fold_all(told), asked.recorded)
    listen(Record(len(told) + 1, time.time(), Notice(said)))  # of both runs: it is in neither trace
    return found | {"replay": {"of": asked.recorded.run_id, "same_course": said in SAME, "course": said}}


def _whole(path: Path) -> Path:
    with suppress(RuntimeError):  # there is no such user
        path = path.expanduser()
    return path.resolve()


def _task(recorded: Task) -> Task:
    return replace(recorded, check=at_home(recorded.check) if recorded.check else None)


def _of_replay(out: Path, kernel: str | None) -> Layer:
    """What is otherwise than in the recorded run: nothing is asked of an endpoint or a server, and code stays here."""
    return {
        "view": {"out": str(out)},
        "endpoint": {"embedding_model": None},
        "retrieval": {"embedding_folder": None},
        "sandbox": {"network": False, "gateway": None, **({"kernel": kernel, "python": None} if kernel else {})},
    }


def _recorded(started: RunStarted, stronger: Layer) -> Layer:
    """The recorded settings.

    Raises:
        UsageError: they name an interpreter by its path that is not the one of now.
    """
    layer, now = as_layer(started.settings, (stronger,)), resolve(stronger)
    if other := next(interpreters(layer, now), ""):
        raise UsageError(
            "That run used another interpreter, which a trace alone does not start.",
            remedy=f"Where you want that, add: --kernel {other.partition(' ')[2]}",
        )
    return no_looser(layer, now)


def _code(trace: Path, before: Path | None) -> tuple[str, ...]:
    """What is run first: as asked for, or what a person has written before the exploration in the trace itself."""
    if before:
        return code_of(before)
    with suppress(UsageError):  # a torn one, of which there may be a journal
        return code_of(trace) if trace.suffix == ".ipynb" else ()
    return ()


async def _from_the_start(root: Branch, trace: Path, code: Sequence[str]) -> Branch:
    """The state that the run began in.

    Raises:
        UsageError, MissingMeans: it cannot be had here.
    """
    branch = await starting_state.begun(root, code)
    try:
        subject = read(trace)
    except UsageError:  # nothing was executed, so nothing needs anything
        return branch
    await starting_state.require(branch, subject)
    return branch


def _given(records: list[Record], known: Run) -> Given:
    """What the recorded run itself did not ask for: it went on from another, or knew the introduction."""
    asked = {(one.step, one.subject) for one in exchanges(records)}
    steps = {step for step, _ in asked}
    hint = known.started.resumes_hint if known.started else ""
    introduction = known.library.introduction if known.library and "introduce" not in steps else None
    plan = next((record.event.plan for record in records if isinstance(record.event, PlanMade)), None)
    if plan is None or "plan" in steps:
        return Given(hint=hint, introduction=introduction)
    sections = [known.sections.get(subtask.id, Section(subtask)) for subtask in plan.subtasks]
    taken = tuple(None if ("recommend", one.subtask.id) in asked else carried(one) for one in sections)
    titles = tuple(one.subtask.title for one in sections)
    return Given(titles, taken, hint, introduction=introduction)


def _soup(records: list[Record], started: RunStarted) -> RecordedSoup:
    searches = [record.event for record in records if isinstance(record.event, KnowledgeSearched)]
    retrieval = started.settings.get("retrieval")
    online = isinstance(retrieval, dict) and retrieval.get("web", "off") != "off"
    return RecordedSoup(searches, online=online)


def _by_hand(records: list[Record], begin: Given) -> str:
    """That what the user steered is not repeated; the hint that a run began with is told in the same way."""
    steered = sum(isinstance(record.event, Steered) for record in records)
    return " That run was steered by hand, which a replay does not repeat." if steered > bool(begin.hint) else ""
