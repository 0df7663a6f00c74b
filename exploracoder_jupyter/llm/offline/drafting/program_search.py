"""The search for programs: drafts of one step, chains of steps, and their judgement.

A program is judged by the words of the task that its APIs answer, by the share of the task's values that it uses, and
by its debts (example data kept, guesses, length). The same judgement orders candidates of a subtask and whole programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.call_drafts import Place, example_drafts, steps
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, distinct
from exploracoder_jupyter.llm.offline.drafting.glue_code import callables_in
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import Surroundings
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import Pool
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, masked, targets_in, values_in
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_likeness, content, parts, stem


@dataclass(frozen=True, slots=True)
class Aim:
    """A text to be answered: a clause or the whole task."""

    text: str
    words: tuple[str, ...]
    values: tuple[Value, ...]
    forms: tuple[str, ...] = ("from",)
    """Stems of the values' types, which names such as `from_tuples` speak of."""
    callables: tuple[str, ...] = ()
    """Functions that the text describes."""

    @classmethod
    def of(cls, text: str) -> Aim:
        """The aim of a text."""
        named = (part for name in targets_in(text) for part in parts(name) if len(part) >= 4)
        words = tuple(dict.fromkeys((*content(masked(text)), *named)))
        values = values_in(text)
        forms = {stem(word) for value in values for word in re.findall(r"[a-z]+", value.shape)}
        return cls(text, words, values, ("from", *sorted(forms)), callables_in(text))


@dataclass(frozen=True, slots=True)
class Judged:
    """A draft with its score, higher is better."""

    draft: Draft
    score: float


def judge(draft: Draft, aim: Aim, pool: Pool) -> float:
    """How well a draft answers the aim."""
    names = [part for name in draft.names for part in parts(name)]
    texts = [pool.text_words(api) for path in draft.paths if (api := pool.lookup(path))]
    owners = [pool.name_words(api) for path in draft.paths if (api := pool.lookup(path))]
    near = {*names, *(word for words in owners for word in words)}
    weights = [pool.weight(word) for word in aim.words]
    gained = sum(
        weight * max(best_likeness(word, near), 0.5 if any(word in text for text in texts) else 0.0)
        for word, weight in zip(aim.words, weights, strict=True)
    )
    words = gained / sum(weights) if weights else 0.0
    foreign = sum(best_likeness(name, aim.words) < 0.5 for name in set(names)) / max(1, len(set(names)))
    foreign += 0.6 * sum(_foreign(path.rpartition(".")[2], (*aim.words, *aim.forms)) for path in draft.paths)
    own = 0.4 if not draft.paths and any(i < 0 for i in draft.used) else 0.0
    prior = max((pool.match(api, aim.words) for path in draft.paths if (api := pool.lookup(path))), default=own)
    foreign += 1.2 * sum(_predicate(path.rpartition(".")[2]) for path in draft.paths) * (not _asks(aim.text))
    described = 0.5 * any(code in draft.code("_") for code in aim.callables)
    length = 0.05 * (len(draft.statements) + len(draft.result) / 60)
    return 1.6 * words + 0.8 * prior + 2.0 * _coverage(draft, aim) - 0.4 * foreign + described - draft.debt - length


def speaks(draft: Draft, aim: Aim, pool: Pool) -> bool:
    """Whether anything that the draft calls answers a word of the aim, by its name or its documentation.

    One that calls nothing does if it uses what is there: an item of a variable.
    """
    apis = [api for path in draft.paths if (api := pool.lookup(path))]
    near = {part for name in draft.names for part in parts(name)}.union(*(pool.text_words(api) for api in apis))
    if not draft.names:
        return bool(draft.used)
    return any(best_likeness(word, near) >= 0.5 for word in aim.words)


def _predicate(name: str) -> bool:
    return name.lower().startswith(("is_", "has_", "can_", "should_"))


def _asks(text: str) -> bool:
    """Whether a text asks for a truth value."""
    return bool(
        re.search(r"\b(?:whether|if|check|test|verify|valid|boolean|is it|are they|same|equal)\b", text.lower())
    )


