"""Proposes candidates for one subtask: the best drafts for its clause, diverse, each printing its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.llm.offline.drafting.call_drafts import call_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.program_search import ScoredDraft, Search, is_relevant
from exploracoder_jupyter.llm.offline.drafting.result_conversions import IDENTITY, find_idioms
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, find_named_apis
from exploracoder_jupyter.llm.offline.inputs.goals import Goal, clause_goals
from exploracoder_jupyter.llm.offline.inputs.observations import observe_results, state_variables
from exploracoder_jupyter.llm.offline.inputs.task_values import find_targets
from exploracoder_jupyter.llm.offline.inputs.wanted_result import add_columns, user_variables
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ProposeInputs

_MAX_FORMS = 2
_MIN_CANDIDATES = 3
_MAX_SCORE_GAP = 0.9
"""How much worse than the best a candidate's score may be. Selection goes by agreement, so doubtful candidates do
harm."""


def propose_candidates(inputs: ProposeInputs, pool: DocumentationPool, *, limit: int) -> list[str]:
    """Return snippets for the subtask, best first; none when no documentation matches any of its words."""
    goal = _subtask_goal(inputs)
    variables = (*state_variables(inputs.experience), *user_variables(inputs.task))
    search = Search(goal, pool, observe_results(inputs.experience), variables, Goal.of(inputs.task.text).words)
    found = [item for item in search.steps(goal) if is_relevant(item.draft, goal, pool)]
    ranked = _prioritize_hint(_prefer_variables(found, search), inputs.hint, search)
    target = next(iter(find_targets(inputs.subtask.title)), f"result_{inputs.subtask.id}")
    chosen = _select_diverse(ranked, inputs.subtask.title, limit)
    return [draft.code(target, with_print=True) for draft in chosen]


def _subtask_goal(inputs: ProposeInputs) -> Goal:
    """Return the goal; a clause without values of its own has those of the whole task, if nothing was created yet."""
    whole_goal = Goal.of(inputs.task.text)
    [goal] = clause_goals([inputs.subtask.title], whole_goal)
    if not any(not value.is_hint for value in goal.values) and not inputs.experience:
        goal = replace(goal, values=tuple(replace(value, roles=()) for value in whole_goal.values))
    return add_columns(goal, inputs.task)


def _prefer_variables(found: Sequence[ScoredDraft], search: Search) -> list[ScoredDraft]:
    """Put drafts that use what exists before those that start anew, unless they use values of the clause."""
    if not search.variables:
        return list(found)
    cost = 0.2 if any(not value.is_hint for value in search.goal.values) else 0.9
    scored = [
        item if any(number < 0 for number in item.draft.used) else replace(item, score=item.score - cost)
        for item in found
    ]
    return sorted(scored, key=lambda item: -item.score)


def _prioritize_hint(ranked: Sequence[ScoredDraft], hint: str, search: Search) -> list[ScoredDraft]:
    """Put the drafts that call APIs named in a hint first, with a lead so large that no other score is close."""
    hinted = find_named_apis(hint, search.pool.apis.values())
    paths, context = {api.path for api in hinted}, search.context(search.goal)
    new_drafts = [draft for api in hinted for draft in call_drafts(api, context)]
    preferred = [item for item in ranked if paths.intersection(item.draft.paths)] or [
        ScoredDraft(draft, 0.0) for draft in new_drafts
    ]
    lead = max((item.score for item in ranked), default=0.0) + 2 * _MAX_SCORE_GAP
    rest = [item for item in ranked if item not in preferred]
    return [*(replace(item, score=item.score + lead) for item in preferred), *rest]


def _select_diverse(ranked: Sequence[ScoredDraft], text: str, limit: int) -> list[Draft]:
    """Select the best draft in two forms, then the best drafts of other APIs that are nearly as good."""
    if not ranked:
        return []
    best = ranked[0]
    forms = [best.draft, *_requested_forms(best.draft, text)]
    forms.extend(item.draft for item in ranked[1:] if _is_close(item, best) and item.draft.paths == best.draft.paths)
    chosen = list({(draft.statements, draft.result): draft for draft in forms}.values())[:_MAX_FORMS]
    others: dict[tuple[str, ...], ScoredDraft] = {}
    for item in ranked[1:]:
        if item.draft.paths != best.draft.paths:
            others.setdefault(item.draft.paths, item)
    close = [item.draft for item in others.values() if _is_close(item, best)]
    fallback = [item.draft for item in others.values() if not _is_close(item, best)]
    chosen.extend(close[: limit - len(chosen)])
    return [*chosen, *fallback[: max(0, _MIN_CANDIDATES - len(chosen))]][:limit]


def _is_close(item: ScoredDraft, best: ScoredDraft) -> bool:
    return item.score > best.score - _MAX_SCORE_GAP


def _requested_forms(draft: Draft, text: str) -> list[Draft]:
    """Return the draft with the conversion of its result that the clause's wording requests."""
    idioms = [idiom for idiom in find_idioms(text, draft.type) if idiom != IDENTITY and idiom.cost < 0.05]
    return [replace(draft, result=idiom.apply(draft.result)) for idiom in idioms[:1]]
