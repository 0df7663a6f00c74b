"""The search for programs: steps along the clauses of a task, best first, and their scores.

A program is scored by how well its APIs match the task's words, by the share of the task's values that it uses, and by
its penalties (guesses, mismatching types, length). The same score orders candidates of a subtask and whole
programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.call_drafts import StepContext, best_match, step_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, deduplicate
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import CallContext
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.goals import Goal, clause_goals
from exploracoder_jupyter.llm.offline.inputs.observations import Observed, canonical_code
from exploracoder_jupyter.llm.offline.inputs.task_clauses import split_clauses
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, find_targets, mask_literals
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_similarity, name_stems

_BEAM_WIDTH = 8
_MAX_CLAUSES = 4
_SIGNS = {"add": "+", "plus": "+", "subtract": "-", "minus": "-"}
_EMPTY = Draft((), (), "None")


@dataclass(frozen=True, slots=True)
class ScoredDraft:
    """A draft with its score; higher is better."""

    draft: Draft
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    """What a search for programs uses throughout."""

    goal: Goal
    """The whole task, or the subtask that is explored."""
    pool: DocumentationPool
    observed: Mapping[str, Observed] = field(default_factory=dict)
    """What is known of results, by the canonical code that computes them."""
    variables: tuple[Value, ...] = ()
    """Variables that exist already, the latest first."""
    task_words: tuple[str, ...] = ()
    """Words of the whole task, if the goal is a part of it."""

    def score(self, draft: Draft) -> ScoredDraft:
        """Score how well a draft satisfies the goal."""
        return ScoredDraft(draft, score_draft(draft, self.goal, self.pool))

    def steps(self, goal: Goal, draft: Draft = _EMPTY, *, apis: int = 24) -> list[ScoredDraft]:
        """Return the drafts for a goal that continue a draft, best first."""
        context = self.context(goal, draft)
        drafts = step_drafts(context, apis=apis)
        if draft is not _EMPTY:
            further = [item for item in drafts if _continues(item, draft, self.goal)]
            drafts = [*further, *_combine(draft, [item for item in drafts if item not in further], goal)]
        joined = [draft.then(item) if draft is not _EMPTY else item for item in deduplicate(drafts)]
        return sorted(map(self.score, joined), key=lambda item: -item.score)

    def context(self, goal: Goal, draft: Draft = _EMPTY) -> StepContext:
        """Return what a step for a goal can use after a draft."""
        variables = (*draft.variables, *self.variables)
        unused = (value for value in goal.values if not value.covered_ids & draft.used)
        values = (*variables, *unused, *self.pool.constants)
        task_words, text = self.task_words or self.goal.words, mask_literals(goal.text)
        call_context = CallContext(values, goal.words, task_words, text, goal.callables)
        members = {name: seen.members for name, seen in self.observed.items() if name.isidentifier()}
        if draft.variables:
            members[draft.variables[0].code] = self.observe(draft).members
        return StepContext(call_context, self.pool, members)

    def store(self, draft: Draft, name: str) -> Draft:
        """Return a draft whose result is stored in a variable, with the observed type if it was observed."""
        type_ = self.observe(draft).type or draft.type or "object"
        if draft.result.isidentifier() and any(variable.code == draft.result for variable in draft.variables):
            name, statements = draft.result, draft.statements
        else:
            statements = (*draft.statements, f"{name} = {draft.result}")
        others = [variable for variable in draft.variables if variable.code != name]
        variables = [Value(0, name, type_, name_stems(name)), *others]
        numbered = tuple(replace(variable, id=-1 - number) for number, variable in enumerate(variables))
        return replace(draft, statements=statements, result=name, variables=numbered)

    def observe(self, draft: Draft) -> Observed:
        """Return what is known of the draft's result from runs."""
        return self.observed.get(canonical_code(draft.code("_")), Observed())

    def programs(self) -> list[ScoredDraft]:
        """Return programs for the whole task, best first: single steps, and one step or none for each clause."""
        singles = self.steps(self.goal)
        texts = split_clauses(self.goal.text, limit=_MAX_CLAUSES)
        found = [*singles[:30], *(self._chain(texts) if len(texts) > 1 else ())]
        starts = [item for item in sorted(found, key=lambda item: -item.score) if item.draft.paths][:_BEAM_WIDTH]
        for item in starts:
            found.extend(self.extend(item.draft))
        found.extend(step for item in list(found) for step in self._attributes(item.draft))
        return sorted(found, key=lambda item: -item.score)

    def _attributes(self, draft: Draft) -> Iterator[ScoredDraft]:
        """Yield the attributes of the draft's result that the task names, as far as its type is known."""
        seen = self.observe(draft)
        properties = [] if seen.type else self.pool.module_properties(draft.type)
        paths = {api.name: api.path for api in properties} | {name: "" for name in seen.members if name.isidentifier()}
        for name, path in paths.items():
            if name not in draft.names and best_match(self.goal.words, name) >= 0.75:
                last = Draft((), (), f"{draft.result}.{name}", (path,) if path else (), names=(name,))
                yield self.score(draft.then(last))

    def extend(self, draft: Draft) -> list[ScoredDraft]:
        """Return the draft continued by one step for the whole task."""
        stored = self.store(draft, f"result_{len(draft.variables) + 1}")
        return self.steps(self.goal, stored, apis=10)[:_BEAM_WIDTH]

    def _continue(self, beam: Sequence[ScoredDraft], goal: Goal, name: str) -> list[ScoredDraft]:
        """Return drafts continued by one step for a goal, their results stored under a name."""
        return [step for item in beam for step in self.steps(goal, self.store(item.draft, name), apis=10)[:_BEAM_WIDTH]]

    def _chain(self, texts: Sequence[str]) -> list[ScoredDraft]:
        """Return programs along the clauses; each takes one step, or none of its own."""
        beam: list[ScoredDraft] = []
        name = ""
        for number, goal in enumerate(clause_goals(texts, self.goal), 1):
            first = [*beam, *self._continue(beam, goal, name)] if beam else self.steps(goal)
            first = sorted(first, key=lambda item: -item.score)[:_BEAM_WIDTH]
            pending = [item for item in first if item not in beam and _leaves_values(item.draft, goal)]
            second = self._continue(pending, goal, f"part_{number}")
            beam = sorted([*first, *second], key=lambda item: -item.score)[:_BEAM_WIDTH]
            name = next(iter(find_targets(goal.text)), f"result_{number}")
        return beam


