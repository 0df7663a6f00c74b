"""Announces what a run will probably cost, before it spends anything: requests, tokens and their price."""

from __future__ import annotations

from typing import Final

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.pipeline.step_context import Run

_TOKENS_PER_SUBTASK: Final = 13_000
"""Prompt and completion tokens of one subtask as published at m = 5; the paper measured 56 k per problem (Table 4)."""
_TOKENS_PER_REQUEST: Final = 6_000
"""Prompt and completion tokens of one request of the exploration otherwise, with prompts of maximum length."""
_TOKENS_PER_TEST_CALL: Final = 5_000
"""Tokens of one request for test inputs, or for one judgement, with prompts of maximum length."""
_TOKENS_PER_PROGRAM: Final = 4_000
"""Prompt and completion tokens of one program or repair; 2,400 in the first problems measured (docs/measured.md)."""


def announce_programs(run: Run, requests: int) -> None:
    """Emit the most that programs written at once will take: one request each."""
    run.emit(run.meter.estimate(requests, requests * _TOKENS_PER_PROGRAM, at_most=True))


def announce_exploration(run: Run, subtasks: int, *, at_most: bool) -> None:
    """Emit what an exploration of so many subtasks will take; a model that costs nothing needs no estimate."""
    if run.model.name == OFFLINE:
        return
    tests = 2 if run.settings.tests else 0
    calls, tokens = 3 + 2 * subtasks, subtasks * _TOKENS_PER_SUBTASK
    if not run.as_published:
        calls, tokens = 2 + subtasks, (2 + subtasks) * _TOKENS_PER_REQUEST
    tokens += tests * _TOKENS_PER_TEST_CALL
    run.emit(run.meter.estimate(calls + tests, tokens, at_most=at_most))
