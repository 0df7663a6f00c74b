"""Retrieve, write, run the example that the task states, and repair by what came out: the arm to beat. Ours.

Where the task states a result that can be compared, the example is a check. Otherwise the first prompt, that of `rag`,
also asks for a cell that runs the example, if the task describes one; the model is shown what that gave and nothing
else (`program_execution`), and confirms or repairs the program. Without an example the cell is a demonstration: it
executes what the program only defines, so that wrong calls fail, and its output is compared with the task only where
every program is judged. A failure is searched for, and the library's objects at hand are listed with their members. 1
to 1 + r calls, r = 3. A check by the user takes the place of the example.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Final, Literal, Self

from exploracoder_jupyter.core.types import Candidate, Experience, Step, Verdict
from exploracoder_jupyter.pipeline.context import Run
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import CodeInputs, RepairInputs, SolveInputs, StrategyInputs
from exploracoder_jupyter.pipeline.prompting.requests import Draft
from exploracoder_jupyter.pipeline.retrieval.lookups import small_library
from exploracoder_jupyter.pipeline.retrieval.queries import Search
from exploracoder_jupyter.pipeline.solving.correctness_testing import can_test
from exploracoder_jupyter.pipeline.solving.program_execution import (
    find_doubt,
    gather_evidence,
    run_quoted_code,
    shows_something,
)
from exploracoder_jupyter.pipeline.solving.solution import (
    UNCHANGED,
    RunResult,
    SolutionAttempts,
    accept_or_test,
    to_solution,
)
from exploracoder_jupyter.strategies import documentation
from exploracoder_jupyter.strategies.documentation import limit_retrieval, search_for_task
from exploracoder_jupyter.strategies.retrieval import REPAIRS, with_repairs

_MARK: Final = re.compile(r"^#\s*-+\s*(example|demonstration)\s*-+\s*$", re.IGNORECASE | re.MULTILINE)
"""The line between a program and the cell after it, as the prompts require it."""

_TEMPLATES: Final = "exploracoder_jupyter.strategies"
_OBJECTS: Final = "_explora_objects"
_STANDS = "The solution ran, and the model found that its example gave what the task states; nothing else checked it."
_NOTHING_LEFT = (
    "The solution ran, and the model found by its output that it does the task; nothing else checked it. Give a check "
    "with --check, or explore it step by step with --effort explore."
)
_NOTHING_SHOWN = (
    "The solution ran and showed nothing; the model found nothing left to do. Give a check with --check, or explore it "
    "step by step with --effort explore."
)
_OPEN = "The solution ran, but the repairs were used up before its example was found to give what the task states."


Settled = Literal["checked", "confirmed", "ran"]
"""Why a program needs no repair: it passed its check, the model found what its example gave right, or it ran."""


async def example_repair(run: Run) -> RunResult:
    """Write a program, run the task's example, and repair. The strategy `example-repair`."""
    announce_libraries(run)
    runs = await ExampleRuns.begin(run)
    return await runs.finish(run, await runs.settle())


