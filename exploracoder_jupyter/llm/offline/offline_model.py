"""The offline model: answers every request of the pipeline from its inputs, in the form a language model would.

It knows no language. It splits the task into clauses, ranks the documentation by words, adapts documented examples,
binds the task's values to parameters, mends errors by their messages, and enumerates whole programs best first, so
that the n-th repair gives the n-th program not tried yet. Deterministic: the same inputs give the same replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TypeVar

import anyio.to_thread

from exploracoder_jupyter.core.types import ApiDoc, Experience, Task, Usage
from exploracoder_jupyter.llm.offline.candidate_proposals import proposals
from exploracoder_jupyter.llm.offline.drafting.code_repairs import repaired
from exploracoder_jupyter.llm.offline.drafting.program_assembly import Variant, programs, variants
from exploracoder_jupyter.llm.offline.drafting.program_search import Aim, Judged
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import Pool, named_in
from exploracoder_jupyter.llm.offline.inputs.experience_state import variables
from exploracoder_jupyter.llm.offline.inputs.task_clauses import clauses
from exploracoder_jupyter.llm.offline.introduction import planners, summary
from exploracoder_jupyter.pipeline.heuristics import heuristic
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
)

_K = 20
_MOST_FAILING_THE_CHECK = 8
"""Programs tried that run and fail their check: by then the task was most likely not understood."""
_MOST_TRIED = 12
_MOST_TRIED_BLINDLY = 4
"""Programs tried where nothing that was explored ran."""
_T = TypeVar("_T")


class OfflineModel:
    """A `ports.Model` without a language model; `knowledge` lets it look beyond what a request holds."""

    name = "offline"

    def __init__(self, knowledge: Knowledge | None = None) -> None:
        self._knowledge = knowledge
        self._kept: tuple[tuple[Task, tuple[Experience, ...]], list[Judged]] | None = None

    async def complete(self, request: ModelRequest) -> AsyncIterator[Reply]:
        """Yield the replies; fewer than asked for when there is nothing more to try, and never none."""
        texts = await self._answers(request)
        for index, text in enumerate(texts or [""]):
            usage = Usage(calls=1 if index == 0 else 0)
            yield Reply(index, text, usage, "" if text else "empty")

    @heuristic("answering without a language model", lambda self, request: [])
    async def _answers(self, request: ModelRequest) -> list[str]:
        inputs = request.inputs
        match inputs:
            case IntroduceInputs():
                return [summary(inputs.readme)]
            case PlannersInputs():
                return [json.dumps({"planners": planners(inputs.examples, inputs.count)})]
            case PlanInputs():
                return [json.dumps({"subtasks": clauses(inputs.task.text, most=inputs.most)})]
            case RecommendInputs():
                return [await self._recommend(inputs)]
            case RecommendGlobalInputs():
                return [json.dumps({"apis": _order(inputs.apis, inputs.task.text)[: inputs.count]})]
            case ProposeInputs():
                return await self._propose(inputs, request.sampling.n)
            case DebugInputs():
                return await self._debug(inputs)
            case SolveInputs() | RepairInputs():
                return await self._solve(inputs)
            case InventInputs() | JudgeInputs() | ExplainInputs():
                return []

    async def _recommend(self, inputs: RecommendInputs) -> str:
        """All of the retrieved APIs: those that a hint names, then those that match the clause best."""
        named = [api.path for api in named_in(inputs.hint, inputs.apis)]
        order = list(dict.fromkeys([*named, *_order(inputs.apis, inputs.subtask.title)]))
        return json.dumps({"apis": order, "satisfied": False, "reason": "ordered by the words of the subtask"})

    async def _propose(self, inputs: ProposeInputs, n: int) -> list[str]:
        texts = [inputs.subtask.title, *([inputs.hint] if inputs.hint else [])]
        pool = await self._pool(inputs.apis, texts, inputs.experience)
        codes = await _aside(partial(proposals, inputs, pool, most=n))
        return [_fenced(code) for code in codes]

    async def _debug(self, inputs: DebugInputs) -> list[str]:
        """A mechanical repair, or the next candidate that has not been proposed when the error suggests none."""
        pool = await self._pool(inputs.apis, [inputs.subtask.title], inputs.experience)
        failed = inputs.failed
        error = failed.observation.error
        codes = repaired(failed.candidate.code, error, _called(inputs.apis, failed), pool) if error else []
        return [_fenced(code) for code in codes[:1]]

    async def _solve(self, inputs: SolveInputs | RepairInputs) -> list[str]:
        attempts = inputs.attempts if isinstance(inputs, RepairInputs) else ()
        if _enough(attempts, inputs.experience):
            return []
        drafts = await self._programs(inputs)
        found = variants(inputs.task, drafts, inputs.experience, attempts)
        pool = await self._pool(inputs.apis, [], ())
        code = await anyio.to_thread.run_sync(
            partial(next_program, found, attempts, inputs.apis, pool), abandon_on_cancel=True
        )
        return [_fenced(code)] if code else []

    async def _programs(self, inputs: SolveInputs | RepairInputs) -> list[Judged]:
        key = (inputs.task, inputs.experience)
        if self._kept is None or self._kept[0] != key:
            texts = [inputs.task.text, *clauses(inputs.task.text, most=4)]
            pool = await self._pool(inputs.apis, texts, inputs.experience)
            found = await anyio.to_thread.run_sync(
                partial(programs, inputs.task, pool, inputs.experience), abandon_on_cancel=True
            )
            self._kept = (key, found)
        return self._kept[1]

    async def _pool(self, apis: Sequence[ApiDoc], texts: Sequence[str], experience: Sequence[Experience]) -> Pool:
        """What a request holds, and what the knowledge finds for its texts and for the types at hand."""
        pool = Pool(self._knowledge)
        pool.add(apis)
        for text in dict.fromkeys(texts):
            await pool.search(" ".join(Aim.of(text).words) or text, _K)
            for variable in variables(experience)[:2]:
                await pool.search(f"{variable.shape.rpartition('.')[2]} {' '.join(Aim.of(text).words)}", _K)
        await self._makers(pool, texts)
        return pool

    async def _makers(self, pool: Pool, texts: Sequence[str]) -> None:
        """Take in the ways to make an object of the class that each text matches best."""
        for text in texts:
            aim = Aim.of(text)
            made = next((api for api in pool.ranked(aim.words)[:4] if api.kind == "class"), None)
            if made is not None:
                await pool.search(f"{made.name} {' '.join(aim.forms)}", 8)


async def _aside(work: Callable[[], _T]) -> _T:
    """Do pure work in a thread, so that a stop is heard meanwhile."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def next_program(found: Sequence[Variant], attempts: Sequence[Experience], apis: Sequence[ApiDoc], pool: Pool) -> str:
    """A mended form of the last attempt if its error tells how, else the best variant not tried, else nothing."""
    tried = {item.candidate.code for item in attempts}
    changed = {variant.code for variant in found if not variant.plain}
    crashed = [item for item in attempts if _crashed(item) and not _only_changing(item, changed)]
    broken = {v.base for item in crashed for v in found if v.code == item.candidate.code}
    culprits = {line for item in crashed if (line := failing_line(item))}
    last = attempts[-1] if attempts else None
    first_hand = last is not None and any(v.code == last.candidate.code for v in found)
    if last is not None and first_hand and _crashed(last) and last.observation.error:
        for code in repaired(last.candidate.code, last.observation.error, _called(apis, last), pool, sure=True)[:1]:
            if code not in tried:
                return code
    return next(
        (
            v.code
            for v in found
            if v.code not in tried and v.base not in broken and not culprits & set(v.code.splitlines())
        ),
        "",
    )