def _foreign(name: str, words: Sequence[str]) -> float:
    """The share of an API's name that the words do not speak of."""
    own = [part for part in parts(name) if len(part) > 1]
    return sum(best_likeness(part, words) < 0.5 for part in own) / max(1, len(own))


def _coverage(draft: Draft, aim: Aim) -> float:
    """The share of the aim's values that the draft uses, big ones counting more."""
    singles = [value for value in aim.values if not value.members]
    if not singles:
        return 0.6
    weights = [1.0 if value.shape in ("int", "float") else 1.5 for value in singles]
    used = sum(weight for value, weight in zip(singles, weights, strict=True) if value.id in draft.used)
    return used / sum(weights)


def place_for(
    aim: Aim,
    pool: Pool,
    variables: Sequence[Value],
    attributes: dict[str, tuple[str, ...]],
    *,
    values: Sequence[Value] | None = None,
    taken: Sequence[str] = (),
) -> Place:
    """Where a step for this aim happens."""
    given = (*variables, *(aim.values if values is None else values))
    reserved = frozenset([*(variable.code for variable in variables), *targets_in(aim.text), *taken])
    around = Surroundings(given, aim.words, masked(aim.text), aim.callables, reserved)
    return Place(around, pool, attributes)


def candidates(place: Place, aim: Aim, *, needs: str = "") -> list[Judged]:
    """The drafts of one step for an aim, best first; `needs` names a variable that they should use."""
    drafts = steps(place)
    drafts.extend(tour(place))
    alone = 0.2 if aim.values else 0.9
    scored = [
        Judged(d, judge(d, aim, place.pool) + (0.0 if not needs or _uses(d, needs) else -alone))
        for d in distinct(drafts)
    ]
    return sorted(scored, key=lambda item: -item.score)


def _uses(draft: Draft, name: str) -> bool:
    from_state = any(i < 0 for i in draft.used)
    return from_state or name in draft.result


def tour(place: Place) -> list[Draft]:
    """Drafts from the example programs of the README."""
    knowledge = place.pool.knowledge
    if knowledge is None or not knowledge.libraries:
        return []
    found: list[Draft] = []
    overview = knowledge.overview()
    for info in list(knowledge.libraries)[:1]:
        api = ApiDoc(f"{info.name}.", "module", "", overview.text, info.name, info.version, overview.examples[:12])
        found.extend(example_drafts(api, place, most=12, name=""))
    relevant = [
        draft
        for draft in found
        if any(best_likeness(word, parts(name)) >= 0.75 for name in draft.names for word in place.around.words)
    ]
    return [replace(draft, paths=()) for draft in relevant]


def chains(
    first: Iterable[Judged], aims: Sequence[Aim], whole: Aim, pool: Pool, targets: Sequence[str], *, width: int = 8
) -> list[Judged]:
    """Programs of several steps: each draft followed by steps for the later aims on its result, judged as a whole."""
    beam = [item.draft for item in first][:width]
    for number, aim in enumerate(aims):
        grown: list[Judged] = []
        for draft in beam:
            name = targets[number] if number < len(targets) else f"result_{number + 1}"
            grown.extend(_continued(draft, name, aim, whole, pool))
        grown.sort(key=lambda item: -item.score)
        beam = [item.draft for item in grown[:width]]
    return [Judged(draft, judge(draft, whole, pool)) for draft in beam]


def _continued(draft: Draft, name: str, aim: Aim, whole: Aim, pool: Pool) -> list[Judged]:
    stored = replace(draft, statements=(*draft.statements, f"{name} = {draft.result}"), result=name)
    variable = Value(-1, name, draft.type or "object", parts(name))
    free = [value for value in aim.values if not value.covers & draft.used]
    place = place_for(aim, pool, (variable,), {}, values=free)
    apart = name in targets_in(whole.text)
    later = [d for d in steps(place, apis=10) if apart or _uses(d, name)]
    joined = [stored.then(replace(d, used=d.used - {-1})) for d in later]
    return sorted((Judged(d, judge(d, whole, pool)) for d in joined), key=lambda item: -item.score)[:8]
