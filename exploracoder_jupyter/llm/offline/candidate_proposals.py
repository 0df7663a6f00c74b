"""Proposes candidates for one subtask: the best drafts for its clause, diverse, each printing its result."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.llm.offline.drafting.call_drafts import StepContext, add_imports, call_drafts, example_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.example_adaptation import adapt_example
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import CallContext
from exploracoder_jupyter.llm.offline.drafting.program_search import (
    Goal,
    ScoredDraft,
    create_step_context,
    is_relevant,
    rank_drafts,
)
from exploracoder_jupyter.llm.offline.drafting.result_conversions import IDENTITY, Idiom, find_idioms
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, find_named_apis
from exploracoder_jupyter.llm.offline.inputs.example_slices import example_blocks, find_slices
from exploracoder_jupyter.llm.offline.inputs.existing_variables import observed_attributes, state_variables
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets
from exploracoder_jupyter.llm.offline.inputs.wanted_result import add_columns, user_variables
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ProposeInputs

_MAX_FORMS = 3
_MIN_CANDIDATES = 3
_MAX_SCORE_GAP = 0.9
"""How much worse than the best a candidate's score may be. Selection goes by agreement, so doubtful candidates do
harm."""


def propose_candidates(inputs: ProposeInputs, pool: DocumentationPool, *, limit: int) -> list[str]:
    """Return snippets for the subtask, best first; none when no documentation matches any of its words."""
    goal = add_columns(Goal.of(inputs.subtask.title), inputs.task)
    variables = (*state_variables(inputs.experience), *user_variables(inputs.task))
    context = create_step_context(
        goal,
        pool,
        variables,
        observed_attributes(inputs.experience),
        values=_usable_values(goal, inputs),
        reserved_names=find_targets(inputs.task.text),
    )
    needs = variables[0].code if variables else ""
    found = [item for item in rank_drafts(context, goal, needs=needs) if is_relevant(item.draft, goal, pool)]
    ranked = _prioritize_hint(found, inputs.hint, context)
    chosen = _select_diverse(ranked, inputs.subtask.title, limit)
    target = next(iter(find_targets(inputs.subtask.title)), f"result_{inputs.subtask.id}")
    codes = [draft.code(target, with_print=True) for draft in chosen]
    return codes or _documented_examples(pool, goal, target, limit)


def _prioritize_hint(ranked: Sequence[ScoredDraft], hint: str, context: StepContext) -> list[ScoredDraft]:
    """Put the drafts that call APIs named in a hint first, with a lead so large that no other score is close."""
    hinted = find_named_apis(hint, context.pool.apis.values())
    paths = {api.path for api in hinted}
    new_drafts = [draft for api in hinted for draft in (*call_drafts(api, context), *example_drafts(api, context))]
    preferred = [item for item in ranked if paths.intersection(item.draft.paths)] or [
        ScoredDraft(draft, 0.0) for draft in new_drafts
    ]
    lead = max((item.score for item in ranked), default=0.0) + 2 * _MAX_SCORE_GAP
    rest = [item for item in ranked if item not in preferred]
    return [*(replace(item, score=item.score + lead) for item in preferred), *rest]


def _usable_values(goal: Goal, inputs: ProposeInputs) -> tuple[Value, ...]:
    """Return the clause's values, or those of the whole task if the clause has none and nothing was created yet."""
    if goal.values or inputs.experience:
        return goal.values
    return tuple(replace(value, roles=()) for value in Goal.of(inputs.task.text).values)


def _select_diverse(ranked: Sequence[ScoredDraft], text: str, limit: int) -> list[Draft]:
    """Select the best draft in up to three forms, then the best drafts of other APIs.

    Selection goes by agreement, so forms of the best draft support one another, and doubtful drafts are omitted.
    """
    if not ranked:
        return []
    best = ranked[0]
    forms = [
        best.draft,
        *(replace(best.draft, result=idiom.apply(best.draft.result)) for idiom in _requested_idioms(best.draft, text)),
    ]
    forms.extend(
        item.draft
        for item in ranked[1:]
        if item.draft.paths == best.draft.paths and item.score > best.score - _MAX_SCORE_GAP
    )
    forms.insert(1, _name_first_literal(best.draft))
    chosen = list({(draft.statements, draft.result): draft for draft in forms}.values())[:_MAX_FORMS]
    seen = {best.draft.paths}
    for item in ranked[1:]:
        if len(chosen) < limit and item.draft.paths not in seen and item.score > best.score - _MAX_SCORE_GAP:
            seen.add(item.draft.paths)
            chosen.append(item.draft)
    others = {item.draft.paths: item.draft for item in reversed(ranked[1:]) if item.draft.paths not in seen}
    fallback = sorted(others.values(), key=[item.draft for item in ranked].index)
    return [*chosen, *fallback[: max(0, _MIN_CANDIDATES - len(chosen))]][:limit]


def _name_first_literal(draft: Draft) -> Draft:
    """Return the draft with a name for its first literal argument, if it has one."""
    call = ast.parse(draft.result, mode="eval").body
    literals = [
        node for node in getattr(call, "args", []) if isinstance(node, (ast.List, ast.Dict, ast.Constant, ast.Tuple))
    ]
    if not isinstance(call, ast.Call) or not literals:
        return draft
    call.args = [ast.Name("given", ast.Load()) if node is literals[0] else node for node in call.args]
    line = f"given = {ast.unparse(literals[0])}"
    return replace(draft, statements=(*draft.statements, line), result=ast.unparse(call))


def _requested_idioms(draft: Draft, text: str) -> list[Idiom]:
    """Return the conversion of the result that the clause's wording requests."""
    return [
        idiom for idiom in find_idioms(text, draft.type) if idiom.template != IDENTITY.template and idiom.cost < 0.05
    ][:1]


def _documented_examples(pool: DocumentationPool, goal: Goal, target: str, limit: int) -> list[str]:
    """Return documented examples unchanged: they show what the library does, not how to do the task."""
    found: list[str] = []
    empty_context = CallContext((), goal.words, goal.text)
    for api in pool.rank_apis(goal.words):
        if not is_relevant(Draft((), (), "", (api.path,), names=(api.name,)), goal, pool):
            continue
        for block in example_blocks(api)[:1]:
            for example_slice in find_slices(block, api.name, limit=1):
                completed, _ = add_imports(example_slice, api, pool)
                found.extend(
                    draft.code(target, with_print=True) for draft in adapt_example(completed, api, empty_context)
                )
    return found[:limit]
