"""The state of a run: one pure fold over its records, from which every view of the run is rendered.

`state` has the data, `event_reducer` computes them from the records and adds what only the process that started the run
knows of its end, and `run_wording` words them for people. Cells, trace, panel, sidebar, terminal, history and summary
are rendered from a `RunState` alone.
"""

from exploracoder_jupyter.core.run_state.event_reducer import fold, fold_all, with_failure, with_summary
from exploracoder_jupyter.core.run_state.state import (
    SOLUTION,
    Attempt,
    CandidateState,
    InputResult,
    InputRound,
    RunState,
    Section,
    offered_code,
)

__all__ = [
    "SOLUTION",
    "Attempt",
    "CandidateState",
    "InputResult",
    "InputRound",
    "RunState",
    "Section",
    "fold",
    "fold_all",
    "offered_code",
    "with_failure",
    "with_summary",
]
