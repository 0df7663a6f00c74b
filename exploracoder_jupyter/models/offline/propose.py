"""Candidates for one subtask: the best drafts for its clause, diverse, each printing what is to be learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exploracoder_jupyter.models.offline.values import Value, targets_in
from exploracoder_jupyter.models.offline.examples import adapted
from exploracoder_jupyter.models.offline.calls import complete
from exploracoder_jupyter.models.offline.pool import Pool
from exploracoder_jupyter.models.offline.samples import samples, slices
from exploracoder_jupyter.models.offline.search import Aim, Judged, candidates, place_for
from exploracoder_jupyter.models.offline.binding import Surroundings
from exploracoder_jupyter.models.offline.state import attributes, variables
from exploracoder_jupyter.pipeline.requests import ProposeInputs

_PER_API = 2


def proposals(inputs: ProposeInputs, pool: Pool, *, most: int) -> list[str]:
    """Snippets for the subtask, best first; none when the documentation offers nothing that can be called."""
    aim = Aim.of(inputs.subtask.title)
    state = variables(inputs.experience)
    place = place_for(aim, pool, state, attributes(inputs.experience), values=_values(aim, inputs))
    needs = state[0].code if state else ""
    chosen = _diverse(candidates(place, aim, needs=needs), most)
    target = next(iter(targets_in(inputs.subtask.title)), f"result_{inputs.subtask.id}")
    codes = [item.draft.code(target, shown=True) for item in chosen]
    return codes or _pasted(pool, aim, target, most)


def _values(aim: Aim, inputs: ProposeInputs) -> tuple[Value, ...]:
    """The clause's values; those of the whole task when the clause has none and nothing has been made yet."""
    if aim.values or inputs.experience:
        return aim.values
    return tuple(replace(value, roles=()) for value in Aim.of(inputs.task.text).values)


def _diverse(ranked: Sequence[Judged], most: int) -> list[Judged]:
    """The best ones, few of the same API."""
    count: dict[tuple[str, ...], int] = {}
    chosen: list[Judged] = []
    for item in ranked:
        key = item.draft.paths or (item.draft.result,)
        if count.get(key, 0) < _PER_API and len(chosen) < most:
            count[key] = count.get(key, 0) + 1
            chosen.append(item)
    return chosen


def _pasted(pool: Pool, aim: Aim, target: str, most: int) -> list[str]:
    """Documented examples as they stand: they show what the library does, not a way to do the task."""
    found: list[str] = []
    bare = Surroundings((), aim.words, aim.text)
    for api in pool.ranked(aim.words):
        for block in samples(api)[:1]:
            for slice_ in slices(block, api.name, most=1):
                ready, _ = complete(slice_, api, pool)
                found.extend(draft.code(target, shown=True) for draft in adapted(ready, api, bare))
    return found[:most]
