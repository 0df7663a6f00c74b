"""API recommendation: top-k retrieval, the model's re-rank and drop, the inter-task re-rank (section 3.3).

The request that re-ranks also asks whether the experience so far already satisfies the subtask and whether the rest of
the plan must change, so that skipping and revising cost no further call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc, Passage, ScoredApi, Subtask
from exploracoder_jupyter.pipeline.context import Run, State, heuristic, merge_apis, raise_if_cancelled
from exploracoder_jupyter.pipeline.exploring.planning import may_revise
from exploracoder_jupyter.pipeline.exploring.selection import find_objection
from exploracoder_jupyter.pipeline.prompting.documentation import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import RecommendGlobalInputs, RecommendInputs
from exploracoder_jupyter.pipeline.prompting.replies import RecommendGlobalReply, RecommendReply, RevisingReply
from exploracoder_jupyter.pipeline.prompting.requests import ask_json
from exploracoder_jupyter.pipeline.retrieval.queries import gather_passages, gather_web_passages

_MOST_UNRANKED: Final = 6
"""Maximum number of APIs that are recommended although the model named none of them."""
_MOST_CALLED: Final = 6
"""Maximum number of APIs that are recommended only because retrieved code calls them."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The APIs recommended for one subtask, and the model's advice on the plan."""

    apis: tuple[ScoredApi, ...]
    retrieved: tuple[ApiDoc, ...]
    passages: tuple[Passage, ...] = ()
    satisfied: bool = False
    reason: str = ""
    restated: str | None = None
    """What is to be done in place of the subtask."""
    remaining: tuple[str, ...] | None = None


async def recommend(run: Run, state: State, subtask: Subtask) -> Recommendation:
    """Retrieve APIs for the subtask and let the model re-rank and drop them.

    Without a usable reply the retrieved order is kept. Except as published, the model is only asked where the plan may
    have to change: after a subtask that failed or gave something else, or with a hint of the user's. The request for
    code shows the list then.
    """
    hint, plan = run.agenda.hints.get(subtask.id, ""), run.agenda.plan
    latest = state.experience[-1] if state.experience else None
    went_wrong = latest is not None and (not latest.observation.ran or bool(find_objection(latest)))
    asked = run.asks_always or went_wrong or bool(hint)
    found, passages = await retrieve(run, subtask, f"{subtask.title} {hint}".strip(), reranked=asked)
    apis = tuple(item.api for item in found)
    revisable = may_revise(run) and bool(state.experience)
    later = plan.subtasks[plan.subtasks.index(subtask) + 1 :]
    if not asked:
        return Recommendation(found, apis, passages)
    inputs = RecommendInputs(run.task, subtask, later, apis, state.experience, revisable, hint)
    form = RevisingReply if revisable else RecommendReply
    try:
        reply = await ask_json(run, "recommend", inputs, form, subject=subtask.id)
    except ReplyError:
        return Recommendation(found, apis, passages)
    requested = subtask.id in run.agenda.hints  # the user asked to explore it again, so it is not done
    satisfied = reply.satisfied and not requested and any(item.observation.ran for item in state.experience)
    ranked = _rank(run, reply.apis, found)
    if not isinstance(reply, RevisingReply):
        return Recommendation(ranked, apis, passages, satisfied, reply.reason)
    remaining = None if reply.remaining is None else tuple(reply.remaining)
    return Recommendation(ranked, apis, passages, satisfied, reply.reason, reply.subtask, remaining)


@heuristic("searching the documentation", lambda run, subtask, query, *, reranked: ((), ()))
async def retrieve(
    run: Run, subtask: Subtask, query: str, *, reranked: bool
) -> tuple[tuple[ScoredApi, ...], tuple[Passage, ...]]:
    """Return APIs and passages for the subtask; those of the web only if the plan asks for a web search.

    A list that the model does not rerank, which drops most of it, is half as long: the model can look up more.
    """
    count = run.settings.retrieved
    found = tuple(await run.knowledge.search(query, count if reranked else -(-count // 2)))
    passages = await gather_passages(run, query)
    await raise_if_cancelled()
    known = {item.api.path for item in found}
    called = dict.fromkeys(path for item in passages if item.code for path in item.apis)
    more = {api.path: api for path in called if (api := run.knowledge.lookup(path)) and api.path not in known}
    found = (*found, *(ScoredApi(api, 0.0) for api in islice(more.values(), _MOST_CALLED)))
    paths = tuple(item.api.path for item in found)
    run.emit(KnowledgeSearched(subtask.id, 0, "subtask", query, paths, passages))
    if "web" in run.sources.kinds and subtask.online:
        online = await gather_web_passages(run, subtask.online)
        await raise_if_cancelled()
        run.emit(KnowledgeSearched(subtask.id, 0, "subtask", subtask.online, (), online))
        passages = deduplicate((*passages, *online))
    return found, passages


async def recommend_globally(run: Run, state: State) -> tuple[ApiDoc, ...]:
    """Return the set A_G: at most k_G APIs that matter for the task as a whole.

    Chosen from the APIs that serve all subtasks together and those retrieved for each, without those of the cells that
    ran, which are documented anyway; none if nothing was retrieved. Except as published, the model chooses only if a
    subtask failed: otherwise the calls that ran are known.
    """
    if not state.retrieved:
        return ()
    count = run.settings.retrieved_global
    titles = [subtask.title for subtask in run.agenda.plan.subtasks]
    found = merge_apis(await _search_together(run, titles, count), state.retrieved)[: count * 2]
    run.emit(KnowledgeSearched("solution", 0, "subtask", "; ".join(titles), tuple(api.path for api in found)))
    known = {path for item in state.experience if item.observation.ran for path in item.apis}
    pool = tuple(api for api in found if api.path not in known)
    if not (run.asks_always or any(not item.observation.ran for item in state.experience)):
        return pool[:count]
    inputs = RecommendGlobalInputs(run.task, run.agenda.plan.subtasks, pool, count, state.experience)
    try:
        reply = await ask_json(run, "recommend_global", inputs, RecommendGlobalReply)
    except ReplyError:
        return pool[:count]
    scored = tuple(ScoredApi(api, 0.0) for api in pool)
    return tuple(item.api for item in _rank(run, reply.apis, scored))[:count]


@heuristic("searching the documentation", lambda run, titles, count: ())
async def _search_together(run: Run, titles: Sequence[str], count: int) -> tuple[ApiDoc, ...]:
    return tuple(item.api for item in await run.knowledge.search_together(titles, count))


@heuristic("ranking APIs", lambda run, paths, found: tuple(found))
def _rank(run: Run, paths: Sequence[str], found: Sequence[ScoredApi]) -> tuple[ScoredApi, ...]:
    """Return the APIs in the model's order, resolving other paths of the same API and dropping invented ones.

    An empty reply means that none of them helps. One that names only invented APIs shows nothing, so the first of the
    retrieved ones are kept.
    """
    by_path = {item.api.path: item for item in found}
    kept: dict[str, ScoredApi] = {}
    for path in (path.strip().strip("`").removesuffix("()") for path in paths):
        known = by_path.get(path)
        api = known.api if known else run.knowledge.lookup(path)
        if api:
            kept[api.path] = by_path.get(api.path) or ScoredApi(api, 0.0)
    return tuple(kept.values()) or (tuple(found[:_MOST_UNRANKED]) if paths else ())
