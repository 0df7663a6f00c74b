"""The offline model: answers requests of the pipeline from their inputs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial

import anyio.to_thread

from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import ApiDoc, Experience, Task, Usage
from exploracoder_jupyter.llm.offline.calls import call_drafts, example_drafts
from exploracoder_jupyter.llm.offline.documentation import DocumentationPool, find_named_apis
from exploracoder_jupyter.llm.offline.drafts import best_conversion, find_conversions
from exploracoder_jupyter.llm.offline.goals import (
    Draft,
    Goal,
    add_columns,
    solution_form,
    state_variables,
    user_variables,
)
from exploracoder_jupyter.llm.offline.programs import Variant, is_relevant, rank_drafts, solution_variants
from exploracoder_jupyter.llm.offline.task import find_targets, split_clauses
from exploracoder_jupyter.pipeline.context import heuristic
from exploracoder_jupyter.pipeline.ports import Knowledge, ModelRequest, Reply
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import (
    DebugInputs,
    ExplainInputs,
    IntroduceInputs,
    InventInputs,
    JudgeInputs,
    PlanInputs,
    PlannersInputs,
    ProposeInputs,
    RecommendGlobalInputs,
    RecommendInputs,
    RepairInputs,
    SolveInputs,
    StrategyInputs,
)
from exploracoder_jupyter.text.characters import fenced

# Proposes candidates for one subtask: the best drafts for its clause, each printing its result.

_MAX_FORMS = 3
"""Candidates that use the same APIs: selection goes by agreement, so forms of the best draft support one another."""
_MAX_SCORE_GAP = 0.9
"""How much worse than the best a candidate's score may be, as doubtful candidates do harm."""


def propose_candidates(inputs: ProposeInputs, pool: DocumentationPool, *, limit: int) -> list[str]:
    """Return snippets for the subtask, best first; none when no documentation matches any of its words."""
    title = inputs.subtask.title
    goal = add_columns(Goal.of(title), inputs.task)
    variables = (*state_variables(inputs.experience), *user_variables(inputs.task))
    values = goal.values
    if not values and not inputs.experience:  # the data is in another clause
        values = tuple(replace(value, roles=()) for value in Goal.of(inputs.task.text).values)
    step = goal.using(variables, values, find_targets(inputs.task.text))
    found = rank_drafts(step, goal, pool, needs=variables[0].code if variables else "")
    ranked = [draft for draft in found if is_relevant(draft, goal, pool)]
    chosen = _select_diverse(_prioritize_hint(ranked, inputs.hint, step, pool), title, limit)
    target = next(iter(find_targets(title)), f"result_{inputs.subtask.id}")
    return [draft.code(target, with_print=True) for draft in chosen]


def _prioritize_hint(ranked: Sequence[Draft], hint: str, step: Goal, pool: DocumentationPool) -> list[Draft]:
    """Put the drafts that call APIs named in a hint first, with a lead so large that no other score is close."""
    hinted = find_named_apis(hint, pool.apis.values())
    paths = {api.path for api in hinted}
    new_drafts = [d for api in hinted for d in (*call_drafts(api, step, pool), *example_drafts(api, step, pool))]
    preferred = [draft for draft in ranked if paths.intersection(draft.paths)] or new_drafts
    lead = max((draft.score for draft in ranked), default=0.0) + 2 * _MAX_SCORE_GAP
    rest = [draft for draft in ranked if draft not in preferred]
    return [*(replace(draft, score=draft.score + lead) for draft in preferred), *rest]


def _select_diverse(ranked: Sequence[Draft], text: str, limit: int) -> list[Draft]:
    """Select the best draft in up to three forms, then one draft of each other set of names, if nearly as good."""
    if not ranked:
        return []
    best = ranked[0]
    near = [draft for draft in ranked if draft.score > best.score - _MAX_SCORE_GAP]
    requested = [template for template, cost in find_conversions(text, best.type).items() if cost < 0.05]
    forms = [best, *(replace(best, result=template.format(x=best.result)) for template in requested[:1])]
    forms.extend(draft for draft in near if draft.paths == best.paths)
    unique = list({(draft.statements, draft.result): draft for draft in forms}.values())
    others = {frozenset(draft.names): draft for draft in reversed(near) if draft.paths != best.paths}
    return [*unique[:_MAX_FORMS], *reversed(others.values())][:limit]


