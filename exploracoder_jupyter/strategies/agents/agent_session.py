"""The steps of an agent: each is one reply with a thought and an action, carried out at once.

Agents differ in their prompt and in which action may follow which. An action that cannot be carried out costs its step
and is answered with the reason. Cells run in forks, one after another: a cell that fails leaves the session as it was.
The program is requested separately, as in ExploraCoder's comparison, where the samples are drawn from the last action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from exploracoder_jupyter.core.events import CandidateProposed, PlanMade, SubtaskStarted
from exploracoder_jupyter.core.types import Call, Candidate, Introduction, Plan
from exploracoder_jupyter.pipeline.branch_operations import close_branches
from exploracoder_jupyter.pipeline.exploring.carried_candidate import run_candidate
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_parsed
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.tool_call_text import SEARCH as SEARCH_TOOL
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.model_lookups import ApiLookups
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run, State
from exploracoder_jupyter.strategies.agents.agent_actions import FINISH, LOOK_UP, RUN, SEARCH, parse_action
from exploracoder_jupyter.strategies.documented_task import limit_retrieval

START: Final = "start"
Rules = Mapping[str, Sequence[str]]

_PACKAGE: Final = "exploracoder_jupyter.strategies"
_TOOLS = {SEARCH: SEARCH_TOOL, LOOK_UP: "get_signature"}
_REASON = "the next cell of the session"


async def act(run: Run, template: str, rules: Rules) -> RunResult:
    """Take steps until the agent finishes or none is left, then request the program, run it and return the result."""
    run = limit_retrieval(run)
    announce_libraries(run)
    lookups = ApiLookups(run, SOLUTION.id, run.settings.subtasks)
    session = AgentSession(run, template, rules, State(Introduction(""), run.root), lookups)
    try:
        while session.steps_left:
            await session.step()
    finally:
        await session.close(session.state.branch)
    attempts = await SolutionAttempts.begin(run, session.state)
    candidate = await attempts.propose("strategy", session.inputs("agent_program"))
    attempt = await attempts.execute(candidate) if candidate else None
    return attempts.accept(attempt) if attempt and attempt.observation.ran else attempts.give_up()


@dataclass(slots=True)
class AgentSession:
    """The steps so far and the state they led to."""

    run: Run
    template: str
    rules: Rules
    state: State
    lookups: ApiLookups
    notes: list[str] = field(default_factory=list)
    """By step: the thought and the action, with its result unless it ran a cell."""
    last: str = START

    @property
    def steps_left(self) -> int:
        """As many steps as an exploration may have subtasks, less those taken; none after `finish`."""
        return 0 if self.last == FINISH else self.run.settings.subtasks - len(self.notes)

    def inputs(self, template: str) -> StrategyInputs:
        """Return the inputs of a prompt that shows the steps so far."""
        return StrategyInputs(
            f"{_PACKAGE}:{template}",
            self.run.task,
            experience=self.state.experience,
            notes=tuple(self.notes),
            rounds_left=self.steps_left,
        )

    async def step(self) -> None:
        """Take one step."""
        action = await ask_parsed(self.run, "strategy", self.inputs(self.template), parse_action, subject=SOLUTION.id)
        title = f"Step {len(self.notes) + 1}: {action.thought}".strip()
        problem, allowed = action.problem, self.rules[self.last]
        if not problem and action.name not in allowed:
            problem = f"After {self.last} only these actions are possible: {', '.join(allowed)}."
        result = f"It was not carried out. {problem}" if problem else ""
        if not problem and action.name in _TOOLS:
            result = await self.lookups.answer(Call(_TOOLS[action.name], action.argument))
        elif not problem and action.name == RUN:
            await self._run_cell(action.argument, title)
        self.last = self.last if problem else action.name
        done = f"Action: {action.name}: {action.argument}" if action.name in _TOOLS else f"Action: {action.name}"
        self.notes.append("\n".join(filter(None, [title, done if action.name else "", result])))

    async def close(self, branch: Branch) -> None:
        """Close a branch of the session, which is not the root: the program starts from there again."""
        if branch is not self.run.root:
            await close_branches([branch])

    async def _run_cell(self, code: str, title: str) -> None:
        run, state = self.run, self.state
        [subtask] = run.agenda.new_subtasks([title])
        run.agenda.plan = Plan((*run.agenda.plan.subtasks, subtask))
        run.emit(PlanMade(run.agenda.plan))
        run.emit(SubtaskStarted(subtask.id, ()))
        candidate = Candidate(f"{subtask.id}.1", subtask.id, code, parent=state.parent)
        run.emit(CandidateProposed(candidate))
        self.state = (
            await run_candidate(run, state, Search(run, subtask, ()), candidate, _REASON, may_fail=True) or state
        )
        run.progress.experience = self.state.experience
        if self.state.branch is not state.branch:
            await self.close(state.branch)
