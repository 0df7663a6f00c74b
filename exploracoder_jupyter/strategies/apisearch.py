"""APISearch: the model looks APIs up while it writes, and nothing is retrieved beforehand (ToolCoder, section IV.C).

Where it calls `APISearch(query)`, or a tool of its endpoint, it is answered from the index and continues to write.
After three look-ups it has to write the program; a reply that asks for more ends the run. A fine-tuned model searches
in the middle of its code (`retrieval.inline_lookups`), and may do so again once it has written more. Nothing is
executed.
"""

from __future__ import annotations

from typing import Final

from exploracoder_jupyter.pipeline.prompting.model_requests import ask_code
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.documented_task import begin_unexecuted

_SEARCHES: Final = 3
"""The most look-ups before the program, as the setting `retrieval.lookups` has by default."""


async def apisearch(run: Run) -> RunResult:
    """Write one program with look-ups. The strategy `apisearch`."""
    attempts = begin_unexecuted(run, lookups=_SEARCHES)
    inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
    drafts = [draft async for draft in ask_code(attempts.run, "strategy", inputs, subject=SOLUTION.id)]
    usable = [draft for draft in drafts if not draft.problem]
    return attempts.accept_unexecuted(attempts.add(usable[0]) if usable else None)
