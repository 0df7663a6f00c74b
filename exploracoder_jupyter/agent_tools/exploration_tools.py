"""The tools that explore a whole task with the model of the user's settings: start, wait, steer; and check its trace.

A run outlives the call that starts it, because clients cut off long calls. It ends with the client, and its trace is
complete up to that point.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from exploracoder_jupyter.agent_tools.live_kernels import ask_kernel, send_variables
from exploracoder_jupyter.agent_tools.running_kernels import find_kernel
from exploracoder_jupyter.agent_tools.tool_limits import FRESH, MAX_WAIT, Answer, ControlName, check_number
from exploracoder_jupyter.agent_tools.trying_tools import live_sandbox, must_send
from exploracoder_jupyter.core.configuration.sources import Layer, resolve
from exploracoder_jupyter.core.errors import ExploraError, KernelError, UsageError, to_explora_error
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import RunState, fold
from exploracoder_jupyter.core.run_state.run_wording import candidate_line, headline, latest
from exploracoder_jupyter.core.task import classify_mention
from exploracoder_jupyter.core.types import Experience, Subtask, Task, UserVariable
from exploracoder_jupyter.pipeline.prompting.observations import MOST_CHARACTERS, format_observation, redact_experience
from exploracoder_jupyter.protocol.messages import Choose, Control, Explore, Replan, Retry, Skip
from exploracoder_jupyter.runs import Order, RunSteering, run
from exploracoder_jupyter.runs.order import validate_order
from exploracoder_jupyter.runs.trace_check import CheckRequest, check_trace

MAX_RUNS: Final = 2
"""Explorations that run at once."""
_MAX_ENDED: Final = 20
_MAX_TRIES: Final = 8
_SETTLE_SECONDS: Final = 0.3
_MAX_MENTIONED: Final = 20
_IDENTIFIER: Final = re.compile(r"(?<![\w.])[^\W\d]\w*")


@dataclass(slots=True)
class _Run:
    id: str
    steering: RunSteering = field(default_factory=RunSteering)
    state: RunState = field(default_factory=RunState)
    summary: dict[str, JsonValue] | None = None
    error: ExploraError | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def ended(self) -> bool:
        return self.summary is not None or self.error is not None

    def listen(self, record: Record) -> None:
        self.state = fold(self.state, record)
        self.notify()

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


class ExplorationTools:
    """The tools, for one client."""

    def __init__(self, tasks: TaskGroup, workdir: Path) -> None:
        self._tasks, self._workdir = tasks, workdir
        self._runs: dict[str, _Run] = {}

    async def explore_task(
        self, task: str, libraries: Sequence[str], check: str, kernel: str, seconds: float, tokens: int
    ) -> Answer:
        """Start to explore a task; return the id for `explore_status`.

        Raises UsageError: an argument is not valid, or too many explorations run; KernelError: the kernel can neither
        be forked nor send what the task needs.
        """
        if sum(not one.ended for one in self._runs.values()) >= MAX_RUNS:
            raise UsageError(f"{MAX_RUNS} explorations are running.", remedy="Wait for one, or stop it.")
        budget: dict[str, JsonValue] = {"seconds": seconds, "tokens": tokens}
        layer: Layer = {"budget": budget, "sandbox": {"state": "fresh"}}
        live, folder, mentioned, sent = None, self._workdir, tuple[UserVariable, ...](), None
        if kernel != FRESH:
            file, settings = (await find_kernel(kernel)).connection_file, resolve().sandbox
            offered = await ask_kernel(file)
            folder, mentioned = offered.folder, _mentioned(f"{task}\n{check}", offered.variables)
            if must_send(offered, settings):
                sent, problems = await send_variables(file, [one.name for one in mentioned], settings.variables_mb)
                mentioned = tuple(replace(one, lacking=problems.get(one.name, "")) for one in mentioned)
                layer = {"budget": budget, "sandbox": {"state": "fresh", "python": offered.other_python}}
            else:
                live_sandbox(settings, offered)
                live, layer = offered.live, {"budget": budget}
        asked = Task(task, tuple(libraries), check=check or None)
        order = Order(
            asked,
            (layer,),
            folder,
            variables=sent,
            live=live,
            mentioned=mentioned,
            steerable=True,
            trace_folder=self._workdir,
        )
        try:
            validate_order(order)
            _require_inputs(order)
        except ExploraError:
            _forget_variables(order)
            raise
        for id in [id for id, one in self._runs.items() if one.ended][:-_MAX_ENDED]:
            del self._runs[id]
        started = _Run(os.urandom(4).hex())
        self._runs[started.id] = started
        self._tasks.start_soon(self._execute, started, order)
        return {"id": started.id, "next": "Call explore_status with this id; it waits for news."}

    async def explore_status(self, id: str, wait: float) -> Answer:
        """Wait until the exploration ends, at most so many seconds, and return what is known of it. Raises UsageError:
        there is no such exploration, or the time is outside its limits."""
        found = self._find(id)
        check_number(wait, "wait", 0, MAX_WAIT)
        with anyio.move_on_after(wait):
            while not found.ended:
                await found.changed.wait()
        return _describe(found)

    async def steer_exploration(
        self, id: str, control: ControlName, target: str, hint: str, titles: Sequence[str]
    ) -> Answer:
        """Stop the exploration or steer it. Raises UsageError: there is no such exploration, it has ended, or the
        control lacks what it needs."""
        found = self._find(id)
        if found.ended:
            raise UsageError("That exploration has ended.", remedy="Start another with explore_task.")
        if control == "stop":
            found.steering.stop()
        else:
            found.steering.send(_control(control, target, hint, titles))
        with anyio.move_on_after(_SETTLE_SECONDS):
            await found.changed.wait()
        return _describe(found)

    def _find(self, id: str) -> _Run:
        if id not in self._runs:
            raise UsageError(f"There is no exploration {id[:60]!r}.", remedy="Use the id that explore_task returned.")
        return self._runs[id]

    async def _execute(self, started: _Run, order: Order) -> None:
        try:
            started.summary = {**await run(order, started.listen, steering=started.steering)}
        except Exception as error:
            started.error = to_explora_error(error)
        finally:
            _forget_variables(order)
            started.notify()


async def check_one_trace(path: str) -> Answer:
    """Execute the code of a trace again, in siblings; return the results as `check --json`.

    Raises UsageError, MissingRequirement: the trace cannot be checked here.
    """
    report = await check_trace(CheckRequest(Path(path).expanduser()), lambda *_: None)
    return {"summary": report.sentence, **report.plain()}


def _require_inputs(order: Order) -> None:
    """Raise KernelError if the kernel could not send a variable that the task treats as given."""
    lacking = [one.lacking for one in order.mentioned if one.given and one.lacking]
    if lacking:
        raise KernelError(
            f"The kernel cannot be forked, and cannot send what the task needs. {' '.join(lacking)}",
            remedy='Use kernel "fresh", with a task that says how to make the data.',
        )


def _forget_variables(order: Order) -> None:
    if order.variables is not None:
        shutil.rmtree(order.variables, ignore_errors=True)


def _mentioned(text: str, variables: Mapping[str, str]) -> tuple[UserVariable, ...]:
    """Return the variables that a task or its check mention; a bare word is given only if it is the name of data."""
    names = [name for name in dict.fromkeys(_IDENTIFIER.findall(text)) if name in variables][:_MAX_MENTIONED]
    found = []
    for name in names:
        mention, is_data = classify_mention(text, name), not variables[name].startswith("builtins.")
        given = mention == "given" or (mention == "perhaps" and is_data)
        found.append(UserVariable(name, variables[name], given))
    return tuple(found)


def _control(control: ControlName, target: str, hint: str, titles: Sequence[str]) -> Control:
    needed = {"skip": "a subtask", "retry": "a subtask", "choose": "a candidate"}.get(control)
    if needed and not target:
        raise UsageError(f"{control!r} needs the id of {needed} as target.", remedy="explore_status lists the ids.")
    if control == "replan" and not titles:
        raise UsageError("'replan' needs the titles of the new subtasks.", remedy="Give them as titles.")
    match control:
        case "skip":
            return Skip(target)
        case "retry":
            return Retry(target, hint)
        case "choose":
            return Choose(target)
        case "replan":
            return Replan(tuple(titles))
        case _:
            return Explore()


def _describe(found: _Run) -> Answer:
    state, sharing = found.state, resolve().endpoint.share
    tries = [attempt for section in state.sections.values() for attempt in section.ordered]
    answer: Answer = {
        "id": found.id,
        "state": "failed" if found.error else "ended" if found.ended else "running",
        "now": str(found.error) if found.error else headline(state),
        "subtasks": [{"id": one.id, "title": one.title, "status": one.status} for one in state.planned],
        "latest": [candidate_line(one) for one in tries[-_MAX_TRIES:]] if sharing == "values" else [],
    }
    last = latest(state)
    if last and last.observation and not found.summary:
        experience = Experience(Subtask(last.candidate.subtask, ""), last.candidate, last.observation)
        shown = format_observation(redact_experience(experience, sharing).observation, MOST_CHARACTERS)
        answer["last_try"] = {"id": last.id, "code": last.candidate.code, "shows": shown}
    if found.summary:
        answer["result"] = {
            name: found.summary[name] for name in ("status", "reason", "solution", "trace", "usage", "state", "files")
        }
    return answer
