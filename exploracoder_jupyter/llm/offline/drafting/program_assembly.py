"""Whole programs for `solve` and `repair`: every variant worth trying, best first.

The explored program comes first, unchanged, if it binds the names that the task wants. The others follow by their
scores: the explored program with further steps, and single calls and chains created from scratch for the whole task.
Each is combined with conversions of its result (`list(...)`, `sorted(...)`, ...) that the wording or the observed type
suggests. The check of the task is read for the names that it needs, never for expected values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import Experience, Task
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.program_search import (
    Goal,
    ScoredDraft,
    chain_drafts,
    create_step_context,
    is_relevant,
    rank_drafts,
    score_draft,
)
from exploracoder_jupyter.llm.offline.drafting.result_conversions import (
    IDENTITY,
    Idiom,
    find_idioms,
    requested_conversion,
)
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.example_slices import stored_names
from exploracoder_jupyter.llm.offline.inputs.existing_variables import (
    drop_unused,
    explored_program,
    observed_attributes,
    prune,
    state_variables,
)
from exploracoder_jupyter.llm.offline.inputs.task_clauses import split_clauses
from exploracoder_jupyter.llm.offline.inputs.task_values import find_targets
from exploracoder_jupyter.llm.offline.inputs.value_kinds import expected_kinds, kinds_of
from exploracoder_jupyter.llm.offline.inputs.wanted_result import SolutionForm, solution_form

_REPETITION_COST = 0.12
"""Score deducted for each similar variant ranked before."""
_RAN_BONUS = 0.3
"""Score added for an explored program that ran."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program to try."""

    code: str
    score: float
    base: str
    """The program before its result was converted: if it fails to run, so do its siblings."""
    is_unconverted: bool = True
    """Whether the result is used without conversion."""
    is_complete: bool = True
    """Whether it binds every name that the task wants."""
    similarity_keys: tuple[tuple[str, ...], ...] = ()
    """What it may share with other variants: its base, its first step, its APIs."""


def programs(
    task: Task, pool: DocumentationPool, experience: Sequence[Experience], *, limit: int = 60
) -> list[ScoredDraft]:
    """Return drafts for the whole task, best first."""
    form = solution_form(task)
    whole_goal = form.goal(task)
    drafts = [*_explored_drafts(whole_goal, pool, experience, form.names[:-1]), *_fresh_drafts(task, whole_goal, pool)]
    drafts = sorted(
        (item for item in drafts if is_relevant(item.draft, whole_goal, pool)), key=lambda item: -item.score
    )
    return list({item.draft.code("_"): item for item in reversed(drafts)}.values())[::-1][:limit]


def variants(
    task: Task,
    drafts: Sequence[ScoredDraft],
    experience: Sequence[Experience],
    attempts: Sequence[Experience] = (),
    *,
    limit: int = 80,
) -> list[Variant]:
    """Return programs for the task, best first: the drafts with conversions of their results, by the observed types."""
    form = solution_form(task)
    names = form.names
    text = split_clauses(task.text, limit=8)[-1]
    attributes = observed_attributes(experience)
    observed_types = _observed_types(attempts, names[-1])
    max_used = max((_count_used(item.draft) for item in drafts), default=0)
    first = _explored_variants(task, form, text, experience, max_used)
    found: dict[str, Variant] = {}
    for item in drafts:
        type_ = observed_types.get(prune(_to_code(item.draft, names[-1], IDENTITY), names), "")
        typed_item = replace(item, draft=replace(item.draft, type=type_)) if type_ else item
        for variant in _finish(typed_item, form, text, attributes):
            if variant.code not in found or found[variant.code].score < variant.score:
                found[variant.code] = variant
    complete = [variant for variant in found.values() if variant.is_complete] or list(found.values())
    ranked = _diversify(sorted(complete, key=lambda variant: -variant.score))
    return list({variant.code: variant for variant in (*first, *ranked)}.values())[:limit]


def _explored_variants(
    task: Task, form: SolutionForm, text: str, experience: Sequence[Experience], max_used: int
) -> list[Variant]:
    """Return the explored program unchanged, if it binds the wanted names, or covers a whole task that names none.

    Where the wording requests another built-in type than the observed one, a variant that converts to it comes first. A
    program is rejected if it omits values of the task that others use (`max_used`), or if its result contradicts the
    wording.
    """
    ran = [item for item in experience if item.observation.ran]
    values = form.goal(task).values
    explored = explored_program(ran, values)
    binds_names = set(form.names) <= _bound_names(explored.draft) & {value.code for value in state_variables(ran)}
    is_whole_task = not find_targets(task.text) and not task.check and len(ran) == len(experience)
    if form.function or not explored.result or not (binds_names or is_whole_task):
        return []
    target = form.names[-1]
    result = target if binds_names else explored.result
    draft = drop_unused(replace(explored.draft, result=result), values, form.names[:-1])
    type_ = draft.type if result == explored.result else ""
    if _count_used(draft) < max_used or not _matches_stored_kind(text, type_):
        return []
    conversions = [requested_conversion(text, type_), IDENTITY]
    codes = [
        (conversion, prune(_to_code(draft, target, conversion), form.names)) for conversion in conversions if conversion
    ]
    return [Variant(code, 0.0, draft.code("_"), conversion == IDENTITY) for conversion, code in codes if code]


def _count_used(draft: Draft) -> int:
    """Count the values of the task that the draft uses."""
    return sum(number >= 0 for number in draft.used)