def _combine(draft: Draft, others: Sequence[Draft], goal: Goal) -> Iterator[Draft]:
    """Yield sums or differences of the draft's result and what else a clause creates, as in `add one month to it`."""
    sign = next((sign for word, sign in _SIGNS.items() if word in goal.words), "")
    for other in others:
        if sign and other.used and not other.statements:
            yield replace(other, result=f"{draft.result} {sign} {other.result}", type="")


def _leaves_values(draft: Draft, goal: Goal) -> bool:
    """Return whether a draft leaves values of a clause, or the columns by which it groups or sorts, to another step."""
    values = (value for value in goal.values if not value.members and (not value.is_hint or "by" in value.roles))
    return any(value.id not in draft.used for value in values)


def _continues(step: Draft, draft: Draft, goal: Goal) -> bool:
    """Return whether a step uses a result of the draft, or the draft's last result is itself wanted."""
    names = {variable.code for variable in draft.variables}
    is_used = any(number < 0 for number in step.used) or any(re.search(rf"\b{n}\b", step.result) for n in names)
    return is_used or draft.result in find_targets(goal.text)


def score_draft(draft: Draft, goal: Goal, pool: DocumentationPool) -> float:
    """Score how well a draft satisfies the goal."""
    apis = [api for path in draft.paths if (api := pool.lookup(path))]
    names = {part for name in draft.names for part in name_stems(name)}
    related_words = names.union(*(pool.name_words(api) for api in apis))
    text_words = frozenset[str]().union(*(pool.text_words(api) for api in apis))
    weights = [pool.word_weight(word) for word in goal.words]
    matched_weight = sum(
        weight * max(best_similarity(word, related_words), 0.5 if word in text_words else 0.0)
        for word, weight in zip(goal.words, weights, strict=True)
    )
    unrelated = sum(best_similarity(name, goal.words) < 0.5 for name in names) / max(1, len(names))
    for path in draft.paths:
        name = path.rpartition(".")[2]
        unrelated += 0.6 * _unrelated_share(name, (*goal.words, *goal.forms))
    state_bonus = 0.4 if not draft.paths and any(i < 0 for i in draft.used) else 0.0
    prior = max((pool.match_score(api, goal.words) for api in apis), default=state_bonus)
    describes_function = 0.5 * any(code in draft.code("_") for code in goal.callables)
    length = 0.05 * (len(draft.statements) + len(draft.result) / 60)
    return (
        1.6 * (matched_weight / sum(weights) if weights else 0.0)
        + 0.8 * prior
        + 2.0 * _value_coverage(draft, goal)
        - 0.4 * unrelated
        + describes_function
        - draft.penalty
        - length
    )


def is_relevant(draft: Draft, goal: Goal, pool: DocumentationPool) -> bool:
    """Return whether all that the draft calls matches a word of the goal, by its name or its documentation.

    A class may also be needed for its methods. A draft without calls is relevant if it uses an existing value.
    """
    if not draft.names:
        return bool(draft.used)
    apis = [api for path in draft.paths if (api := pool.lookup(path))]
    related = [_matches_word(api, goal, pool) for api in apis]
    names = {part for name in draft.names for part in name_stems(name)}
    by_name = any(best_similarity(word, names) >= 0.5 for word in goal.words)
    is_needed = all(match or api.kind == "class" for match, api in zip(related, apis, strict=True))
    return is_needed and (by_name or any(related))


def _matches_word(api: ApiDoc, goal: Goal, pool: DocumentationPool) -> bool:
    words = {*name_stems(api.name), *pool.text_words(api)}
    return any(best_similarity(word, words) >= 0.5 for word in goal.words)


def _unrelated_share(name: str, words: Sequence[str]) -> float:
    """Return the share of an API's name that does not match the words."""
    name_words = [part for part in name_stems(name) if len(part) > 1]
    return sum(best_similarity(part, words) < 0.5 for part in name_words) / max(1, len(name_words))


def _value_coverage(draft: Draft, goal: Goal) -> float:
    """Return the share of the goal's values that the draft uses; larger values count more."""
    singles = [value for value in goal.values if not value.members and not value.is_hint]
    if not singles:
        return 0.6
    weights = [1.0 if value.shape in ("int", "float") else 1.5 for value in singles]
    used = sum(weight for value, weight in zip(singles, weights, strict=True) if value.id in draft.used)
    return used / sum(weights)
