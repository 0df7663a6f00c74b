"""Rounds of self-debugging: if no candidate of a subtask ran, each kind of failure is repaired once (section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.errors import BudgetExceeded, EndpointError
from exploracoder_jupyter.core.types import Candidate, Experience
from exploracoder_jupyter.pipeline.async_task_groups import task_group
from exploracoder_jupyter.pipeline.exploring.candidate_runs import Attempt
from exploracoder_jupyter.pipeline.exploring.candidate_selection import select
from exploracoder_jupyter.pipeline.exploring.result_agreement import distinct_failures
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_code
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import DebugInputs


async def run_debug_round(attempt: Attempt, round_: int) -> None:
    """Run one round of self-debugging if needed, after searching again with the failure.

    Each distinct failure of the previous round is repaired once (section 3.4). If candidates ran but none shows a
    result, or all contradict the subtask, the best of them is rewritten once.
    """
    latest = [item for item in attempt.experiences if item.candidate.round == round_ - 1]
    if attempt.none_ran:
        await _repair_each(attempt, distinct_failures(latest), round_)
    elif round_ == 1 and attempt.none_suffices and attempt.run.model.name != OFFLINE:
        best, _ = select(latest, [api.path for api in attempt.search.apis], attempt.run.task.text)
        with suppress(BudgetExceeded, EndpointError):  # candidates that ran remain selectable; the next request raises
            await _repair_each(attempt, [best], round_)


async def _repair_each(attempt: Attempt, failures: Sequence[Experience], round_: int) -> None:
    """Search with the first failure, and repair all of them."""
    if failures:
        await attempt.search.search_again(failures[0])
    attempt.state.branch.expect(len(failures))
    async with task_group() as group:
        for failed in failures:
            group.start_soon(_repair, attempt, failed, round_)
    await attempt.rerun_outdated()


async def _repair(attempt: Attempt, failed: Experience, round_: int) -> None:
    run, subtask = attempt.run, attempt.subtask
    inputs = DebugInputs(
        run.task,
        subtask,
        attempt.search.apis,
        attempt.state.experience,
        failed,
        run.settings.tests,
        passages=attempt.search.passages,
        context_tokens=run.subtask_context_tokens,
    )
    failed_id = failed.candidate.id
    id_ = f"{failed_id.partition('r')[0]}r{round_}"
    drafts = [draft async for draft in ask_code(run, "debug", inputs, subject=failed_id)]
    for draft in drafts[:1]:
        parent = attempt.state.parent
        await attempt.try_candidate(
            Candidate(id_, subtask.id, draft.code, round_, failed_id, problem=draft.problem, parent=parent)
        )
