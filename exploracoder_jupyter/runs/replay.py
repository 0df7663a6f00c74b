"""Replays a recorded run: model replies and search results come from the trace, everything else is executed again.

No model is called, nothing is searched except the libraries' documentation, and nothing is stored for later runs. The
code is run again, so a changed library, or code that depends on chance, may lead to another result.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.core.configuration.sources import Layer, recorded_layer, resolve
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.events import Estimated, KnowledgeSearched, Notice, PlanMade, Record, RunStarted, Steered
from exploracoder_jupyter.core.history import REPLAYED_SUFFIX
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section, fold_all
from exploracoder_jupyter.core.types import Observation, Task
from exploracoder_jupyter.knowledge.sources import RecordedSearch
from exploracoder_jupyter.llm.recorded import ReplayModel
from exploracoder_jupyter.pipeline import ResumePoint
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.runs.exploration_run import CellListener, OutputListener, run
from exploracoder_jupyter.runs.order import Order, Recording, in_repository, load_started_run
from exploracoder_jupyter.runs.recording import Listener, Summary, TraceCreated
from exploracoder_jupyter.runs.resume import (
    moved_folder_message,
    recorded_exchanges,
    require_variables,
    reusable_result,
    start_time_phrase,
    was_cut_off,
)
from exploracoder_jupyter.runs.steering import RunSteering
from exploracoder_jupyter.runs.trace_check import re_execution
from exploracoder_jupyter.runs.trace_check.checked_trace import read_code, read_subject
from exploracoder_jupyter.runs.trace_check.re_execution import expand_home, workdir_of
from exploracoder_jupyter.runs.trace_permissions import changed_interpreters, restrict_to_current
from exploracoder_jupyter.trace import summarize_run
from exploracoder_jupyter.trace.paths import notebook_path

# Compares a replayed run with the recorded one: what was tried, with what result, and what was carried forward.

SAME_COURSE = "It took the same course as the recorded run."
SAME_UNTIL_CUT_OFF = "It took the same course as the recorded run, as far as that came before it was cut off."
SAME_COURSES = (SAME_COURSE, SAME_UNTIL_CUT_OFF)


def compare_course(now: RunState, recorded: RunState) -> str:
    """Describe the first difference from the recorded run, and how the run ended; or return one of `SAME_COURSES`."""
    if first := next(_differences(now, recorded), ""):
        return f"It took another course at {first}.{_describe_end(now, recorded)}"
    return SAME_UNTIL_CUT_OFF if was_cut_off(recorded) else SAME_COURSE


def _differences(now: RunState, recorded: RunState) -> Iterator[str]:
    if _titles(now)[: len(_titles(recorded))] != _titles(recorded):
        yield "its beginning: the plan is different"
    for id_, before in recorded.sections.items():
        yield from _section_differences(now.sections.get(id_), before)
    if not was_cut_off(recorded) and _outcome_of(now) != _outcome_of(recorded):
        yield "its end"


def _describe_end(now: RunState, recorded: RunState) -> str:
    """Describe how both runs ended, if they did, as a sentence with a leading space."""
    if not now.finished or was_cut_off(recorded):
        return ""
    same = _outcome_of(now) == _outcome_of(recorded)
    return f" It ended {_outcome_of(now)}, {'as the recorded run did' if same else f'not {_outcome_of(recorded)}'}."


def _outcome_of(run: RunState) -> str:
    return run.finished.verdict.outcome if run.finished else ""


def _titles(run: RunState) -> list[str]:
    return [subtask.title for subtask in run.plan.subtasks] if run.plan else []


def _section_differences(now: Section | None, before: Section) -> Iterator[str]:
    """Yield the differences in one section.

    Candidates are matched by their code, because their numbers depend on which reply arrived first, and the example of
    a task by that of its program too.
    """
    name = "the solution" if before.subtask.id == SOLUTION else f"subtask {before.subtask.id}"
    by_code = {_session_fingerprint(now, one): one for one in (now.ordered if now else ()) if one.observation}
    for attempt in before.ordered:
        if attempt.observation is None:
            continue
        again = by_code.get(_session_fingerprint(before, attempt))
        if again is None or again.observation is None:
            yield f"{name}: candidate {attempt.candidate.id} was not tried"
            continue
        ended, was = _observation_outcome(again.observation), _observation_outcome(attempt.observation)
        if ended != was:
            yield f"{name}: candidate {again.candidate.id} ended with {ended}, not {was}"
    if before.selected and _code_fingerprint(now.selected if now else None) != _code_fingerprint(before.selected):
        carried = "nothing was carried forward"
        if now and now.selection:
            carried = f"{now.selection.candidate} was carried forward ({'; '.join(now.selection.reasons)})"
        yield f"{name}: {carried}, not {before.selected.candidate.id}"
    if now and before.settled and before.status != now.status:
        yield f"{name}: it is {now.status}, not {before.status}"


def _observation_outcome(observation: Observation) -> str:
    return observation.error.name if observation.error else observation.status


def _code_fingerprint(attempt: Attempt | None) -> str:
    return fingerprint(expand_home(attempt.candidate.code)) if attempt else ""


def _session_fingerprint(section: Section | None, attempt: Attempt) -> tuple[str, str]:
    """Return the fingerprints of an attempt and of that in the same section in whose state it ran."""
    program = section.attempts.get(attempt.candidate.parent) if section else None
    return _code_fingerprint(attempt), _code_fingerprint(program)


Delay = Literal["recorded", "none"]
"""Whether replies take as long as in the recorded run."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded run that is to be replayed."""

    order: Order
    recorded: RunState
    out: Path