def _matches_stored_kind(text: str, type_: str) -> bool:
    """Return whether the type matches what the text wants stored, as in `store the list in`, if it says so."""
    match = re.search(r"\b(?:store|save|put|keep) (?:the|a|its|their) (\w+)", text.lower())
    requested = expected_kinds(match.group(1), "") if match and type_ else frozenset()
    return not requested or bool(requested & kinds_of(type_))


def _bound_names(draft: Draft) -> set[str]:
    """Return the names that the statements bind."""
    return {
        name for line in draft.statements for node in ast.parse(line).body for name in stored_names(node, whole=True)
    }


def _observed_types(attempts: Sequence[Experience], target: str) -> dict[str, str]:
    """Return the observed type of the target by the code of the attempt."""
    found = {}
    for item in attempts:
        type_ = dict(item.observation.names).get(target, "")
        if type_:
            found[item.candidate.code] = type_.removeprefix("builtins.")
    return found


def _diversify(ranked: Sequence[Variant]) -> list[Variant]:
    """Order the variants by score, less a cost for every repetition of a base, a first step or a set of APIs."""
    remaining = list(ranked)
    count: dict[tuple[str, ...], int] = {}
    diversified: list[Variant] = []
    while remaining:
        best = max(
            remaining,
            key=lambda variant: (
                variant.score - _REPETITION_COST * sum(count.get(key, 0) for key in variant.similarity_keys)
            ),
        )
        remaining.remove(best)
        diversified.append(best)
        for key in best.similarity_keys:
            count[key] = count.get(key, 0) + 1
    return diversified


def _explored_drafts(
    whole_goal: Goal, pool: DocumentationPool, experience: Sequence[Experience], names: Sequence[str]
) -> list[ScoredDraft]:
    """Return the explored program as it is, without its last steps, and extended from its last result."""
    found: list[ScoredDraft] = []
    ran = [item for item in experience if item.observation.ran]
    for length in range(len(ran), 0, -1):
        explored = explored_program(ran[:length], whole_goal.values)
        if not explored.result:
            continue
        draft = drop_unused(explored.draft, whole_goal.values, names)
        found.append(ScoredDraft(draft, score_draft(draft, whole_goal, pool) + _RAN_BONUS))
        found.extend(_extend(explored.draft, whole_goal, pool, ran[:length], names))
    return found


def _extend(
    draft: Draft, whole_goal: Goal, pool: DocumentationPool, experience: Sequence[Experience], names: Sequence[str]
) -> Iterator[ScoredDraft]:
    """Extend the draft by one step on the variables of the state."""
    unused = [value for value in whole_goal.values if not value.covered_ids & draft.used]
    context = create_step_context(
        whole_goal, pool, state_variables(experience), observed_attributes(experience), values=unused
    )
    for item in rank_drafts(context, whole_goal)[:12]:
        if not any(i < 0 for i in item.draft.used):
            continue
        joined = drop_unused(draft.then(item.draft), whole_goal.values, names)
        yield ScoredDraft(joined, score_draft(joined, whole_goal, pool) + _RAN_BONUS / 2)


def _fresh_drafts(task: Task, whole_goal: Goal, pool: DocumentationPool) -> list[ScoredDraft]:
    """Return programs independent of the exploration: single calls, then chains along the clauses."""
    single_steps = rank_drafts(create_step_context(whole_goal, pool, (), {}), whole_goal)
    texts = split_clauses(task.text, limit=4)
    found = single_steps[:30]
    if len(texts) > 1:
        goals = [Goal.of(text) for text in texts]
        aligned = _align_value_ids(goals, whole_goal)
        first = rank_drafts(create_step_context(aligned[0], pool, (), {}), aligned[0])
        found.extend(chain_drafts(first, aligned[1:], whole_goal, pool, _step_names(texts)))
    starts = [item for item in single_steps if item.draft.paths][:8]
    found.extend(chain_drafts(starts, [whole_goal], whole_goal, pool, ()))
    return found


def _step_names(texts: Sequence[str]) -> list[str]:
    """Return a name for the result of each clause: the requested one, else a numbered one."""
    return [next(iter(find_targets(text)), f"result_{number}") for number, text in enumerate(texts, 1)]


def _align_value_ids(goals: Sequence[Goal], whole_goal: Goal) -> list[Goal]:
    """Return the goals with their values numbered as in the whole task."""
    by_code = {value.code: value for value in whole_goal.values}
    return [replace(goal, values=tuple(by_code.get(value.code, value) for value in goal.values)) for goal in goals]


def _finish(
    item: ScoredDraft, form: SolutionForm, text: str, attributes: dict[str, tuple[str, ...]]
) -> Iterator[Variant]:
    """Convert the draft to programs that define the wanted names."""
    draft, names = item.draft, form.names
    target = names[-1]
    is_complete = set(names[:-1]) <= _bound_names(draft)
    conversions = find_idioms(
        text, draft.type, frozenset(attribute.removesuffix("()") for attribute in attributes.get(draft.result, ()))
    )
    base = draft.code("_")
    for idiom in conversions or [IDENTITY]:
        code = _to_code(draft, target, idiom)
        if code:
            yield Variant(
                form.apply(prune(code, names)),
                item.score - idiom.cost,
                base,
                idiom.template == IDENTITY.template,
                is_complete,
                _similarity_keys(draft, base),
            )


def _similarity_keys(draft: Draft, base: str) -> tuple[tuple[str, ...], ...]:
    first = draft.statements[:1] if len(draft.statements) > 1 else ()
    return tuple(key for key in ((base,), ("first", *first) if first else (), ("apis", *draft.paths)) if key)


def _to_code(draft: Draft, target: str, idiom: Idiom) -> str:
    code = replace(draft, result=idiom.apply(draft.result)).code(target)
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return code