@dataclass(slots=True)
class ExampleRuns:
    """The programs so far, and what the example gave after each."""

    run: Run
    attempts: SolutionAttempts
    search: Search
    judged: bool = False
    """Whether the model judges every program that ran and that no check proves, not only stated examples."""
    frugal: bool = False
    """Whether prompts document only what is used (`documentation`)."""
    drafting: bool = False
    """Whether no documentation has been shown or wanted yet."""
    seen: list[Experience] = field(default_factory=list)
    """Programs and examples in the order in which they ran."""
    states_result: bool = False
    """Whether the task states what the latest example gives."""
    doubts: set[str] = field(default_factory=set)
    """What the model was told that speaks against a program which it left unchanged."""

    @classmethod
    async def begin(cls, run: Run, *, judged: bool = False, frugal: bool = False) -> Self:
        """Search the documentation for the task; `REPAIRS` limits searches and repairs, whatever the settings are."""
        run = with_repairs(limit_retrieval(run, searches=REPAIRS, as_published=False))
        attempts = await SolutionAttempts.begin(run)
        search = await (documentation.begin_search if frugal else search_for_task)(run)
        seen = [*await run_quoted_code(run)]
        drafting = frugal and not (seen or small_library(run.knowledge.apis))
        return cls(run, attempts, search, judged, frugal, drafting, seen)

    @property
    def checked(self) -> bool:
        """Whether a check decides instead of an example that the model runs."""
        return self.attempts.checked.has_check

    @property
    def confirmable(self) -> bool:
        """Whether the model may leave the latest program as it is: it ran, and so did the example."""
        decided = self.attempts.checked.proves if self.judged else self.checked
        return not decided and bool(self.seen) and self.seen[-1].observation.ran and self.run.sharing == "values"

    async def settle(self) -> Settled | None:
        """Propose, run and repair until a program needs no repair; return why, or `None` if the repairs are used up.

        Where every program is judged, so is the last one that the repairs allow.
        """
        for _ in range(self.run.settings.solution_rounds):
            draft = await self._request()
            if draft is None:
                return None
            if draft.is_word(UNCHANGED):
                return "confirmed"
            code, cell, self.states_result = _split(draft.code)
            changed = bool(self.seen) and cell.strip() not in ("", self.seen[-1].candidate.code.strip())
            candidate = self.attempts.add(replace(draft, code=code), repeatable=changed)
            if candidate.duplicate_of and (self.confirmable or self.attempts.exhausted):
                return "confirmed" if self.confirmable else None
            if not candidate.duplicate_of and await self._settles(candidate, cell):
                return "checked" if self.attempts.checked.proves else "ran"
        if self.judged and self.confirmable and (draft := await self._request()) and draft.is_word(UNCHANGED):
            return "confirmed"
        return None

    async def finish(self, run: Run, settled: Settled | None) -> RunResult:
        """Return the result, tested on generated inputs first if the settings of this run say so."""
        program = self.attempts.latest_that_ran
        if settled and program and can_test(run):
            self.attempts.run = run
            return await accept_or_test(self.attempts, program)
        if program is None:
            return self.attempts.give_up()
        if settled and settled != "confirmed":
            return self.attempts.accept(program)
        result = RunResult(to_solution(program), Verdict("unchecked", self._finding() if settled else _OPEN))
        why = "the model left it as it was" if settled else "the latest that ran"
        return self.attempts.adopt(program.candidate, result, ("ran in a clean branch", why))

    def _finding(self) -> str:
        """Return what the model found of the program that it left unchanged, as sentences."""
        if self.states_result:
            return _STANDS
        shown = shows_something(self.run.task, *(item.observation for item in self._evidence()))
        return _NOTHING_LEFT if shown else _NOTHING_SHOWN

    def _evidence(self) -> tuple[Experience, ...]:
        return gather_evidence(self.run.task, self.seen)

    async def _request(self) -> Draft | None:
        """Return the model's next reply, after a search for the latest failure."""
        if self.confirmable:
            return await self._ask_what_is_left()
        if self.seen:
            await self.search.search_again(self.seen[-1])
            if self.frugal and not self.seen[-1].observation.ran:
                await documentation.document_failure(self.search, self.seen[-1])
        draft = await self.attempts.request(*self._inputs(), self._is_usable)
        if draft and self.drafting:
            self.drafting = False
            if names := documentation.wanted_names(draft.code):
                await documentation.look_up(self.search, names)
                draft = await self.attempts.request(*self._inputs(), self._is_usable)
        return draft

    def _is_usable(self, draft: Draft) -> bool:
        wants = self.drafting and bool(documentation.wanted_names(draft.code))
        return wants or not (draft.problem or draft.is_word(UNCHANGED))

    async def _ask_what_is_left(self) -> Draft | None:
        """Return the word that nothing is, or a corrected program; each doubt of that word is raised once."""
        task, evidence, notes = self.run.task, self._evidence(), tuple[str, ...]()
        while True:
            inputs = StrategyInputs(f"{_TEMPLATES}:left_to_do", task, experience=evidence, notes=notes)
            draft = await self.attempts.request(
                "strategy", inputs, lambda draft: draft.is_word(UNCHANGED) or not draft.problem
            )
            same = draft is not None and fingerprint(draft.code) == fingerprint(evidence[0].candidate.code)
            doubt = find_doubt(task, evidence) if same or (draft and draft.is_word(UNCHANGED)) else ""
            if not doubt or doubt in self.doubts:
                return draft
            notes = (doubt,)
            self.doubts.add(doubt)

    def _inputs(self) -> tuple[Step, CodeInputs]:
        run, found, seen = self.run, self.search, tuple(self.seen)
        room = run.retrieval.context_tokens
        if self.frugal:
            room = min(room, documentation.context_tokens(run.knowledge.apis))
        if self.drafting:
            return "strategy", StrategyInputs(
                f"{_TEMPLATES}:draft",
                run.task,
                apis=found.apis,
                passages=found.passages,
                notes=tuple(one.titled for one in run.knowledge.libraries),
                checked=self.checked,
                context_tokens=room,
            )
        if not self.checked:
            template = f"{_TEMPLATES}:{'example_repair' if seen else 'example_program'}"
            return "strategy", StrategyInputs(
                template, run.task, apis=found.apis, experience=seen, passages=found.passages, context_tokens=room
            )
        if seen:
            return "repair", RepairInputs(run.task, found.apis, (), seen, found.passages, context_tokens=room)
        return "solve", SolveInputs(run.task, found.apis, (), found.passages, context_tokens=room)

    async def _settles(self, candidate: Candidate, cell: str) -> bool:
        """Run the program and the cell after it; return whether nothing is left to repair or to confirm."""
        code = "" if self.checked else cell
        tried = await self.attempts.execute_with_example(candidate, code, _inspection_code(self.run))
        self.seen += tried
        if tried[0].observation.ran:
            self.run.progress.experience = tried[:1]
        to_confirm = self.confirmable and (self.judged or (len(tried) > 1 and self.states_result))
        return tried[-1].observation.ran and not to_confirm


def _split(code: str) -> tuple[str, str, bool]:
    """Return the program, the cell after it, which may be empty, and whether the task states what comes out of that."""
    found = _MARK.search(code)
    program = code[: found.start()].rstrip() if found else ""
    if not (found and program):
        return code, "", False
    return program, code[found.end() :].strip("\n"), found[1].lower() == "example"


def _inspection_code(run: Run) -> str:
    """Return code that prints, where a program failed, the library's objects with their members, but no values."""
    packages = sorted({info.name.partition(".")[0] for info in run.knowledge.libraries})
    folder = resources.files("exploracoder_jupyter.kernel_agent").joinpath("reporting")
    source = folder.joinpath("failing_objects.py").read_text(encoding="utf-8")
    lines = (
        f"{_OBJECTS} = {{}}",
        f"exec({source!r}, {_OBJECTS})",
        f"print({_OBJECTS}['describe_failing_objects']({packages!r}, globals()))",
    )
    return "\n".join(lines)