def prepare_replay(
    trace: Path,
    out: Path | None = None,
    *,
    delay: Delay = "none",
    before: Path | None = None,
    kernel: str | None = None,
    workdir: Path | None = None,
    order: Order | None = None,
) -> Replay:
    """Prepare a replay of the run in this trace, which writes another trace.

    Args:
        trace: a notebook or a journal.
        out: the new trace; by default `<name>-replayed.ipynb` beside the other.
        delay: whether replies take as long as in the recorded run.
        before: a file with code to run first, for runs that used variables of a notebook.
        kernel: the kernel to use; by default the recorded one.
        workdir: the folder with the run's files, by default the one of the trace, as for a check; or the repository.
            Without a repository it is ignored if an order is given.
        order: the caller's working directory, and its live kernel or variables, if any.

    Raises:
        UsageError: the file is not the trace of a run, both paths are the same, variables that the run used are
            missing, the folder does not exist, or the run used another interpreter than the current one.
    """
    trace = _resolve_path(trace)
    recorded = notebook_path(trace)
    out = _resolve_path(out) if out else recorded.with_name(f"{recorded.stem}{REPLAYED_SUFFIX}.ipynb")
    if recorded == out:
        raise UsageError("--out names the trace that is replayed.", remedy="Name another path.")
    records, recorded_run, started = load_started_run(trace)
    progress, code = _initial_progress(records, recorded_run), _code_before(trace, before)
    layer, order = _replay_settings(out, kernel), order or Order(Task("", ()), workdir=workdir_of(trace, workdir))
    # a run may have explored at once for a reason that does not hold for a replay, as a review
    explored = bool(recorded_run.efforts) and recorded_run.efforts[0].effort == "explore"
    effort: Layer = {"exploration": {"effort": "explore"}} if explored else {}
    if started.task.repository:
        folder = workdir.resolve() if workdir else Path(expand_home(started.environment.folder))
        order = in_repository(order, folder, started.task.repository)
    steered = sum(isinstance(record.event, Steered) for record in records)
    steering = ""
    if steered > bool(progress.hint):  # the hint that a run started with is recorded as an event too
        steering = " That run was steered by hand, which a replay does not repeat."
    retrieval = started.settings.get("retrieval")
    online = isinstance(retrieval, dict) and retrieval.get("web", "off") != "off"
    order = replace(
        order,
        task=replace(
            started.task,
            check=expand_home(started.task.check) if started.task.check else None,
            setup=expand_home(started.task.setup),
        ),
        layers=(layer, effort, _recorded_settings(started, layer)),
        given=progress,
        recording=Recording(
            ReplayModel(recorded_exchanges(records), paced=delay == "recorded"),
            RecordedSearch([one.event for one in records if isinstance(one.event, KnowledgeSearched)], online=online),
            f"This replays the run{start_time_phrase(recorded_run)} ({trace.name}, {recorded_run.run_id}) with its"
            f" recorded replies; no model is called.{steering}"
            f"{moved_folder_message(recorded_run, order.workdir)}",
            partial(_restore_start, trace=trace, code=code),
        ),
    )
    if not code:
        require_variables(order, order.task, remedy="Define them in a .py or .ipynb and pass it with --before FILE.")
    return Replay(order, recorded_run, out)