# The offline model: answers requests of the pipeline from their inputs, in the format of a language model.
#
# It does not understand language. It splits the task into clauses, ranks the documentation by words, adapts
# documented examples, binds the task's values to parameters, and enumerates whole programs best first, so that the
# n-th repair returns the n-th program not tried yet. It is deterministic: the same inputs produce the same replies,
# until it has spent its time and proposes no further repairs.

_RESULTS = 20
_MARKUP = re.compile(r"^\s*(?:[#=*\-~+^`|<!\[.>:]|https?:)")
_MAX_FAILED_CHECKS = 8
"""Maximum programs tried that run and fail their check: by then the task was most likely misunderstood."""
_MAX_ATTEMPTS = 12
_MAX_BLIND_ATTEMPTS = 4
"""Maximum programs tried if nothing that was explored ran."""
MAX_SECONDS = 20.0
"""Seconds from the first request to the last repair: what solves a task is nearly always among the first tries."""
_run_in_thread = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
"""Runs pure computation in a thread, so that a stop request is handled meanwhile."""


class OfflineModel:
    """A `ports.Model` without a language model.

    Args:
        knowledge: lets it search beyond the inputs of a request.
        seconds: how long it proposes repairs after the first request, on a machine that is not busy.
    """

    name = "offline"

    def __init__(self, knowledge: Knowledge | None = None, *, seconds: float = MAX_SECONDS) -> None:
        self._knowledge = knowledge
        self._seconds = seconds
        self._began: float | None = None
        self._cache: tuple[tuple[Task, tuple[Experience, ...]], list[Variant]] | None = None

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the replies: fewer than requested when there is nothing more to try, but at least one."""
        self._began = self._began or time.monotonic()
        texts = await self._answers(request)
        for index, text in enumerate(texts or [""]):
            usage = Usage(calls=1 if index == 0 else 0)
            yield Reply(index, text, usage, "" if text else "empty")

    @heuristic("answering without a language model", lambda self, request: [])
    async def _answers(self, request: ModelRequest) -> list[str]:
        inputs = request.inputs
        match inputs:
            case IntroduceInputs():
                return [_summarize(inputs.readme)]
            case PlannersInputs():
                return [json.dumps({"planners": []})]
            case PlanInputs():
                return [json.dumps({"subtasks": split_clauses(inputs.task.text, limit=inputs.most)})]
            case RecommendInputs():
                named = [api.path for api in find_named_apis(inputs.hint, inputs.apis)]
                order = list(dict.fromkeys([*named, *_rank_paths(inputs.apis, inputs.subtask.title)]))
                reason = "ordered by the words of the subtask"
                return [json.dumps({"apis": order, "satisfied": False, "reason": reason})]
            case RecommendGlobalInputs():
                return [json.dumps({"apis": _rank_paths(inputs.apis, inputs.task.text)[: inputs.count]})]
            case ProposeInputs():
                texts = [inputs.subtask.title, *([inputs.hint] if inputs.hint else [])]
                pool = await self._pool(inputs.apis, texts, inputs.experience)
                codes = await _run_in_thread(partial(propose_candidates, inputs, pool, limit=request.sampling.n))
                return [_fence(code) for code in codes]
            case SolveInputs() | RepairInputs():
                return await self._solve(inputs)
            case DebugInputs() | InventInputs() | JudgeInputs() | ExplainInputs() | StrategyInputs():
                return []

    async def _solve(self, inputs: SolveInputs | RepairInputs) -> list[str]:
        attempts: Sequence[Experience] = ()
        if isinstance(inputs, RepairInputs):
            attempts, explored = inputs.attempts, inputs.experience
            nothing_ran = bool(explored) and not any(item.observation.ran for item in explored)
            most = _MAX_BLIND_ATTEMPTS if nothing_ran else _MAX_ATTEMPTS
            is_late = time.monotonic() - (self._began or 0.0) >= scale_limit(self._seconds)
            completed = sum(not _crashed(item) for item in attempts)
            if is_late or len(attempts) >= most or completed >= _MAX_FAILED_CHECKS:
                return []
        ranked = await self._variants(inputs)
        code = converted_program(inputs.task, ranked, attempts) or next_program(ranked, attempts)
        return [_fence(code)] if code else []

    async def _variants(self, inputs: SolveInputs | RepairInputs) -> list[Variant]:
        key = (inputs.task, inputs.experience)
        if self._cache is None or self._cache[0] != key:
            texts = [inputs.task.text, *split_clauses(inputs.task.text, limit=4)]
            pool = await self._pool(inputs.apis, texts, inputs.experience)
            self._cache = (key, await _run_in_thread(partial(solution_variants, inputs.task, pool, inputs.experience)))
        return self._cache[1]

    async def _pool(
        self, apis: Sequence[ApiDoc], texts: Sequence[str], experience: Sequence[Experience]
    ) -> DocumentationPool:
        pool = DocumentationPool(self._knowledge)
        pool.add(apis)
        for text in dict.fromkeys(texts):
            await pool.search(" ".join(Goal.of(text).words) or text, _RESULTS)
            for variable in state_variables(experience)[:2]:
                await pool.search(f"{variable.shape.rpartition('.')[2]} {' '.join(Goal.of(text).words)}", _RESULTS)
        return pool


def converted_program(task: Task, ranked: Sequence[Variant], attempts: Sequence[Experience]) -> str:
    """Return the last program with its result converted to the kind that the task stores; empty if that does not help.

    It is one if the program ran, its check failed, and its result is of another kind: a generator instead of a list.
    """
    form, last = solution_form(task), attempts[-1] if attempts else None
    if last is None or form.function or last.observation.unmet != "check":
        return ""
    name, code = form.names[-1], last.candidate.code
    template = best_conversion(task.text, dict(last.observation.names).get(name, ""))
    if not template:
        return ""
    bases = {item.base for item in ranked if item.code == code}
    known = (item.code for item in ranked if item.base in bases and not item.is_unconverted)
    converted = next(known, f"{code}\n{name} = {template.format(x=name)}")
    return converted if converted not in {item.candidate.code for item in attempts} else ""


def next_program(ranked: Sequence[Variant], attempts: Sequence[Experience]) -> str:
    """Return the best untried variant that repeats nothing which crashed, else nothing."""
    crashed = [item for item in attempts if _crashed(item)]
    crashed_codes = {item.candidate.code for item in crashed}
    broken_bases = {variant.base for variant in ranked if variant.is_unconverted and variant.code in crashed_codes}
    failing_lines = {line for item in crashed if (line := failing_line(item))}
    tried = {item.candidate.code for item in attempts}
    untried = (item.code for item in ranked if item.code not in tried and item.base not in broken_bases)
    return next((code for code in untried if not failing_lines & set(code.splitlines())), "")


def failing_line(item: Experience) -> str:
    """Return the top-level line that raised, according to the traceback; empty if unknown."""
    trace = item.observation.error.traceback if item.observation.error else ""
    match = re.search(r"(?:Cell In\[\d+\]|File \"<\w+[^\n\"]*>\"), line (\d{1,9})\b", trace)
    lines = item.candidate.code.splitlines()
    return lines[int(match.group(1)) - 1] if match and int(match.group(1)) <= len(lines) else ""


def _crashed(item: Experience) -> bool:
    return not item.observation.ran and not item.observation.unmet


def _rank_paths(apis: Sequence[ApiDoc], text: str) -> list[str]:
    pool = DocumentationPool()
    pool.add(apis)
    ranked = [api.path for api in pool.rank_apis(Goal.of(text).words)]
    return [*ranked, *(api.path for api in apis if api.path not in ranked)]


def _summarize(readme: str, *, limit: int = 1200) -> str:
    """Return the first paragraphs of prose in a README, or its first lines if it has none."""
    chosen = ""
    for text in (" ".join(part.split()) for part in re.split(r"\n\s*\n", readme)):
        if len(text.split()) >= 6 and not _MARKUP.match(text):
            if chosen and len(chosen) + len(text) > limit:
                break
            chosen = f"{chosen}\n\n{text[:limit]}".strip()
    return chosen or readme.strip()[:limit] or "No introductory documentation was found."


def _fence(code: str) -> str:
    return fenced(code, "python")
