"""Whole programs for `solve` and `repair`: every variant worth trying, best first.

What was explored comes first as it stands, where it binds what the task wants. Then, by their scores: the explored
program continued; single calls and chains bound afresh over the whole task. Each is combined with changes of its result
(`list(...)`, `sorted(...)`, ...) that the wording or the observed type suggests.
The check of the task is read for the names that it needs, never for what it expects.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import Experience, Task
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.glue_code import PLAIN, Idiom, conversion, idioms
from exploracoder_jupyter.llm.offline.drafting.program_search import (
    Aim,
    Judged,
    candidates,
    chains,
    judge,
    place_for,
    speaks,
)
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import Pool
from exploracoder_jupyter.llm.offline.inputs.example_slices import stores
from exploracoder_jupyter.llm.offline.inputs.experience_state import alive, attributes, program, pruned, variables
from exploracoder_jupyter.llm.offline.inputs.task_clauses import clauses
from exploracoder_jupyter.llm.offline.inputs.task_values import targets_in
from exploracoder_jupyter.llm.offline.inputs.value_kinds import kinds_of, wanted_kinds
from exploracoder_jupyter.llm.offline.inputs.wanted_result import Wanted, wanted_by

_REPEATED = 0.12
"""What every kindred variant before it costs a variant."""
_RAN = 0.3
"""What having run counts for an explored program."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program to try."""

    code: str
    score: float
    base: str
    """The program before its result was changed: when it fails to run, so do its siblings."""
    plain: bool = True
    """Whether the result is taken as it comes."""
    complete: bool = True
    """Whether it binds every name that the task wants."""
    kin: tuple[tuple[str, ...], ...] = ()
    """What it has in common with others: its base, its first step, its APIs."""


def programs(task: Task, pool: Pool, experience: Sequence[Experience], *, most: int = 60) -> list[Judged]:
    """Drafts for the whole task, best first."""
    wanted = wanted_by(task)
    whole = wanted.aim(task)
    drafts = [*_explored(whole, pool, experience, wanted.names[:-1]), *_afresh(task, whole, pool)]
    drafts = sorted((item for item in drafts if speaks(item.draft, whole, pool)), key=lambda item: -item.score)
    return list({item.draft.code("_"): item for item in reversed(drafts)}.values())[::-1][:most]


def variants(
    task: Task,
    drafts: Sequence[Judged],
    experience: Sequence[Experience],
    attempts: Sequence[Experience] = (),
    *,
    most: int = 80,
) -> list[Variant]:
    """Programs for the task, best first: the drafts with changes of their results, as the types seen suggest."""
    wanted = wanted_by(task)
    names = wanted.names
    text = clauses(task.text, most=8)[-1]
    known = attributes(experience)
    seen = _seen_types(attempts, names[-1])
    most_used = max((_used(item.draft) for item in drafts), default=0)
    first = _as_explored(task, wanted, text, experience, most_used)
    found: dict[str, Variant] = {}
    for item in drafts:
        type_ = seen.get(pruned(_code(item.draft, names[-1], PLAIN), names), "")
        typed = replace(item, draft=replace(item.draft, type=type_)) if type_ else item
        for variant in _finished(typed, wanted, text, known):
            if variant.code not in found or found[variant.code].score < variant.score:
                found[variant.code] = variant
    complete = [variant for variant in found.values() if variant.complete] or list(found.values())
    ranked = _spread(sorted(complete, key=lambda variant: -variant.score))
    return list({variant.code: variant for variant in (*first, *ranked)}.values())[:most]


def _as_explored(
    task: Task, wanted: Wanted, text: str, experience: Sequence[Experience], most_used: int
) -> list[Variant]:
    """The explored program unchanged, if it binds the wanted names, or did the whole of a task that names none.

    Where the wording asks for another built-in type than the one seen, the program that converts to it goes before. One
    that leaves out values of the task which others use (`most_used`), or holds what the wording excludes, is not right.
    """
    ran = [item for item in experience if item.observation.ran]
    values = wanted.aim(task).values
    explored = program(ran, values)
    named = set(wanted.names) <= _bound(explored.draft) & {value.code for value in variables(ran)}
    whole = not targets_in(task.text) and not task.check and len(ran) == len(experience)
    if wanted.function or not explored.result or not (named or whole):
        return []
    target = wanted.names[-1]
    result = target if named else explored.result
    draft = alive(replace(explored.draft, result=result), values, wanted.names[:-1])
    type_ = draft.type if result == explored.result else ""
    if _used(draft) < most_used or not _stored_kind(text, type_):
        return []
    forms = [conversion(text, type_), PLAIN]
    codes = [(form, pruned(_code(draft, target, form), wanted.names)) for form in forms if form]
    return [Variant(code, 0.0, draft.code("_"), form == PLAIN) for form, code in codes if code]


def _used(draft: Draft) -> int:
    """How many values of the task it uses."""
    return sum(number >= 0 for number in draft.used)


