"""KnowAgent: ReAct with knowledge of which action may follow which (Zhu et al. 2024; ExploraCoder 4.3 and A.1.3).

The prompt states the rules and asks for the path of actions before each thought; an action that breaks a rule is not
carried out. Actions, limits and the program are those of `react`: N + 2 calls, of 3N + 3 in ExploraCoder's Table 6,
where path, thought and action are three.
"""

from __future__ import annotations

from typing import Final

from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.agents.agent_actions import FINISH, LOOK_UP, RUN, SEARCH
from exploracoder_jupyter.strategies.agents.agent_session import START, Rules, act

RULES: Final[Rules] = {
    START: (SEARCH, LOOK_UP),
    SEARCH: (SEARCH, LOOK_UP, RUN),
    LOOK_UP: (SEARCH, LOOK_UP, RUN),
    RUN: (SEARCH, LOOK_UP, RUN, FINISH),
}
"""Which actions may follow: a call is looked for before it is tried, and what is finished has been tried."""


async def knowagent(run: Run) -> RunResult:
    """Solve the task by steps within the rules. The strategy `knowagent`."""
    return await act(run, "knowagent", RULES)
