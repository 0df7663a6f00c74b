"""The programs that a run proposes as its solution, what they did, and the result that follows from them.

Shared by the exploration and the other strategies. A repair that changes nothing is recorded but not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Self

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.events import CandidateProposed, CandidateSelected
from exploracoder_jupyter.core.types import (
    Candidate,
    Experience,
    Introduction,
    Observation,
    Selection,
    Solution,
    Step,
    Verdict,
)
from exploracoder_jupyter.pipeline.exploring.called_apis import find_called_apis
from exploracoder_jupyter.pipeline.exploring.candidate_runs import fingerprint
from exploracoder_jupyter.pipeline.exploring.result_objection import missing_result, refuse_invented
from exploracoder_jupyter.pipeline.prompting.model_requests import Draft, ask_code
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import CodeInputs
from exploracoder_jupyter.pipeline.prompting.truncated_replies import describe_cut
from exploracoder_jupyter.pipeline.solution_verdict import CheckResult, RunResult, accept_solution, to_solution
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION, passes_without_solution, try_with_example
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode, build_check, stated_check
from exploracoder_jupyter.pipeline.step_context import Run, State, raise_if_cancelled

UNCHANGED: Final = "unchanged"
"""What the model replies where the latest program needs no repair, as the prompts require it."""
_MOST_REPEATED: Final = 2
_REPEATS: Final = "it is a program that was tried before."
_NOTHING = {
    True: "The offline model found no documented calls that do all that the task names.",
    False: "The model gave no program that could be run.",
}
_GIVEN = "The last one made it up: rephrase the task, or delete the variable if the task is to make it."
_NEXT = {
    True: "Choose a language model with --model, or state in the task which calls to make.",
    False: "Rephrase the task, or give an example of the result.",
}


@dataclass(slots=True)
class SolutionAttempts:
    """The attempts at a solution of one run."""

    run: Run
    state: State
    check: CheckCode | None
    """What runs after each program."""
    checked: CheckResult
    """What passing that shows."""
    tried: list[Experience] = field(default_factory=list)
    proposed: int = 0
    repeated: int = 0
    """How many of the latest proposals were the same as earlier ones."""
    repetition: Draft | None = None
    """The latest proposal if it was: the next request says so, because nothing else in it has changed."""

    @classmethod
    async def begin(cls, run: Run, state: State | None = None) -> Self:
        """Start with the user's check, or with the example that the task states, after the earlier `state`, if any.

        The check is run once without a solution if that may pass. The programs that were tried before exploring count
        as tried. Published methods know no stated example.
        """
        has_check = bool(run.task.check and run.task.check.strip())
        stated = None if has_check or run.as_published else stated_check(run.task)
        if stated and await passes_without_solution(run, stated):
            stated = None  # it holds whatever the solution does
        check = stated or build_check(run.task)
        stale = check is not None and has_check and bool(run.task.uses) and await passes_without_solution(run, check)
        checked = CheckResult(has_check or stated is not None, stale, stated=stated is not None)
        tried = list(run.progress.attempts)
        return cls(run, state or State(Introduction(""), run.root), check, checked, tried, len(tried))

    @classmethod
    def without_check(cls, run: Run) -> Self:
        """Start for programs that are not executed."""
        return cls(run, State(Introduction(""), run.root), None, CheckResult(False))

    @property
    def exhausted(self) -> bool:
        """Whether the model keeps proposing the same program."""
        return self.repeated >= _MOST_REPEATED

    @property
    def latest_that_ran(self) -> Experience | None:
        """The latest program that ran to completion and passed the check, if there is one."""
        return next((item for item in reversed(self.tried) if item.observation.ran), None)

    async def propose(self, step: Step, inputs: CodeInputs) -> Candidate | None:
        """Return the model's next program, `duplicate_of` an earlier one or new; `None` if two replies contain none."""
        draft = await self.request(step, inputs, lambda draft: not draft.problem or self._leaves_unchanged(draft))
        if draft and self._leaves_unchanged(draft):
            draft = Draft(self.tried[-1].candidate.code)
        return self.add(draft) if draft else None

    async def request(
        self, step: Step, inputs: CodeInputs, usable: Callable[[Draft], bool] = lambda draft: not draft.problem
    ) -> Draft | None:
        """Return the model's reply; `None` if two replies are not usable."""
        self.run.root.expect(1)
        subject = self.tried[-1].candidate.id if self.tried else SOLUTION.id
        draft = None if self.run.as_published else self.repetition
        for _ in range(2):
            drafts = [item async for item in ask_code(self.run, step, inputs, subject=subject, unusable=draft)]
            draft = drafts[0] if drafts else None
            if draft and usable(draft):
                return draft
        return None

    def _leaves_unchanged(self, draft: Draft) -> bool:
        return draft.is_word(UNCHANGED) and bool(self.tried) and self.tried[-1].observation.ran

    def add(self, draft: Draft, *, repeatable: bool = False) -> Candidate:
        """Return a draft as the next candidate, recorded as proposed.

        One that is `repeatable` counts as new even if it was tried, because another example follows it.
        """
        known = "" if repeatable else fingerprint(draft.code)
        same = (item.candidate.id for item in self.tried if fingerprint(item.candidate.code) == known)
        id_ = f"s{self.run.agenda.next_number(SOLUTION.id)}"
        repairs = self.tried[-1].candidate.id if self.tried else None
        candidate = Candidate(id_, SOLUTION.id, draft.code, self.proposed, repairs, duplicate_of=next(same, None))
        self.run.emit(CandidateProposed(candidate))
        self.proposed += 1
        self.repeated = self.repeated + 1 if candidate.duplicate_of else 0
        self.repetition = Draft(draft.code, _REPEATS) if candidate.duplicate_of else None
        return candidate

    def ran_before(self, candidate: Candidate) -> Experience | None:
        """Return the earlier run of a candidate that repeats a program which ran."""
        known = (item for item in self.tried if item.candidate.id == candidate.duplicate_of)
        return next((item for item in known if item.observation.ran), None)

    async def execute(self, candidate: Candidate) -> Experience:
        """Run a program in a clean branch, followed by the check."""
        return (await self.execute_with_example(candidate))[0]

    async def execute_with_example(
        self, candidate: Candidate, example: str = "", inspection: str = ""
    ) -> tuple[Experience, ...]:
        """Run a program, followed by the check and, if it ran, by the code of an example (see `try_with_example`)."""
        cell = replace(candidate, id=f"{candidate.id}e", code=example, parent=candidate.id, repairs=None)
        tried = await try_with_example(
            self.run, self.state, candidate, self.check, cell if example.strip() else None, inspection
        )
        self.tried.append(tried[0])
        if tried[0].observation.unmet == "check":
            self.run.progress.refuted += tried[:1]
        await raise_if_cancelled()
        return tried

    def accept(self, attempt: Experience) -> RunResult:
        """Return the result with a program that ran and passed the check, recorded as selected."""
        return self.adopt(attempt.candidate, *accept_solution(attempt, self.check_result(attempt)))

    def accept_unexecuted(self, candidate: Candidate | None) -> RunResult:
        """Return a program that was not executed as the solution; without one, the result of giving up."""
        if candidate is None:
            return self.give_up()
        refused = refuse_invented(self.run.task, candidate.code, Observation("ok"))
        if refused.error:
            return RunResult(None, Verdict("unsolved", f"{refused.error.message.partition(': ')[0]}. {_GIVEN}"))
        solution = Solution(candidate.code, candidate.id, find_called_apis(candidate.code, self.run.knowledge))
        name = self.run.settings.strategy
        reason = f"The strategy {name!r} does not run the program that it writes, so nothing has checked it."
        return self.adopt(candidate, RunResult(solution, Verdict("unchecked", reason)), ("not run",))

    def adopt(self, candidate: Candidate, result: RunResult, reasons: tuple[str, ...]) -> RunResult:
        """Record the candidate of a result as selected."""
        self.run.emit(CandidateSelected(Selection(SOLUTION.id, candidate.id, reasons)))
        return result

    def check_result(self, attempt: Experience) -> CheckResult:
        """Return what the check shows, with the part of the run's note that goes beyond "the check passed"."""
        check, checked = self.check, self.checked
        remark = attempt.observation.note.removeprefix(check.passed).strip() if check and checked.has_check else ""
        words = {*re.findall(r"[^\W\d]\w*", attempt.candidate.code)}
        return replace(checked, remark=remark, missing=missing_result(self.run.task.text, words))

    def give_up(self) -> RunResult:
        """Return the result without a verified solution; a program that ran to completion is kept."""
        if ran := self.latest_that_ran:
            return self.accept(ran)
        offline = self.run.model.name == OFFLINE
        # Among equals: the offline model gives its best first, a language model's last one responds to the failures.
        best = max(self.tried if offline else self.tried[::-1], key=_progress, default=None)
        cut, remedy = describe_cut(self.run.progress.cut)
        following = f"{cut} {remedy}" if cut else _NEXT[offline]
        if best is None:
            return RunResult(None, Verdict("unsolved", f"{_NOTHING[offline]} {following}"))
        seen, finished = best.observation, sum(bool(item.observation.unmet) for item in self.tried)
        missed, tried = "ran to completion", f"{len(self.tried)} tried"
        if finished:
            missed = "passed the check" if self.checked.has_check else "defines the function"
            tried = f"{tried}, {finished} ran to completion"
        if seen.unmet == "input":
            return RunResult(None, Verdict("unsolved", f"No program used your data ({tried}). {_GIVEN}"))
        what = (seen.error.headline if seen.error else seen.note or seen.status).rstrip(".")
        reason = f"No solution {missed} ({tried}); the best one ended with {what}."
        kept = to_solution(best) if seen.unmet else None
        return RunResult(kept, Verdict("unsolved", f"{reason} {following}"))


def _progress(attempt: Experience) -> int:
    """Rank how far a failed program got: a crash, completion, completion with the names that the check reads."""
    seen = attempt.observation
    if not seen.unmet:
        return 0
    return 1 if seen.error and seen.error.name == "NameError" else 2
