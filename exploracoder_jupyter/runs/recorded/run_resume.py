"""Resumes a recorded run: one that was cut off or ended without a solution, or any run from one of its cells.

Task and settings come from the trace. Selected candidates are run again without calling the model. Replies to the
requests of a run that was cut off are reused, as long as the prompts would be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE, Endpoint
from exploracoder_jupyter.core.configuration.recorded_settings import recorded_layer
from exploracoder_jupyter.core.configuration.settings_sources import Layer, merge_sources, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.message_formatting import describe_tokens, plural
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.llm.endpoint.endpoint_addresses import redact_address
from exploracoder_jupyter.pipeline import ResumePoint
from exploracoder_jupyter.runs.construction.model_factory import is_offline, model_plugin
from exploracoder_jupyter.runs.construction.run_settings import uses_endpoint
from exploracoder_jupyter.runs.order import Order, ResumedRun, in_repository
from exploracoder_jupyter.runs.recorded.resume_state import resume_state
from exploracoder_jupyter.runs.recorded.trace_loader import load_started_run
from exploracoder_jupyter.runs.recorded.trace_permissions import refuse_escalation, restrict_to_current
from exploracoder_jupyter.runs.trace_check.relocated_paths import expand_home
from exploracoder_jupyter.runs.trace_lock import refuse_active
from exploracoder_jupyter.trace.sanitizing.path_redaction import local_homes

_SOLVED = ("solved", "unchecked")

Confirm = Callable[[str], bool]
"""Asks the user whether the run may use this endpoint, which only its trace names."""

_ENDPOINT = frozenset({"base_url", "model", "embedding_model", "timeout", "retries", "max_tokens"})
_WEB = frozenset({"web", "web_address"})
"""Settings for which flags, the config file and the environment take precedence over the trace."""


def resume_order(order: Order, trace: Path, *, cell: str = "", hint: str = "", confirm: Confirm | None = None) -> Order:
    """Return an order that resumes the run of this trace. Values in `order` take precedence over recorded ones.

    Args:
        order: its task may be empty.
        trace: the notebook or the journal, complete or damaged; relative to the order's working directory.
        cell: where to branch off: a candidate, which is carried forward instead of the selected one; a subtask, which
            is explored again; or `solution`. Empty: where the run ended.
        hint: for the model, at the first subtask that is explored.
        confirm: asks the user whether an endpoint may be used that only the trace names; by default it is refused.

    Raises:
        UsageError: the file is not the trace of a run, or its run is still active; there is no such cell, or nothing to
            resume; variables that the run used are missing; or it had more permissions than the current settings.
    """
    trace = Path(order.trace_folder or order.workdir, trace).resolve()
    refuse_active(trace)
    records, run, started = load_started_run(trace)
    if not cell and run.finished and run.finished.verdict.outcome in _SOLVED:
        raise UsageError(
            f"There is nothing to resume: the run of {trace.name} ended {run.finished.verdict.outcome}.",
            remedy="Use --from CELL to explore again from one of its cells.",
        )
    progress, reusable = resume_state(records, run, trace, cell=cell, hint=hint)
    layer = _recorded_settings(started, order.layers, confirm)
    switched = _model_change_message(started, resolve(*order.layers, layer).endpoint)
    message = f"{_resume_message(run, trace, progress, cell)}{switched}{moved_folder_message(run, order.workdir)}"
    address = str(layer.get("endpoint", {}).get("base_url") or "")
    if started.task.repository and not order.task.repository:
        order = in_repository(order, Path(expand_home(started.environment.folder)), started.task.repository)
    return replace(
        order,
        task=_merge_task(order, started.task),
        layers=(*order.layers, layer),
        given=progress,
        earlier=ResumedRun(run.run_id, trace, message, reusable, cell, progress.hint, address),
    )


def require_variables(order: Order, task: Task, *, remedy: str) -> Task:
    """Return the recorded task if its variables are available.

    Raises:
        UsageError: they were those of a notebook, and there is none; `remedy` suggests what to do.
    """
    if task.uses and order.live is None and order.variables is None:
        names = ", ".join(task.uses)
        raise UsageError(
            f"That run used variables of a notebook ({names}), which are not available here.", remedy=remedy
        )
    return task


def start_time_phrase(run: RunState) -> str:
    """Return " of <date and time>" for the start of the run; empty if the recorded time is invalid."""
    with suppress(ValueError, OverflowError, OSError):
        return f" of {datetime.fromtimestamp(run.started_at):%Y-%m-%d %H:%M}"
    return ""


def moved_folder_message(run: RunState, workdir: Path) -> str:
    """Return a sentence, with a leading space, if files are looked up in another folder than in the recorded run."""
    then = run.started.environment.folder if run.started else ""
    now = local_homes().redact(str(workdir.resolve()))
    return f" Its files were in {then}; they are looked for in {now}." if then not in ("", now) else ""


def _merge_task(order: Order, recorded: Task) -> Task:
    override = order.task
    task = Task(
        text=override.text or recorded.text,
        libraries=override.libraries or recorded.libraries,
        uses=tuple(dict.fromkeys([*recorded.uses, *override.uses])),
        check=expand_home(recorded.check) if override.check is None and recorded.check else override.check,
        solution_name=override.solution_name or recorded.solution_name,
        setup=override.setup or expand_home(recorded.setup),
        repository=override.repository or recorded.repository,
        variables=recorded.variables,
    )
    return require_variables(order, task, remedy="Resume it in that notebook: %%explora --resume.")


def _recorded_settings(started: RunStarted, stronger: tuple[Layer, ...], confirm: Confirm | None) -> Layer:
    now = resolve(*stronger)
    layer, given = recorded_layer(started.settings, stronger), merge_sources(*stronger)
    layer = _remove_settings(layer, "endpoint", _ENDPOINT & given.get("endpoint", {}).keys())
    if _WEB & given.get("retrieval", {}).keys():
        layer = _remove_settings(layer, "retrieval", _WEB)
    if not uses_endpoint(resolve(*stronger, layer)):
        layer = _remove_settings(layer, "endpoint", {"base_url"})
    address = layer.get("endpoint", {}).get("base_url")
    allowed = isinstance(address, str) and confirm is not None and confirm(address)
    refuse_escalation(layer, now, address_allowed=allowed)
    return restrict_to_current(layer, now)


def _remove_settings(layer: Layer, section: str, names: Set[str]) -> Layer:
    return {**layer, section: {name: value for name, value in layer.get(section, {}).items() if name not in names}}


def _model_change_message(started: RunStarted, now: Endpoint) -> str:
    then, model = started.model, now.model
    if is_offline(now):
        model = OFFLINE
    at_endpoint = model != OFFLINE and not model_plugin(now)
    place = f" at {redact_address(now.base_url)}" if at_endpoint and now.base_url else ""
    return f" That run used the model {then}; this one uses {model}{place}." if model and model != then else ""


def _resume_message(run: RunState, trace: Path, progress: ResumePoint, cell: str) -> str:
    ended = f"ended {run.finished.verdict.outcome}" if run.finished else "was cut off"
    where = f"from {cell} in" if cell else "from"
    count = sum(one is not None for one in progress.carried)
    subtasks = f"{plural(len(progress.titles), 'subtask')} {'is' if len(progress.titles) == 1 else 'are'} reused"
    reused = f"{count} of {subtasks}" if progress.titles else "it had no plan yet"
    usage = f"{plural(run.usage.calls, 'call')} and {describe_tokens(run.usage)}"
    has_cost = run.started is not None and run.started.model != OFFLINE
    cost = f" It had cost {usage}, which do not count here." if has_cost else ""
    name = f"{start_time_phrase(run)} ({trace.name}, {run.run_id})"
    return f"This continues {where} the run{name}, which {ended}: {reused}.{cost}"