def _stored_kind(text: str, type_: str) -> bool:
    """Whether what was seen may be what the text wants stored, as in `store the list in`; unless it says, anything."""
    said = re.search(r"\b(?:store|save|put|keep) (?:the|a|its|their) (\w+)", text.lower())
    asked = wanted_kinds(said.group(1), "") if said and type_ else frozenset()
    return not asked or bool(asked & kinds_of(type_))


def _bound(draft: Draft) -> set[str]:
    """Names that the statements bind."""
    return {name for line in draft.statements for node in ast.parse(line).body for name in stores(node, whole=True)}


def _seen_types(attempts: Sequence[Experience], target: str) -> dict[str, str]:
    """The observed type of the target by the code of the attempt."""
    found = {}
    for item in attempts:
        type_ = dict(item.observation.names).get(target, "")
        if type_:
            found[item.candidate.code] = type_.removeprefix("builtins.")
    return found


def _spread(ranked: Sequence[Variant]) -> list[Variant]:
    """The variants by score; every repetition of a base, a beginning or a set of APIs is paid for."""
    left = list(ranked)
    count: dict[tuple[str, ...], int] = {}
    spread: list[Variant] = []
    while left:
        best = max(left, key=lambda v: v.score - _REPEATED * sum(count.get(key, 0) for key in v.kin))
        left.remove(best)
        spread.append(best)
        for key in best.kin:
            count[key] = count.get(key, 0) + 1
    return spread


def _explored(whole: Aim, pool: Pool, experience: Sequence[Experience], names: Sequence[str]) -> list[Judged]:
    """What was explored: as it is, without its last step, and continued on its last result."""
    found: list[Judged] = []
    ran = [item for item in experience if item.observation.ran]
    for length in range(len(ran), 0, -1):
        explored = program(ran[:length], whole.values)
        if not explored.result:
            continue
        draft = alive(explored.draft, whole.values, names)
        found.append(Judged(draft, judge(draft, whole, pool) + _RAN))
        found.extend(_continued(explored.draft, whole, pool, ran[:length], names))
    return found


def _continued(
    draft: Draft, whole: Aim, pool: Pool, experience: Sequence[Experience], names: Sequence[str]
) -> Iterator[Judged]:
    """One more step on the variables of the state."""
    free = [value for value in whole.values if not value.covers & draft.used]
    place = place_for(whole, pool, variables(experience), attributes(experience), values=free)
    for item in candidates(place, whole)[:12]:
        if not any(i < 0 for i in item.draft.used):
            continue
        joined = alive(draft.then(item.draft), whole.values, names)
        yield Judged(joined, judge(joined, whole, pool) + _RAN / 2)


def _afresh(task: Task, whole: Aim, pool: Pool) -> list[Judged]:
    """Programs that owe nothing to the exploration: single calls, then chains along the clauses."""
    single = candidates(place_for(whole, pool, (), {}), whole)
    texts = clauses(task.text, most=4)
    found = single[:30]
    if len(texts) > 1:
        aims = [Aim.of(text) for text in texts]
        ids = _same_ids(aims, whole)
        first = candidates(place_for(ids[0], pool, (), {}), ids[0])
        found.extend(chains(first, ids[1:], whole, pool, _step_names(texts)))
    partial = [item for item in single if item.draft.paths][:8]
    found.extend(chains(partial, [whole], whole, pool, ()))
    return found


def _step_names(texts: Sequence[str]) -> list[str]:
    """A name for the result of each clause: the one it asks for, else a numbered one."""
    return [next(iter(targets_in(text)), f"result_{number}") for number, text in enumerate(texts, 1)]


def _same_ids(aims: Sequence[Aim], whole: Aim) -> list[Aim]:
    """The aims with the values numbered as in the whole task."""
    by_code = {value.code: value for value in whole.values}
    return [replace(aim, values=tuple(by_code.get(value.code, value) for value in aim.values)) for aim in aims]


def _finished(item: Judged, wanted: Wanted, text: str, known: dict[str, tuple[str, ...]]) -> Iterator[Variant]:
    """The draft as programs that define the wanted names."""
    draft, names = item.draft, wanted.names
    target = names[-1]
    complete = set(names[:-1]) <= _bound(draft)
    options = idioms(text, draft.type, frozenset(a.removesuffix("()") for a in known.get(draft.result, ())))
    base = draft.code("_")
    for idiom in options or [PLAIN]:
        code = _code(draft, target, idiom)
        if code:
            yield Variant(
                wanted.form(pruned(code, names)),
                item.score - idiom.cost,
                base,
                idiom.template == PLAIN.template,
                complete,
                _kin(draft, base),
            )


def _kin(draft: Draft, base: str) -> tuple[tuple[str, ...], ...]:
    first = draft.statements[:1] if len(draft.statements) > 1 else ()
    return tuple(key for key in ((base,), ("first", *first) if first else (), ("apis", *draft.paths)) if key)


def _code(draft: Draft, target: str, idiom: Idiom) -> str:
    code = replace(draft, result=idiom.apply(draft.result)).code(target)
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return code
