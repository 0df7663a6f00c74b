"""Agents: strategies of thought, action and observation (ReAct, KnowAgent)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.events import CandidateProposed, PlanMade, SubtaskStarted
from exploracoder_jupyter.core.types import Call, Candidate, Introduction, Plan
from exploracoder_jupyter.pipeline.context import Run, State, close_branches, heuristic
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.exploring.subtasks import run_candidate
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.documentation import truncate
from exploracoder_jupyter.pipeline.prompting.lookup_notation import SEARCH as SEARCH_TOOL
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.prompting.replies import encodable, parse_code
from exploracoder_jupyter.pipeline.prompting.requests import ask_parsed
from exploracoder_jupyter.pipeline.retrieval.lookups import ApiLookups
from exploracoder_jupyter.pipeline.retrieval.queries import Search
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution import RunResult, SolutionAttempts
from exploracoder_jupyter.strategies.documentation import limit_retrieval
from exploracoder_jupyter.text.characters import fenced
from exploracoder_jupyter.text.replies import split_fenced, without_thinking

# The text form of an agent's step: a thought, and one action with what it needs.
#
# Any model can write it. A reply that cannot be read becomes an action with a problem, which the agent is shown as
# the result of its step.

SEARCH: Final = "search"
LOOK_UP: Final = "look_up"
RUN: Final = "run"
FINISH: Final = "finish"
ACTIONS: Final = (SEARCH, LOOK_UP, RUN, FINISH)

_ACTION = re.compile(r"^[ \t>*_#-]*action[ \t*_]*:[ \t*`]*(?P<name>\w*)(?P<rest>[^\n]*)\n?", re.I | re.M)
_LABEL = re.compile(r"^[ \t>*_#-]*(?:thought|action|result|observation|path|step \d+)\b[ \t*_\d]*:?", re.I | re.M)
_THOUGHT = re.compile(r"^[ \t>*_#-]*thought[ \t*_]*:[ \t*]*", re.I | re.M)
_PATH = re.compile(r"^[ \t>*_#-]*path[ \t*_]*:[^\n]*\n?", re.I | re.M)
_AROUND = " \t:`*\"'[]"
_LONGEST_THOUGHT = 400


@dataclass(frozen=True, slots=True)
class Action:
    """What the model wants to do next."""

    thought: str
    name: str = ""
    """One of `ACTIONS`; empty if the reply names none of them."""
    argument: str = ""
    """A query, the path of an API, or code; empty for `finish`."""
    problem: str = ""
    """Why it cannot be carried out; a sentence for the model."""


@heuristic("reading an action", lambda text: Action("", problem="The reply cannot be read."))
def parse_action(text: str) -> Action:
    """Return the first action of a reply; what the reply makes up after it is ignored."""
    text = without_thinking(encodable(text)).replace("\r\n", "\n")
    found = _ACTION.search(text)
    before = text[: found.start()] if found else text
    thought = truncate(_THOUGHT.sub("", _PATH.sub("", before)), _LONGEST_THOUGHT)
    name = found["name"].casefold() if found else ""
    if found is None or name not in ACTIONS:
        unknown = f"There is no action {name!r}." if name else "The reply names no action."
        return Action(thought, problem=f"{unknown} The actions are {', '.join(ACTIONS)}.")
    if name == FINISH:
        return Action(thought, name)
    if name == RUN:  # the code after it: in the first block, or up to the next label
        after = text[found.end() :]
        lead, block = next(iter(split_fenced(after)), (after, None))
        label = _LABEL.search(lead)
        code = after[: label.start()] if label else fenced(block.body, "python") if block else after
        try:
            return Action(thought, RUN, parse_code(code))
        except ReplyError:
            return Action(thought, RUN, problem="The action run needs one fenced Python block after it.")
    argument = found["rest"].strip(_AROUND)
    if argument.startswith("(") and argument.endswith(")"):
        argument = argument[1:-1].strip(_AROUND)
    problem = "" if argument else f"The action {name} needs a text on the same line."
    return Action(thought, name, argument, problem)


# The steps of an agent: each is one reply with a thought and an action, carried out at once.
#
# Agents differ in their prompt and in which action may follow which. An action that cannot be carried out costs its
# step and is answered with the reason. Cells run in forks, one after another: a cell that fails leaves the session
# as it was. The program is requested separately, as in ExploraCoder's comparison, where the samples are drawn from
# the last action.

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


# KnowAgent: ReAct with knowledge of which action may follow which (Zhu et al. 2024; ExploraCoder 4.3 and A.1.3).
#
# The prompt states the rules and asks for the path of actions before each thought; an action that breaks a rule is
# not carried out. Actions, limits and the program are those of `react`: N + 2 calls, of 3N + 3 in ExploraCoder's
# Table 6, where path, thought and action are three.

KNOWAGENT_RULES: Final[Rules] = {
    START: (SEARCH, LOOK_UP),
    SEARCH: (SEARCH, LOOK_UP, RUN),
    LOOK_UP: (SEARCH, LOOK_UP, RUN),
    RUN: (SEARCH, LOOK_UP, RUN, FINISH),
}
"""Which actions may follow: a call is looked for before it is tried, and what is finished has been tried."""


async def knowagent(run: Run) -> RunResult:
    """Solve the task by steps within the rules. The strategy `knowagent`."""
    return await act(run, "knowagent", KNOWAGENT_RULES)


# ReAct: thought, action, observation, until the model knows enough (Yao et al. 2022; ExploraCoder 4.3 and A.1.3).
#
# The actions are those that ExploraCoder's comparison gave it: search the documentation, run code, finish; and a
# look-up of one API. At most N steps and the program: N + 2 calls, of 2N + 2 in its Table 6, where thought and
# action are two.

REACT_RULES = dict.fromkeys((START, *ACTIONS), ACTIONS)


async def react(run: Run) -> RunResult:
    """Solve the task by steps of thought, action and observation. The strategy `react`."""
    return await act(run, "react", REACT_RULES)
