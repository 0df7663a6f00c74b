"""Candidates for one subtask: the best drafts for its clause, diverse, each printing what is to be learned."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.llm.offline.drafting.call_drafts import Place, call_drafts, complete, example_drafts
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.example_adaptation import adapted
from exploracoder_jupyter.llm.offline.drafting.glue_code import PLAIN, Idiom, idioms
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import Surroundings
from exploracoder_jupyter.llm.offline.drafting.program_search import Aim, Judged, candidates, place_for, speaks
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import Pool, named_in
from exploracoder_jupyter.llm.offline.inputs.example_slices import samples, slices
from exploracoder_jupyter.llm.offline.inputs.experience_state import attributes, variables
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, targets_in
from exploracoder_jupyter.llm.offline.inputs.wanted_result import user_variables, with_columns
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ProposeInputs

_FORMS = 3
_FEWEST = 3
_FAR = 0.9
"""How much worse than the best a candidate may be; selection goes by agreement, so doubtful ones do harm."""


def proposals(inputs: ProposeInputs, pool: Pool, *, most: int) -> list[str]:
    """Snippets for the subtask, best first; none when the documentation has nothing that answers a word of it."""
    aim = with_columns(Aim.of(inputs.subtask.title), inputs.task)
    state = (*variables(inputs.experience), *user_variables(inputs.task))
    place = place_for(
        aim, pool, state, attributes(inputs.experience), values=_values(aim, inputs), taken=targets_in(inputs.task.text)
    )
    needs = state[0].code if state else ""
    found = [item for item in candidates(place, aim, needs=needs) if speaks(item.draft, aim, pool)]
    ranked = _hinted(found, inputs.hint, place)
    chosen = _diverse(ranked, inputs.subtask.title, most)
    target = next(iter(targets_in(inputs.subtask.title)), f"result_{inputs.subtask.id}")
    codes = [draft.code(target, shown=True) for draft in chosen]
    return codes or _pasted(pool, aim, target, most)


def _hinted(ranked: Sequence[Judged], hint: str, place: Place) -> list[Judged]:
    """The drafts that call what a hint names go first, and lead by so much that no other is near."""
    named = named_in(hint, place.pool.apis.values())
    paths = {api.path for api in named}
    fresh = [draft for api in named for draft in (*call_drafts(api, place), *example_drafts(api, place))]
    first = [item for item in ranked if paths.intersection(item.draft.paths)] or [Judged(d, 0.0) for d in fresh]
    top = max((item.score for item in ranked), default=0.0) + 2 * _FAR
    rest = [item for item in ranked if item not in first]
    return [*(replace(item, score=item.score + top) for item in first), *rest]


def _values(aim: Aim, inputs: ProposeInputs) -> tuple[Value, ...]:
    """The clause's values; those of the whole task when the clause has none and nothing has been made yet."""
    if aim.values or inputs.experience:
        return aim.values
    return tuple(replace(value, roles=()) for value in Aim.of(inputs.task.text).values)


def _diverse(ranked: Sequence[Judged], text: str, most: int) -> list[Draft]:
    """The best draft in up to three forms, then the best drafts of other APIs.

    Selection goes by agreement, so forms of the best draft support one another, and doubtful drafts are left out.
    """
    if not ranked:
        return []
    best = ranked[0]
    forms = [
        best.draft,
        *(replace(best.draft, result=idiom.apply(best.draft.result)) for idiom in _asked(best.draft, text)),
    ]
    forms.extend(
        item.draft for item in ranked[1:] if item.draft.paths == best.draft.paths and item.score > best.score - _FAR
    )
    forms.insert(1, _named(best.draft))
    chosen = list({(draft.statements, draft.result): draft for draft in forms}.values())[:_FORMS]
    seen = {best.draft.paths}
    for item in ranked[1:]:
        if len(chosen) < most and item.draft.paths not in seen and item.score > best.score - _FAR:
            seen.add(item.draft.paths)
            chosen.append(item.draft)
    others = {item.draft.paths: item.draft for item in reversed(ranked[1:]) if item.draft.paths not in seen}
    spare = sorted(others.values(), key=[item.draft for item in ranked].index)
    return [*chosen, *spare[: max(0, _FEWEST - len(chosen))]][:most]


def _named(draft: Draft) -> Draft:
    """The same draft with its first literal argument given a name, if there is one."""
    call = ast.parse(draft.result, mode="eval").body
    literals = [
        node for node in getattr(call, "args", []) if isinstance(node, (ast.List, ast.Dict, ast.Constant, ast.Tuple))
    ]
    if not isinstance(call, ast.Call) or not literals:
        return draft
    call.args = [ast.Name("given", ast.Load()) if node is literals[0] else node for node in call.args]
    line = f"given = {ast.unparse(literals[0])}"
    return replace(draft, statements=(*draft.statements, line), result=ast.unparse(call))


def _asked(draft: Draft, text: str) -> list[Idiom]:
    """The changes of a result that the clause's wording asks for."""
    return [idiom for idiom in idioms(text, draft.type) if idiom.template != PLAIN.template and idiom.cost < 0.05][:1]


def _pasted(pool: Pool, aim: Aim, target: str, most: int) -> list[str]:
    """Documented examples as they stand: they show what the library does, not a way to do the task."""
    found: list[str] = []
    bare = Surroundings((), aim.words, aim.text)
    for api in pool.ranked(aim.words):
        if not speaks(Draft((), (), "", (api.path,), names=(api.name,)), aim, pool):
            continue
        for block in samples(api)[:1]:
            for slice_ in slices(block, api.name, most=1):
                ready, _ = complete(slice_, api, pool)
                found.extend(draft.code(target, shown=True) for draft in adapted(ready, api, bare))
    return found[:most]
