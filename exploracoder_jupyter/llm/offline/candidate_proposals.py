"""Proposes candidates for one subtask: the best drafts for its clause, each printing its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.llm.offline.drafting.call_drafts import StepContext, call_drafts, example_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.program_search import (
    Goal,
    ScoredDraft,
    create_step_context,
    is_relevant,
    rank_drafts,
)
from exploracoder_jupyter.llm.offline.drafting.result_conversions import find_conversions
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, find_named_apis
from exploracoder_jupyter.llm.offline.inputs.existing_variables import state_variables
from exploracoder_jupyter.llm.offline.inputs.task_values import find_targets
from exploracoder_jupyter.llm.offline.inputs.wanted_result import add_columns, user_variables
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ProposeInputs

_MAX_FORMS = 3
"""Candidates that use the same APIs: selection goes by agreement, so forms of the best draft support one another."""
_MAX_SCORE_GAP = 0.9
"""How much worse than the best a candidate's score may be, as doubtful candidates do harm."""


def propose_candidates(inputs: ProposeInputs, pool: DocumentationPool, *, limit: int) -> list[str]:
    """Return snippets for the subtask, best first; none when no documentation matches any of its words."""
    title = inputs.subtask.title
    goal = add_columns(Goal.of(title), inputs.task)
    variables = (*state_variables(inputs.experience), *user_variables(inputs.task))
    values = goal.values
    if not values and not inputs.experience:  # the data is in another clause
        values = tuple(replace(value, roles=()) for value in Goal.of(inputs.task.text).values)
    context = create_step_context(goal, pool, variables, values=values, reserved_names=find_targets(inputs.task.text))
    found = rank_drafts(context, goal, needs=variables[0].code if variables else "")
    ranked = [item for item in found if is_relevant(item.draft, goal, pool)]
    chosen = _select_diverse(_prioritize_hint(ranked, inputs.hint, context), title, limit)
    target = next(iter(find_targets(title)), f"result_{inputs.subtask.id}")
    return [draft.code(target, with_print=True) for draft in chosen]


def _prioritize_hint(ranked: Sequence[ScoredDraft], hint: str, context: StepContext) -> list[ScoredDraft]:
    """Put the drafts that call APIs named in a hint first, with a lead so large that no other score is close."""
    hinted = find_named_apis(hint, context.pool.apis.values())
    paths = {api.path for api in hinted}
    new_drafts = (draft for api in hinted for draft in (*call_drafts(api, context), *example_drafts(api, context)))
    preferred = [item for item in ranked if paths.intersection(item.draft.paths)] or [
        ScoredDraft(draft, 0.0) for draft in new_drafts
    ]
    lead = max((item.score for item in ranked), default=0.0) + 2 * _MAX_SCORE_GAP
    rest = [item for item in ranked if item not in preferred]
    return [*(replace(item, score=item.score + lead) for item in preferred), *rest]


def _select_diverse(ranked: Sequence[ScoredDraft], text: str, limit: int) -> list[Draft]:
    """Select the best draft in up to three forms, then one draft of each other set of names, if nearly as good."""
    if not ranked:
        return []
    best = ranked[0].draft
    near = [item.draft for item in ranked if item.score > ranked[0].score - _MAX_SCORE_GAP]
    requested = [template for template, cost in find_conversions(text, best.type).items() if cost < 0.05]
    forms = [best, *(replace(best, result=template.format(x=best.result)) for template in requested[:1])]
    forms.extend(draft for draft in near if draft.paths == best.paths)
    unique = list({(draft.statements, draft.result): draft for draft in forms}.values())
    others = {frozenset(draft.names): draft for draft in reversed(near) if draft.paths != best.paths}
    return [*unique[:_MAX_FORMS], *reversed(others.values())][:limit]
