"""Proposes candidates for one subtask: the best drafts for its clause, each printing its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.llm.offline.drafting.call_drafts import call_drafts, example_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.program_search import is_relevant, rank_drafts
from exploracoder_jupyter.llm.offline.drafting.result_conversions import find_conversions
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, find_named_apis
from exploracoder_jupyter.llm.offline.inputs.existing_variables import state_variables
from exploracoder_jupyter.llm.offline.inputs.task_goal import Goal
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
    step = goal.using(variables, values, find_targets(inputs.task.text))
    found = rank_drafts(step, goal, pool, needs=variables[0].code if variables else "")
    ranked = [draft for draft in found if is_relevant(draft, goal, pool)]
    chosen = _select_diverse(_prioritize_hint(ranked, inputs.hint, step, pool), title, limit)
    target = next(iter(find_targets(title)), f"result_{inputs.subtask.id}")
    return [draft.code(target, with_print=True) for draft in chosen]


def _prioritize_hint(ranked: Sequence[Draft], hint: str, step: Goal, pool: DocumentationPool) -> list[Draft]:
    """Put the drafts that call APIs named in a hint first, with a lead so large that no other score is close."""
    hinted = find_named_apis(hint, pool.apis.values())
    paths = {api.path for api in hinted}
    new_drafts = [d for api in hinted for d in (*call_drafts(api, step, pool), *example_drafts(api, step, pool))]
    preferred = [draft for draft in ranked if paths.intersection(draft.paths)] or new_drafts
    lead = max((draft.score for draft in ranked), default=0.0) + 2 * _MAX_SCORE_GAP
    rest = [draft for draft in ranked if draft not in preferred]
    return [*(replace(draft, score=draft.score + lead) for draft in preferred), *rest]


def _select_diverse(ranked: Sequence[Draft], text: str, limit: int) -> list[Draft]:
    """Select the best draft in up to three forms, then one draft of each other set of names, if nearly as good."""
    if not ranked:
        return []
    best = ranked[0]
    near = [draft for draft in ranked if draft.score > best.score - _MAX_SCORE_GAP]
    requested = [template for template, cost in find_conversions(text, best.type).items() if cost < 0.05]
    forms = [best, *(replace(best, result=template.format(x=best.result)) for template in requested[:1])]
    forms.extend(draft for draft in near if draft.paths == best.paths)
    unique = list({(draft.statements, draft.result): draft for draft in forms}.values())
    others = {frozenset(draft.names): draft for draft in reversed(near) if draft.paths != best.paths}
    return [*unique[:_MAX_FORMS], *reversed(others.values())][:limit]
