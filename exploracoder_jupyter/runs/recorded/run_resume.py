"""Going on from a recorded run: one that was cut off, or ended without a solution, or any from one of its cells.

Task and settings come from the trace. What had been selected is run again without asking the model, and what a run
that was cut off had asked is not asked again, as long as it would be asked in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.recorded_settings import as_layer
from exploracoder_jupyter.core.settings import OFFLINE, Endpoint, Layer, Settings, resolve
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.core.wording import plural
from exploracoder_jupyter.llm.endpoint_presets import shown
from exploracoder_jupyter.pipeline import Given
from exploracoder_jupyter.runs.adapters import asks_endpoint, is_offline
from exploracoder_jupyter.runs.recorded.resume_state import onward
from exploracoder_jupyter.runs.recorded.trace_loader import records_of
from exploracoder_jupyter.runs.recorded.trace_permissions import no_looser, refuse_beyond
from exploracoder_jupyter.runs.run_order import Earlier, Order
from exploracoder_jupyter.runs.trace_check.relocated_paths import at_home
from exploracoder_jupyter.runs.trace_lock import refuse_held
from exploracoder_jupyter.trace.run_state import Run, fold_all
from exploracoder_jupyter.trace.sanitizing.path_redaction import own_homes

_WITH_SOLUTION = ("solved", "unchecked")


Confirm = Callable[[str], bool]
"""Asks the user whether the run may use this endpoint, which only its trace names."""

_ENDPOINT = frozenset({"base_url", "model", "embedding_model", "timeout", "retries"})
_WEB = frozenset({"web", "web_address"})
"""Settings that are the user's wherever flags, the config file or the environment name them."""


def resumed(order: Order, trace: Path, *, cell: str = "", hint: str = "", confirm: Confirm | None = None) -> Order:
    """The order that goes on from the run of this trace; what the order itself says wins over what is recorded.

    Args:
        order: its task may be empty.
        trace: the notebook or the journal, whole or torn; relative to the order's working directory.
        cell: where to branch off: a candidate, which is carried forward instead of the selected one; a subtask, which
            is explored again; or `solution`. Empty: where the run ended.
        hint: for the model, at the first subtask that is explored.
        confirm: asks the user whether an endpoint may be used that only the trace names; none: it is refused.

    Raises:
        UsageError: it is not the trace of a run, or of one that is still going on; there is no such cell, or nothing to
            resume; variables that the run used are not here; or it reached further than the settings of now do.
    """
    trace = Path(order.workdir, trace).resolve()
    refuse_held(trace)
    records = records_of(trace)
    run = fold_all(records)
    if run.started is None:
        raise UsageError(f"The trace {trace.name} does not tell which task was run.", remedy="Explore it anew.")
    if not cell:
        _refuse_ended(run, trace)
    begin, asked = onward(records, run, trace, cell=cell, hint=hint)
    layer = _settings(run.started, order.layers, confirm)
    switched = _switched(run.started, resolve(*order.layers, layer).endpoint)
    said = f"{_said(run, trace, begin, cell)}{switched}{elsewhere(run, order.workdir)}"
    address = str(layer.get("endpoint", {}).get("base_url") or "")
    return replace(
        order,
        task=_task(order, run.started.task),
        layers=(*order.layers, layer),
        given=begin,
        earlier=Earlier(run.run_id, trace, said, asked, cell, begin.hint, address),
    )


def with_variables(order: Order, task: Task, *, remedy: str) -> Task:
    """The recorded task, where its variables can be had.

    Raises:
        UsageError: they were a notebook's, and there is none; `remedy` says what to do then.
    """
    if task.uses and order.live is None and order.variables is None:
        names = ", ".join(task.uses)
        raise UsageError(f"That run used variables of a notebook ({names}), which are not here.", remedy=remedy)
    return task


