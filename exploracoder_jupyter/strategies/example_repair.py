"""Retrieve, write, run the example that the task states, and repair by what came out: the arm to beat. Ours.

The first prompt is that of `rag`, and asks for a cell that runs the example, if the task describes one. Where the task
states a result that can be compared, the program is done once it comes out; otherwise the model is shown what the
example gave, and confirms or repairs the program. A failure is searched for, and the library's objects at hand are
listed with their members. 1 to 1 + r calls, r = 3. A check by the user takes the place of the example.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from exploracoder_jupyter.core.types import Candidate, Experience, Step, Verdict
from exploracoder_jupyter.pipeline.prompting.model_requests import Draft
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import Inputs, RepairInputs, SolveInputs, StrategyInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.run_outcome import RunResult, to_solution
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.parts.documented_task import announce_libraries, limit_retrieval, search_for_task
from exploracoder_jupyter.strategies.parts.object_inspection import inspection_code
from exploracoder_jupyter.strategies.parts.stated_example import StatedExample, find_example
from exploracoder_jupyter.strategies.rag import REPAIRS, with_repairs

_MARK: Final = re.compile(r"^#\s*-+\s*example\s*-+\s*$", re.IGNORECASE | re.MULTILINE)
"""The line between a program and its example, as the prompts require it."""
_CONFIRMED: Final = "unchanged"
"""What the model replies where the program needs no repair, as the prompt requires it."""

_CAME_OUT = "The solution ran, and the result that the task states for its example came out; nothing else checked it."
_STANDS = "The solution ran, and the model found that its example gave what the task states; nothing else checked it."
_OPEN = "The solution ran, but the repairs were used up before its example was found to give what the task states."
_MISSED = "The solution ran, but its example did not give the result that the task states."


async def example_repair(run: Run) -> RunResult:
    """Write a program, run the task's example, and repair. The strategy `example-repair`."""
    run = with_repairs(limit_retrieval(run, searches=REPAIRS))
    announce_libraries(run)
    attempts = await SolutionAttempts.begin(run)
    return await ExampleRuns(run, attempts, await search_for_task(run), find_example(run.task)).repair_until_settled()


@dataclass(slots=True)
class ExampleRuns:
    """The programs so far, and what the example gave after each."""

    run: Run
    attempts: SolutionAttempts
    search: Search
    stated: StatedExample | None
    """The example whose result can be compared."""
    seen: list[Experience] = field(default_factory=list)
    """Programs and examples in the order in which they ran."""

    @property
    def checked(self) -> bool:
        """Whether the user's check decides instead of an example."""
        return self.attempts.checked.has_check

    @property
    def confirmable(self) -> bool:
        """Whether the model may leave the latest program as it is: it ran, and so did the example."""
        return not self.checked and bool(self.seen) and self.seen[-1].observation.ran

    async def repair_until_settled(self) -> RunResult:
        """Return the first program that needs no repair, or else the latest one that ran."""
        for _ in range(self.run.settings.solution_rounds):
            draft = await self._request()
            if draft is None:
                return self._give_up(confirmed=False)
            if _confirms(draft):
                return self._give_up(confirmed=True)
            code, example = _split(draft.code)
            candidate = self.attempts.add(replace(draft, code=code))
            if candidate.duplicate_of and (self.confirmable or self.attempts.exhausted):
                return self._give_up(confirmed=self.confirmable)
            if not candidate.duplicate_of and await self._settles(candidate, example):
                return self._accept(self.attempts.tried[-1])
        return self._give_up(confirmed=False)

    async def _request(self) -> Draft | None:
        """Return the model's next reply, after a search for the latest failure."""
        if self.seen and not self.seen[-1].observation.ran:
            await self.search.search_again(self.seen[-1])
        step, inputs = self._inputs()
        return await self.attempts.request(step, inputs, self._usable)

    def _usable(self, draft: Draft) -> bool:
        return self.confirmable if _confirms(draft) else not draft.problem

    def _inputs(self) -> tuple[Step, Inputs]:
        run, found, seen = self.run, self.search, tuple(self.seen)
        room = run.retrieval.context_tokens
        if not self.checked:
            template = f"exploracoder_jupyter.strategies:{'example_repair' if seen else 'example_program'}"
            return "strategy", StrategyInputs(
                template, run.task, apis=found.apis, experience=seen, passages=found.passages, context_tokens=room
            )
        if seen:
            return "repair", RepairInputs(run.task, found.apis, (), seen, found.passages, context_tokens=room)
        return "solve", SolveInputs(run.task, found.apis, (), found.passages, context_tokens=room)

    async def _settles(self, candidate: Candidate, example: str) -> bool:
        """Run the program and the example; return whether nothing is left to repair or to confirm."""
        cell = "" if self.checked else self.stated.code if self.stated else example
        tried = await self.attempts.execute_with_example(candidate, cell, inspection_code(self.run))
        self.seen += tried
        program, last = tried[0].observation, tried[-1].observation
        if program.ran:
            self.run.progress.experience = tried[:1]
        if self.stated and not self.checked:
            return len(tried) > 1 and self.stated.came_out(last)
        to_confirm = len(tried) > 1 and self.run.sharing == "values"
        return last.ran and not to_confirm

    def _accept(self, program: Experience) -> RunResult:
        if self.checked or not self.stated:
            return self.attempts.accept(program)
        return self._adopt(program, _CAME_OUT, "its example came out")

    def _give_up(self, *, confirmed: bool) -> RunResult:
        """Return the latest program that ran, which is what the model confirmed if it did."""
        program = next((item for item in reversed(self.attempts.tried) if item.observation.ran), None)
        if program is None:
            return self.attempts.give_up()
        if confirmed:
            return self._adopt(program, _STANDS, "the model left it as it was")
        if self.stated:
            return RunResult(to_solution(program), Verdict("unsolved", _MISSED))
        return self._adopt(program, _OPEN, "the latest that ran")

    def _adopt(self, program: Experience, reason: str, why: str) -> RunResult:
        result = RunResult(to_solution(program), Verdict("unchecked", reason))
        return self.attempts.adopt(program.candidate, result, ("ran in a clean branch", why))


def _confirms(draft: Draft) -> bool:
    return draft.code.strip().strip("`'\".").lower() == _CONFIRMED


def _split(code: str) -> tuple[str, str]:
    """Return the program and the example after it, which may be empty."""
    found = _MARK.search(code)
    program = code[: found.start()].rstrip() if found else ""
    return (program, code[found.end() :].strip("\n")) if found and program else (code, "")
