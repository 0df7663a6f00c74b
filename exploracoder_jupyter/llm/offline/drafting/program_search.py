"""The search for programs: drafts of one step, chains of steps, and their scores.

A program is scored by how well its APIs match the task's words, by the share of the task's values that it uses, and by
its penalties (leftover example data, guesses, length). The same score orders candidates of a subtask and whole
programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.call_drafts import StepContext, example_drafts, step_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, deduplicate
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import CallContext
from exploracoder_jupyter.llm.offline.drafting.result_conversions import find_callables
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets, find_values, mask_literals
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_similarity, content_stems, name_stems


@dataclass(frozen=True, slots=True)
class Goal:
    """A text to satisfy: a clause or the whole task."""

    text: str
    words: tuple[str, ...]
    values: tuple[Value, ...]
    callables: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Goal:
        """Create the goal for a text."""
        named = (part for name in find_targets(text) for part in name_stems(name) if len(part) >= 4)
        words = tuple(dict.fromkeys((*content_stems(mask_literals(text)), *named)))
        return cls(text, words, find_values(text), find_callables(text))


@dataclass(frozen=True, slots=True)
class ScoredDraft:
    """A draft with its score; higher is better."""

    draft: Draft
    score: float


def score_draft(draft: Draft, goal: Goal, pool: DocumentationPool) -> float:
    """Score how well a draft satisfies the goal."""
    apis = pool.lookup_all(draft.paths)
    names = draft.name_words
    related = names.union(*(pool.name_words(api) for api in apis))
    described = frozenset[str]().union(*(pool.text_words(api) for api in apis))
    weights = [pool.word_weight(word) for word in goal.words]
    matched = [max(best_similarity(word, related), 0.5 * (word in described)) for word in goal.words]
    word_score = sum(w * m for w, m in zip(weights, matched, strict=True)) / sum(weights) if weights else 0.0
    unrelated = _unrelated_share(names, goal) + 0.6 * sum(_unrelated_share(name_stems(api.name), goal) for api in apis)
    prior = max((pool.match_score(api, goal.words) for api in apis), default=0.0)
    length = 0.05 * (len(draft.statements) + len(draft.result) / 60)
    coverage = _value_coverage(draft, goal)
    return 1.6 * word_score + 0.8 * prior + 2.0 * coverage - 0.4 * unrelated - draft.penalty - length


def word_share(draft: Draft, words: Sequence[str], pool: DocumentationPool) -> float:
    """Return the share of the words that the names or the documentation of what a draft calls match."""
    apis = pool.lookup_all(draft.paths)
    related = draft.name_words.union(*(pool.text_words(api) | pool.name_words(api) for api in apis))
    return sum(best_similarity(word, related) >= 0.5 for word in words) / len(words) if words else 1.0


def _unrelated_share(names: Collection[str], goal: Goal) -> float:
    return sum(best_similarity(name, goal.words) < 0.5 for name in names) / max(1, len(names))


def is_relevant(draft: Draft, goal: Goal, pool: DocumentationPool) -> bool:
    """Return whether anything that the draft calls matches a word of the goal, by its name or its documentation.

    A draft without calls is relevant if it uses an existing value, such as an item of a variable.
    """
    apis = pool.lookup_all(draft.paths)
    related_words = draft.name_words.union(*(pool.text_words(api) for api in apis))
    if not draft.names:
        return bool(draft.used)
    return any(best_similarity(word, related_words) >= 0.5 for word in goal.words)


def _value_coverage(draft: Draft, goal: Goal) -> float:
    singles = [value for value in goal.values if not value.members]
    if not singles:
        return 0.6
    weights = [1.0 if value.shape in ("int", "float") else 1.5 for value in singles]
    used = sum(weight for value, weight in zip(singles, weights, strict=True) if value.id in draft.used)
    return used / sum(weights)


def create_step_context(
    goal: Goal,
    pool: DocumentationPool,
    variables: Sequence[Value],
    *,
    values: Sequence[Value] | None = None,
    reserved_names: Sequence[str] = (),
) -> StepContext:
    """Create the context of a step for this goal."""
    all_values = (*variables, *(goal.values if values is None else values))
    reserved = frozenset([*(variable.code for variable in variables), *find_targets(goal.text), *reserved_names])
    call_context = CallContext(all_values, goal.words, mask_literals(goal.text), goal.callables, reserved)
    return StepContext(call_context, pool)


def rank_drafts(context: StepContext, goal: Goal, *, needs: str = "") -> list[ScoredDraft]:
    """Return the drafts of one step for a goal, best first; `needs` names a variable that they should use."""
    drafts = step_drafts(context)
    drafts.extend(readme_drafts(context))
    standalone_penalty = 0.2 if goal.values else 0.9
    scored = []
    for draft in deduplicate(drafts):
        penalty = standalone_penalty if needs and not _uses_name(draft, needs) else 0.0
        scored.append(ScoredDraft(draft, score_draft(draft, goal, context.pool) - penalty))
    return sorted(scored, key=lambda item: -item.score)


def _uses_name(draft: Draft, name: str) -> bool:
    return any(id_ < 0 for id_ in draft.used) or name in draft.result


def readme_drafts(context: StepContext) -> list[Draft]:
    """Draft programs from the README's example programs."""
    knowledge = context.pool.knowledge
    if knowledge is None or not knowledge.libraries:
        return []
    overview, info = knowledge.overview(), knowledge.libraries[0]
    api = ApiDoc(f"{info.name}.", "module", "", overview.text, info.name, info.version, overview.examples[:12])
    found = example_drafts(api, context, limit=12, name="")
    words = context.call_context.words
    return [
        replace(draft, paths=())
        for draft in found
        if any(best_similarity(word, name_stems(name)) >= 0.75 for name in draft.names for word in words)
    ]


def chain_drafts(
    first: Iterable[ScoredDraft],
    goals: Sequence[Goal],
    whole_goal: Goal,
    pool: DocumentationPool,
    targets: Sequence[str],
    *,
    width: int = 8,
) -> list[ScoredDraft]:
    """Return programs of several steps: drafts followed by steps for later goals, scored as a whole."""
    beam = [item.draft for item in first][:width]
    for number, goal in enumerate(goals):
        extended: list[ScoredDraft] = []
        for draft in beam:
            name = targets[number] if number < len(targets) else f"result_{number + 1}"
            extended.extend(_extend(draft, name, goal, whole_goal, pool))
        extended.sort(key=lambda item: -item.score)
        beam = [item.draft for item in extended[:width]]
    return [ScoredDraft(draft, score_draft(draft, whole_goal, pool)) for draft in beam]


def _extend(draft: Draft, name: str, goal: Goal, whole_goal: Goal, pool: DocumentationPool) -> list[ScoredDraft]:
    stored = replace(draft, statements=(*draft.statements, f"{name} = {draft.result}"), result=name)
    variable = Value(-1, name, draft.type or "object", name_stems(name))
    unused = [value for value in goal.values if not value.covered_ids & draft.used]
    context = create_step_context(goal, pool, (variable,), values=unused)
    is_target = name in find_targets(whole_goal.text)
    found = []
    for following in step_drafts(context, apis=10):
        if is_target or _uses_name(following, name):
            joined = stored.then(replace(following, used=following.used - {-1}))
            found.append(ScoredDraft(joined, score_draft(joined, whole_goal, pool)))
    return sorted(found, key=lambda item: -item.score)[:8]