async def replay(
    asked: Replay,
    listen: Listener,
    *,
    steering: RunSteering | None = None,
    on_trace_created: TraceCreated | None = None,
    cells: CellListener | None = None,
    solution: OutputListener | None = None,
) -> Summary:
    """Replay a run and return its summary, with a comparison under `replay`.

    The other arguments are those of `run`.

    Raises:
        UsageError, MissingRequirement: the run cannot be replayed here; no trace was written.
        KernelError: a kernel failed during the run; the trace is closed and contains the failure.
    """
    records: list[Record] = []

    def collect(record: Record) -> None:
        records.append(record)
        if not isinstance(record.event, Estimated):  # a replay costs nothing
            listen(record)

    try:
        result = await run(
            asked.order, collect, steering=steering, on_trace_created=on_trace_created, cells=cells, solution=solution
        )
    except EndpointError:  # raised only by the recording, when it has no more replies
        result = summarize_run(fold_all(records), trace=asked.out)
    comparison = compare_course(fold_all(records), asked.recorded)
    listen(Record(len(records) + 1, time.time(), Notice(comparison)))  # compares two runs, so it is in neither trace
    return result | {
        "replay": {"of": asked.recorded.run_id, "same_course": comparison in SAME_COURSES, "course": comparison}
    }


def _resolve_path(path: Path) -> Path:
    with suppress(RuntimeError):  # no such user
        path = path.expanduser()
    return path.resolve()


def _replay_settings(out: Path, kernel: str | None) -> Layer:
    """Return the settings that differ from the recorded ones: no endpoint or server is used, and code runs locally."""
    return {
        "view": {"out": str(out)},
        "endpoint": {"embedding_model": None},
        "retrieval": {"embedding_folder": None},
        "sandbox": {"network": False, "gateway": None, **({"kernel": kernel, "python": None} if kernel else {})},
    }


def _recorded_settings(started: RunStarted, stronger: Layer) -> Layer:
    layer, now = recorded_layer(started.settings, (stronger,)), resolve(stronger)
    if other := next(changed_interpreters(layer, now), ""):
        raise UsageError(
            "That run used another interpreter, and a trace alone cannot start an interpreter.",
            remedy=f"To use it, add: --kernel {other.partition(' ')[2]}",
        )
    return restrict_to_current(layer, now)


def _code_before(trace: Path, before: Path | None) -> tuple[str, ...]:
    """Return the code to run first: that of `before`, or what a person has written before the run in the trace."""
    if before:
        return read_code(before)
    with suppress(UsageError):  # a damaged notebook may have a journal
        return read_code(trace) if trace.suffix == ".ipynb" else ()
    return ()


async def _restore_start(root: Branch, trace: Path, code: Sequence[str]) -> Branch:
    branch = await re_execution.run_code_before(root, code)
    try:
        subject = read_subject(trace)
    except UsageError:  # nothing was executed, so there are no requirements
        return branch
    await re_execution.require_state(branch, subject)
    return branch


def _initial_progress(records: list[Record], run: RunState) -> ResumePoint:
    """Return what the recorded run had without requesting it from the model, e.g. because it resumed another run."""
    requested = {(one.step, one.subject) for one in recorded_exchanges(records)}
    steps = {step for step, _ in requested}
    hint = run.started.resumes_hint if run.started else ""
    introduction = run.library.introduction if run.library and "introduce" not in steps else None
    plan = next((record.event.plan for record in records if isinstance(record.event, PlanMade)), None)
    if plan is None or "plan" in steps:
        return ResumePoint(hint=hint, introduction=introduction)
    sections = [run.sections.get(subtask.id, Section(subtask)) for subtask in plan.subtasks]
    asked = {subject for step, subject in requested if step in ("recommend", "propose")}
    reused = tuple(None if one.subtask.id in asked else reusable_result(one) for one in sections)
    titles = tuple(one.subtask.title for one in sections)
    return ResumePoint(titles, reused, hint, introduction=introduction)
