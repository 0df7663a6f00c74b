"""Replies of a scripted model, and what it was asked."""

from exploracoder_jupyter.llm.scripted_model import ScriptedModel
from exploracoder_jupyter.pipeline import run_task
from tests.unit.world import a_run

RIGHT = "import math\nroot = math.sqrt(16)"
WRONG = "import math\nroot = math.introot(16)"


def fenced(code):
    return f"```python\n{code}\n```"


def prompts(model):
    """The latest text that the model was sent with each request."""
    return [request.messages[-1].content for request in model.requests]


async def solved_by(strategy, *replies, **more):
    """The result, the prompts and the run with a strategy for a model that gives these replies."""
    model = ScriptedModel(replies)
    run = a_run(model, **{"check": "assert root == 4", **more})
    result = await run_task(run, strategy)
    assert len(model.requests) == run.meter.total.calls
    return result, prompts(model), run
