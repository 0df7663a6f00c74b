"""The search for programs: drafts of one step, chains of steps, and their scores.

A program is scored by how well its APIs match the task's words, by the share of the task's values that it uses, and by
its penalties (leftover example data, guesses, length). The same score orders candidates of a subtask and whole
programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.call_drafts import example_drafts, step_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, deduplicate
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, name_words, text_words
from exploracoder_jupyter.llm.offline.inputs.task_goal import Goal
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_similarity, name_stems

_BEAM_WIDTH = 8
"""Programs that are extended by a further step."""


def score_draft(draft: Draft, goal: Goal, pool: DocumentationPool) -> float:
    """Score how well a draft satisfies the goal."""
    apis = pool.lookup_all(draft.paths)
    names = draft.name_words
    related = names.union(*(name_words(api) for api in apis))
    described = frozenset[str]().union(*(text_words(api) for api in apis))
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
    related = draft.name_words.union(*(text_words(api) | name_words(api) for api in apis))
    return sum(best_similarity(word, related) >= 0.5 for word in words) / len(words) if words else 1.0


def _unrelated_share(names: Collection[str], goal: Goal) -> float:
    return sum(best_similarity(name, goal.words) < 0.5 for name in names) / max(1, len(names))


def is_relevant(draft: Draft, goal: Goal, pool: DocumentationPool) -> bool:
    """Return whether anything that the draft calls matches a word of the goal, by its name or its documentation.

    A draft without calls is relevant if it uses an existing value, such as an item of a variable.
    """
    apis = pool.lookup_all(draft.paths)
    related_words = draft.name_words.union(*(text_words(api) for api in apis))
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


def rank_drafts(step: Goal, goal: Goal, pool: DocumentationPool, *, needs: str = "") -> list[Draft]:
    """Return the drafts of one step for a goal, best first; `needs` names a variable that they should use."""
    standalone_penalty = 0.2 if goal.values else 0.9
    scored = []
    for draft in deduplicate([*step_drafts(step, pool), *readme_drafts(step, pool)]):
        penalty = standalone_penalty if needs and not _uses_name(draft, needs) else 0.0
        scored.append(replace(draft, score=score_draft(draft, goal, pool) - penalty))
    return sorted(scored, key=lambda draft: -draft.score)


def _uses_name(draft: Draft, name: str) -> bool:
    return any(id_ < 0 for id_ in draft.used) or name in draft.result


def readme_drafts(goal: Goal, pool: DocumentationPool) -> list[Draft]:
    """Draft programs from the README's example programs."""
    knowledge = pool.knowledge
    if knowledge is None or not knowledge.libraries:
        return []
    overview, info = knowledge.overview(), knowledge.libraries[0]
    api = ApiDoc(f"{info.name}.", "module", "", overview.text, info.name, info.version, overview.examples[:12])
    return [
        replace(draft, paths=())
        for draft in example_drafts(api, goal, pool, limit=12, name="")
        if any(best_similarity(word, name_stems(name)) >= 0.75 for name in draft.names for word in goal.words)
    ]


def chain_drafts(
    first: Iterable[Draft], goals: Sequence[Goal], whole_goal: Goal, pool: DocumentationPool, targets: Sequence[str]
) -> list[Draft]:
    """Return programs of several steps: drafts followed by steps for later goals, scored as a whole."""
    beam = list(islice(first, _BEAM_WIDTH))
    for number, goal in enumerate(goals):
        name = targets[number] if number < len(targets) else f"result_{number + 1}"
        extended = [longer for draft in beam for longer in _extend(draft, name, goal, whole_goal, pool)]
        beam = sorted(extended, key=lambda draft: -draft.score)[:_BEAM_WIDTH]
    return beam


def _extend(draft: Draft, name: str, goal: Goal, whole_goal: Goal, pool: DocumentationPool) -> list[Draft]:
    stored = replace(draft, statements=(*draft.statements, f"{name} = {draft.result}"), result=name)
    variable = Value(-1, name, draft.type or "object", name_stems(name))
    unused = [value for value in goal.values if not value.covered_ids & draft.used]
    is_target = name in find_targets(whole_goal.text)
    found = []
    for following in step_drafts(goal.using((variable,), unused), pool, apis=10):
        if is_target or _uses_name(following, name):
            joined = stored.then(replace(following, used=following.used - {-1}))
            found.append(replace(joined, score=score_draft(joined, whole_goal, pool)))
    return sorted(found, key=lambda longer: -longer.score)[:_BEAM_WIDTH]
