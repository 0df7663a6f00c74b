"""Resumes a recorded run: its progress, and the replies that are used again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

from exploracoder_jupyter.core.configuration.sections import OFFLINE, Endpoint
from exploracoder_jupyter.core.configuration.sources import Layer, merge_sources, recorded_layer, resolve
from exploracoder_jupyter.core.errors import ReplyError, UsageError
from exploracoder_jupyter.core.events import CandidateProposed, ModelCalled, PlanMade, Record, RunStarted, Steered
from exploracoder_jupyter.core.messages import describe_tokens, plural
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section, fold_all
from exploracoder_jupyter.core.types import Exchange, Experience, Passage, ScoredApi, Task
from exploracoder_jupyter.llm.endpoint.connection import redact_address
from exploracoder_jupyter.pipeline import CarriedSubtask, ResumePoint
from exploracoder_jupyter.pipeline.context import CHANGED_BY_USER, CHOSEN_BY_USER
from exploracoder_jupyter.pipeline.prompting.replies import parse_code
from exploracoder_jupyter.runs.factories import is_offline, model_plugin, uses_endpoint
from exploracoder_jupyter.runs.order import Order, ResumedRun, in_repository, load_started_run, refuse_active
from exploracoder_jupyter.runs.trace_check.re_execution import expand_home
from exploracoder_jupyter.runs.trace_permissions import refuse_escalation, restrict_to_current
from exploracoder_jupyter.trace import load
from exploracoder_jupyter.trace.redaction import local_homes

# Extracts the progress of a recorded run, from which another run can resume.

_MAX_LISTED = 40
"""Maximum number of cells listed in an error about an unknown cell."""


def recorded_exchanges(records: Iterable[Record]) -> tuple[Exchange, ...]:
    """Return all exchanges with the model, in order.

    Redacted home folders in the model's text are replaced by the current one. Replies with code are in the order in
    which they arrived, which determines the numbers of the candidates.
    """
    records = [*records]
    numbers: dict[tuple[str, str], int] = {}
    for candidate in (record.event.candidate for record in records if isinstance(record.event, CandidateProposed)):
        numbers.setdefault((candidate.subtask, candidate.code), len(numbers))
    found = (record.event.exchange for record in records if isinstance(record.event, ModelCalled))
    return tuple(_restore_exchange(exchange, numbers) for exchange in found)


def _restore_exchange(exchange: Exchange, numbers: Mapping[tuple[str, str], int]) -> Exchange:
    """Sort the replies of an exchange in the order of the candidates made from them, and expand home folders."""

    def place(index: int) -> int:
        try:
            code = parse_code(exchange.replies[index])
        except ReplyError:
            code = ""
        return numbers.get((exchange.subject, code), len(numbers))

    order = sorted(range(len(exchange.replies)), key=place)
    messages = (
        replace(one, content=expand_home(one.content)) if one.role == "assistant" else one for one in exchange.messages
    )
    return replace(
        exchange,
        messages=tuple(messages),
        replies=tuple(expand_home(exchange.replies[index]) for index in order),
        calls=tuple(exchange.calls[index] for index in order) if exchange.calls else (),
    )


def recorded_progress(records: Iterable[Record], run: RunState, *, cell: str = "") -> ResumePoint:
    """Return what a run starts with that resumes this one at its end or from one of its cells.

    `run` is the folded state of the records. `cell` is a candidate, which is carried forward instead of the selected
    one; a subtask, which is explored again; or `solution`.

    Raises:
        UsageError: there is no such cell, or a run cannot resume from it.
    """
    introduction = run.library.introduction if run.library else None
    if run.plan is None:
        if cell:
            raise _unknown_cell(run, cell)
        return ResumePoint(introduction=introduction)
    subtasks = run.plan.subtasks
    progress = _reusable_results(run)
    if cell:
        progress = _progress_before(run, cell, progress)
    first = progress.index(None) if None in progress else len(progress)
    wishes = [] if cell or first >= len(subtasks) else run.sections[subtasks[first].id].wishes
    plans = [record.event for record in records if isinstance(record.event, PlanMade)]
    reasons = [event.reason for event in plans if event.plan.revision]
    return ResumePoint(
        tuple(subtask.title for subtask in subtasks),
        tuple(progress),
        wishes[-1].hint if wishes else "",
        queries=tuple(subtask.online for subtask in subtasks),
        revisions=len(reasons) - reasons.count(CHANGED_BY_USER),
        fixed=CHANGED_BY_USER in reasons,
        reviewed=not run.reviewing,
        introduction=introduction,
        # not if the user chose to explore before all programs were tried
        tried_programs=not cell
        and [one.effort for one in run.efforts] == ["direct", "explore"]
        and run.efforts[-1].reason != CHOSEN_BY_USER,
    )


def with_hint(begin: ResumePoint, hint: str) -> ResumePoint:
    """Add a hint for the model, at the first subtask that is explored. UsageError: no subtask is left to explore."""
    if not hint.strip():
        return begin
    if begin.titles and len(begin.titles) == sum(one is not None for one in begin.carried):
        raise UsageError(
            "No subtask is left to explore, so the hint cannot be used.", remedy="Name a subtask with --from CELL."
        )
    return replace(begin, hint=hint.strip())


def reusable_result(section: Section) -> CarriedSubtask | None:
    """Return what is reused of a subtask; `None` if it has to be explored."""
    selected = section.selected
    code = expand_home(selected.candidate.code) if selected else ""
    match section.status:
        case "done" if code:
            return _with_search_results(section, CarriedSubtask(code))
        case "failed":
            return _with_search_results(section, CarriedSubtask(code, "failed", section.reason))
        case "skipped":
            return CarriedSubtask(status="skipped", reason=section.reason)
    # a candidate that the user had chosen, if the run was cut off before running it again
    wish = section.wishes[-1] if section.wishes else None
    return _chosen(section, section.attempts.get(wish.candidate) if wish and wish.what == "choose" else None)


def _chosen(section: Section, attempt: Attempt | None) -> CarriedSubtask | None:
    if attempt is None:
        return None
    return _with_search_results(section, CarriedSubtask(expand_home(attempt.candidate.code), chosen=True))


def _reusable_results(run: RunState) -> list[CarriedSubtask | None]:
    """Return what is reused of each planned subtask; after the first unexplored one, only those the user skipped."""
    assert run.plan
    progress = [reusable_result(run.sections[subtask.id]) for subtask in run.plan.subtasks]
    first = progress.index(None) if None in progress else len(progress)
    return progress[:first] + [one if one and one.status == "skipped" else None for one in progress[first:]]


def _progress_before(run: RunState, cell: str, progress: list[CarriedSubtask | None]) -> list[CarriedSubtask | None]:
    assert run.plan
    if cell == SOLUTION:
        place, chosen = len(progress), None
    else:
        section, attempt = _find_cell(run, cell)
        place = [subtask.id for subtask in run.plan.subtasks].index(section.subtask.id)
        chosen = _chosen(section, attempt)
    if None in progress[:place]:
        raise UsageError(f"The run had not reached {cell} yet.", remedy="Omit --from to continue where it ended.")
    return [*progress[:place], *([chosen] if chosen else [])]


def _find_cell(run: RunState, cell: str) -> tuple[Section, Attempt | None]:
    planned = [run.sections[subtask.id] for subtask in run.plan.subtasks] if run.plan else []
    for section in planned:
        attempt = section.attempts.get(cell)
        if section.subtask.id == cell:
            return section, None
        if attempt and attempt.observation and attempt.observation.ran:
            return section, attempt
        if attempt:
            raise UsageError(f"Candidate {cell} did not run to its end.", remedy=f"Use one of: {_list_cells(run)}.")
    solution = run.sections.get(SOLUTION)
    if solution and cell in solution.attempts:
        raise UsageError(
            f"{cell} is a solution, and a run cannot continue from it.",
            remedy=f"Use --from {SOLUTION} to write a new solution.",
        )
    raise _unknown_cell(run, cell)


def _unknown_cell(run: RunState, cell: str) -> UsageError:
    return UsageError(f"There is no cell {cell!r} in that run.", remedy=f"Use one of: {_list_cells(run)}.")


def _list_cells(run: RunState) -> str:
    found: list[str] = []
    for subtask in run.plan.subtasks if run.plan else ():
        section = run.sections[subtask.id]
        ran = [one.candidate.id for one in section.ordered if one.observation and one.observation.ran]
        found += [subtask.id, *ran]
    listed = [*found[:_MAX_LISTED], *(["..."] if len(found) > _MAX_LISTED else []), SOLUTION]
    return ", ".join(listed) if found else "none, because it had no plan"


def _with_search_results(section: Section, progress: CarriedSubtask) -> CarriedSubtask:
    found = [path for search in section.searches for path in search.apis]
    passages: list[Passage] = [one for search in section.searches for one in search.passages]
    used = {path for one in section.ordered if one.candidate.code == progress.code for path in one.apis}
    return replace(
        progress,
        used=tuple(sorted(used)),
        apis=tuple(ScoredApi(api, 0.0) for api in section.apis),
        retrieved=tuple(dict.fromkeys([*found, *(api.path for api in section.apis)])),
        passages=tuple(passages),
        failures=tuple(
            Experience(section.subtask, one.candidate, one.observation, one.apis)
            for one in section.ordered
            if one.observation and not one.observation.ran and one.candidate.code != progress.code
        ),
    )


# Determines what a resuming run reuses: the progress, and the model exchanges that need not be repeated.
#
# A run that itself resumed another may be cut off while it repeats that run's progress. Then the other trace has
# more, as long as it still exists.

ResumeState = tuple[ResumePoint, tuple[Exchange, ...]]
"""What a run starts with, and the model exchanges that have already been made for it."""


def resume_state(
    records: Sequence[Record], run: RunState, trace: Path, *, cell: str = "", hint: str = ""
) -> ResumeState:
    """Return what a run that resumes this one starts with; `trace` is the path of the records.

    `cell` is that of `recorded_progress`, `hint` that of `with_hint`.

    Raises:
        UsageError: there is no such cell, a run cannot resume from it, or no subtask is left for the hint.
    """
    return _resume_state(records, run, trace, cell, hint, frozenset())


def _resume_state(
    records: Sequence[Record], run: RunState, trace: Path, cell: str, hint: str, seen: frozenset[str]
) -> ResumeState:
    own = recorded_progress(records, run, cell=cell)
    if cell or not was_cut_off(run):  # its programs would have to be paid for again
        return with_hint(replace(own, tried_programs=False), hint), ()
    reusable = recorded_exchanges(_without_retried(records))
    before = None if run.run_id in seen else _state_before(run, trace, seen | {run.run_id})
    if before is None:
        return with_hint(own, hint), reusable
    start, earlier = before
    repeated = [_key(one) for one in recorded_exchanges(records)]
    remaining = []
    for one in earlier:
        if _key(one) in repeated:
            repeated.remove(_key(one))
        else:
            remaining.append(one)
    return with_hint(_combine(own, start, records, run), hint), (*reusable, *remaining)


def _without_retried(records: Sequence[Record]) -> list[Record]:
    """Drop the model calls for a subtask from before the user retried it, because other replies are wanted now."""
    kept: list[Record] = []
    for record in records:
        if isinstance(record.event, Steered) and record.event.what == "retry":
            retried = record.event.subtask
            kept = [one for one in kept if not (isinstance(one.event, ModelCalled) and _subtask(one.event) == retried)]
        kept.append(record)
    return kept


def _subtask(event: ModelCalled) -> str:
    return event.exchange.subject.partition(".")[0]


def was_cut_off(run: RunState) -> bool:
    """Whether the run ended prematurely, so that its last model replies have not been used."""
    return run.finished is None or run.finished.verdict.outcome == "stopped"


def _state_before(run: RunState, trace: Path, seen: frozenset[str]) -> ResumeState | None:
    """Return what the run itself started with; `None` if it resumed no other run, or that trace is unreadable."""
    started = run.started
    if started is None or not (started.resumes and started.resumes_trace):
        return None
    try:
        path = trace.parent / Path(started.resumes_trace).expanduser()
        records = load(path)
        earlier = fold_all(records)
        if earlier.run_id != started.resumes:
            return None
        return _resume_state(records, earlier, path, started.resumes_from, started.resumes_hint, seen)
    except (UsageError, RuntimeError, ValueError):  # no such trace, no such user, or an invalid path
        return None


def _combine(own: ResumePoint, start: ResumePoint, records: Sequence[Record], run: RunState) -> ResumePoint:
    """Combine a run's own progress with what it started with and had not repeated yet."""
    if run.plan is None:
        return start
    own = replace(own, revisions=own.revisions + start.revisions, fixed=own.fixed or start.fixed)
    # the hint that a run started with is recorded as a retry too
    steered = [record.event for record in records if isinstance(record.event, Steered) and record.event.what != "edit"]
    was_steered = any(event.what != "retry" or event.hint != start.hint for event in steered)
    if own.titles != start.titles or was_steered:
        return own
    carried = tuple(now or then for now, then in zip_longest(own.carried, start.carried))
    hint = start.hint if _first_unexplored(carried) == _first_unexplored(start.carried) else ""
    return replace(own, carried=carried, hint=own.hint or hint)


def _first_unexplored(carried: Sequence[CarriedSubtask | None]) -> int:
    return next((place for place, progress in enumerate(carried) if progress is None), len(carried))


def _key(exchange: Exchange) -> tuple[object, ...]:
    return exchange.step, exchange.messages, exchange.sampling, exchange.replies


# Resumes a recorded run: one that was cut off or ended without a solution, or any run from one of its cells.
#
# Task and settings come from the trace. Selected candidates are run again without calling the model. Replies to the
# requests of a run that was cut off are reused, as long as the prompts would be the same.

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