def _enough(attempts: Sequence[Experience], experience: Sequence[Experience]) -> bool:
    """Whether more programs would only be guesses."""
    blind = bool(experience) and not any(item.observation.ran for item in experience)
    finished = sum(not _crashed(item) for item in attempts)
    return finished >= _MOST_FAILING_THE_CHECK or len(attempts) >= (_MOST_TRIED_BLINDLY if blind else _MOST_TRIED)


def failing_line(item: Experience) -> str:
    """The top-level line of the program that raised, read off the traceback; empty when it cannot be told."""
    trace = item.observation.error.traceback if item.observation.error else ""
    found = re.search(r"(?:Cell In\[\d+\]|File \"<\w+[^\n\"]*>\"), line (\d+)", trace)
    lines = item.candidate.code.splitlines()
    return lines[int(found.group(1)) - 1] if found and int(found.group(1)) <= len(lines) else ""


def _only_changing(item: Experience, changed: set[str]) -> bool:
    """Whether what failed may be the change of the result in the last line, not the program."""
    line = failing_line(item)
    return item.candidate.code in changed and (not line or line == item.candidate.code.splitlines()[-1])


def _crashed(item: Experience) -> bool:
    """Whether the program itself failed, rather than its check."""
    return not item.observation.ran and not item.observation.note.startswith("The program ran")


def _called(apis: Sequence[ApiDoc], item: Experience) -> list[ApiDoc]:
    """The APIs, those that the code names first."""
    return sorted(apis, key=lambda api: f"{api.name}(" not in item.candidate.code)


def _order(apis: Sequence[ApiDoc], text: str) -> list[str]:
    pool = Pool()
    pool.add(apis)
    ranked = [api.path for api in pool.ranked(Aim.of(text).words)]
    return [*ranked, *(api.path for api in apis if api.path not in ranked)]


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"
