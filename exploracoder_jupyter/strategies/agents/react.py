"""ReAct: thought, action, observation, until the model knows enough (Yao et al. 2022; ExploraCoder 4.3 and A.1.3).

The actions are those that ExploraCoder's comparison gave it: search the documentation, run code, finish; and a look-up
of one API. At most N steps and the program: N + 2 calls, of 2N + 2 in its Table 6, where thought and action are two.
"""

from __future__ import annotations

from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.agents.agent_actions import ACTIONS
from exploracoder_jupyter.strategies.agents.agent_session import START, act

RULES = dict.fromkeys((START, *ACTIONS), ACTIONS)


async def react(run: Run) -> RunResult:
    """Solve the task by steps of thought, action and observation. The strategy `react`."""
    return await act(run, "react", RULES)