def when(run: Run) -> str:
    """The moment that the run began, to the minute, behind its preposition; nothing where the trace tells none."""
    with suppress(ValueError, OverflowError, OSError):
        return f" of {datetime.fromtimestamp(run.started_at):%Y-%m-%d %H:%M}"
    return ""


def elsewhere(run: Run, workdir: Path) -> str:
    """That files are looked for in another folder than in the recorded run; a sentence behind others, or nothing."""
    then = run.started.environment.folder if run.started else ""
    now = own_homes().hidden(str(workdir.resolve()))
    return f" Its files were in {then}; they are looked for in {now}." if then not in ("", now) else ""


def _refuse_ended(run: Run, trace: Path) -> None:
    if run.finished and run.finished.verdict.outcome in _WITH_SOLUTION:
        raise UsageError(
            f"There is nothing to resume: the run of {trace.name} ended {run.finished.verdict.outcome}.",
            remedy="--from CELL explores again from one of its cells.",
        )


def _task(order: Order, known: Task) -> Task:
    """The recorded task, with what the order says otherwise."""
    said = order.task
    found = Task(
        text=said.text or known.text,
        libraries=said.libraries or known.libraries,
        uses=tuple(dict.fromkeys([*known.uses, *said.uses])),
        check=at_home(known.check) if said.check is None and known.check else said.check,
        solution_name=said.solution_name or known.solution_name,
    )
    return with_variables(order, found, remedy="Resume it in that notebook: %%explora --resume.")


def _settings(started: RunStarted, stronger: tuple[Layer, ...], confirm: Confirm | None) -> Layer:
    """The recorded settings, as far as they are in force.

    Raises:
        UsageError: they reach further than what is set now.
    """
    now = resolve(*stronger)
    layer = _unnamed(as_layer(started.settings, stronger), now)
    if not asks_endpoint(resolve(*stronger, layer)):
        layer = _without(layer, "endpoint", {"base_url"})
    address = layer.get("endpoint", {}).get("base_url")
    allowed = isinstance(address, str) and confirm is not None and confirm(address)
    refuse_beyond(layer, now, address_allowed=allowed)
    return no_looser(layer, now)


def _unnamed(recorded: Layer, now: Settings) -> Layer:
    """The recorded layer without what the user decides now: by flags, the config file or the environment."""
    layer = _without(recorded, "endpoint", _ENDPOINT & now.endpoint.model_fields_set)
    return _without(layer, "retrieval", _WEB) if _WEB & now.retrieval.model_fields_set else layer


def _without(layer: Layer, section: str, names: Set[str]) -> Layer:
    return {**layer, section: {name: value for name, value in layer.get(section, {}).items() if name not in names}}


def _switched(started: RunStarted, now: Endpoint) -> str:
    """That another model is asked than in the recorded run; a sentence behind others, or nothing."""
    then, model = started.model, now.model
    if is_offline(now):
        model = OFFLINE
    place = f" at {shown(now.base_url)}" if model != OFFLINE and now.base_url else ""
    return f" That run used the model {then}; this one uses {model}{place}." if model and model != then else ""


def _said(run: Run, trace: Path, begin: Given, cell: str) -> str:
    """What is gone on from, what is taken over and what it had cost."""
    ended = f"ended {run.finished.verdict.outcome}" if run.finished else "was cut off"
    where = f"from {cell} in" if cell else "from"
    taken = sum(one is not None for one in begin.carried)
    subtasks = f"{plural(len(begin.titles), 'subtask')} {'is' if len(begin.titles) == 1 else 'are'} taken over"
    over = f"{taken} of {subtasks}" if begin.titles else "it had no plan yet"
    spent = f"{plural(run.usage.calls, 'call')} and {plural(run.usage.tokens, 'token')}"
    asked = run.started is not None and run.started.model != OFFLINE
    cost = f" It had cost {spent}, which do not count here." if asked else ""
    return f"This goes on {where} the run{when(run)} ({trace.name}, {run.run_id}), which {ended}: {over}.{cost}"
