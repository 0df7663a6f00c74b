"""The solution: proposed, run, checked, repaired, and the verdict on it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final, Self

from exploracoder_jupyter.core.configuration.sections import OFFLINE, Sharing
from exploracoder_jupyter.core.events import CandidateProposed, CandidateSelected
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.types import (
    Candidate,
    Experience,
    Introduction,
    Observation,
    Outcome,
    Selection,
    Solution,
    Step,
    Verdict,
)
from exploracoder_jupyter.pipeline.code_analysis import find_called_apis, join_cells, names_in, unbound_names
from exploracoder_jupyter.pipeline.context import Run, State, merge_apis, raise_if_cancelled
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.pipeline.exploring.selection import missing_result, refuse_invented
from exploracoder_jupyter.pipeline.prompting.documentation import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import CodeInputs, RepairInputs, SolveInputs
from exploracoder_jupyter.pipeline.prompting.requests import Draft, ask_code, describe_cut
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import recommend_globally
from exploracoder_jupyter.pipeline.retrieval.queries import Search, gather_for_task
from exploracoder_jupyter.pipeline.solving.correctness_testing import TestingResult, can_test, refine_solution
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION, passes_without_solution, try_with_example
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode, build_check, stated_check

# Builds the result of a run: the solution, if any, and a verdict on what was and was not checked.
#
# The verdict is `solved` only if the user's check passed, or if the program ran to completion on at least one
# generated input and was judged right on each input on which it did.

_UNCHECKED = "The solution ran, but nothing checked that its result is right; give a check with --check."
_STALE = (
    "The solution ran, but its check also passes without it, because the variables that it reads exist already; "
    "delete the variables that the solution should create, or start with --state fresh."
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The solution, if any, and the verdict on it."""

    solution: Solution | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the user's check shows about a solution that ran."""

    has_check: bool
    stale: bool = False
    """Whether the check passes without any solution too."""
    remark: str = ""
    """A sentence on what the check cannot detect."""
    stated: bool = False
    """Whether the check is the example that the task states, and not one given by the user."""
    missing: str = ""
    """The variable in which the task wants its result, if the solution does not mention it."""

    @property
    def proves(self) -> bool:
        """Whether passing the check shows that the solution is right."""
        return self.has_check and not self.stale


def accept_solution(attempt: Experience, checked: CheckResult) -> tuple[RunResult, tuple[str, ...]]:
    """Return the result with a solution that ran, and the reasons for accepting it."""
    if checked.proves:
        passed = "gave what the task states for its example" if checked.stated else "passed its check"
        verdict = Verdict("solved", f"The solution ran and {passed}. {checked.remark}".strip())
        return RunResult(to_solution(attempt), verdict), (f"it ran in a new session and {passed}",)
    reason = _STALE if checked.stale else _UNCHECKED
    if checked.missing:
        reason = (
            f"The solution ran, but it does not set `{checked.missing}`, where the task wants its result. Check that "
            "the variables that the task names exist, or rephrase the task."
        )
    return RunResult(to_solution(attempt), Verdict("unchecked", reason)), (
        "it ran in a new session; nothing checked it",
    )


def accept_tested_solution(
    tested: TestingResult, checked: CheckResult, sharing: Sharing
) -> tuple[RunResult, tuple[str, ...]]:
    """Return the result with the program that correctness testing ended with, and the reasons for accepting it."""
    result, reasons = accept_solution(tested.program, checked)
    ran = sum(item.observation.ran for item in tested.results)
    right = _count_right(tested) if sharing == "values" else 0
    finding = _describe_testing(tested, right, ran, sharing)
    check = "its check also passes without it" if checked.has_check else "no check was given"
    passed = "the example of the task came out" if checked.stated else "its check passed"
    sentence = "; ".join([passed, finding] if checked.proves else [finding, check])
    reason = f"{sentence[:1].upper()}{sentence[1:]}. {checked.remark}".strip()
    outcome: Outcome = "solved" if checked.proves or 0 < right == ran else "unchecked"
    return RunResult(result.solution, Verdict(outcome, reason)), (*reasons, finding)


def to_solution(attempt: Experience) -> Solution:
    """Return the attempt's program as a solution."""
    return Solution(attempt.candidate.code, attempt.candidate.id, attempt.apis)


def _count_right(tested: TestingResult) -> int:
    """Count the inputs on which the program ran to completion and was judged right in a separate opinion."""
    if tested.judgement is None or tested.judgement.ruling != "right":
        return 0
    right = {opinion.input for opinion in tested.judgement.opinions if opinion.ruling == "right"}
    return sum(item.observation.ran and item.input in right for item in tested.results)


def _describe_testing(tested: TestingResult, right: int, ran: int, sharing: Sharing) -> str:
    """Describe the outcome of the testing as part of a sentence."""
    judgement = tested.judgement
    stopped = f" ({tested.stop_reason})" if tested.stop_reason else ""
    if judgement is None:
        why = f", because {plural(tested.unusable, 'generated input')} could not be run" if tested.unusable else ""
        if not (why or tested.results):
            why = ", because no usable input was generated"
        return f"its outputs were not judged{stopped or why}"
    if right:
        failed = tested.unusable + len(tested.results) - ran
        parts = [f"{failed} could not be run"] * bool(failed) + [f"{ran - right} not judged"] * (ran > right)
        rest = f" ({', '.join(parts)})" if parts else ""
        return f"judged right on {plural(right, 'generated input')}{rest}"
    if judgement.ruling == "right":
        why = "no input was judged individually" if ran else "it ran to completion on no generated input"
        return f"judged right, but {why if sharing == 'values' else 'without seeing any of its values'}"
    about = next((opinion.input for opinion in judgement.opinions if opinion.ruling == judgement.ruling), "")
    title = next((one.title for one in tested.inputs if one.id == about), "")
    where = f" on the generated input “{title}”" if title else ""
    reason = " ".join(judgement.reason.split()).rstrip(".")
    return f"judged {judgement.ruling}{where}{f': {reason}' if reason else ''}{stopped}"


# The programs that a run proposes as its solution, what they did, and the result that follows from them.
#
# Shared by the exploration and the other strategies. A repair that changes nothing is recorded but not run.

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


# The solution: assembled from the explored calls, run in a clean branch, checked, repaired (section 3.4, last
# step).
#
# If enabled, a solution that ran and passed the user's check then undergoes correctness testing.

_SHARE_AFTER_SUCCESS: Final = 0.6
"""Part of the token budget for documentation that the solution gets if every subtask ran: the cells show the calls."""


async def solve(run: Run, state: State) -> RunResult:
    """Try solutions, each repaired from the previous ones, until one passes or the rounds are used up."""
    attempts = await SolutionAttempts.begin(run, state)
    if joined := await _try_joined_cells(attempts):
        return await accept_or_test(attempts, joined)
    paths = dict.fromkeys(path for item in state.experience for path in item.apis)
    explored = tuple(api for api in map(run.knowledge.lookup, paths) if api)  # A_CoAE
    apis = merge_apis(explored, await recommend_globally(run, state))
    passages = deduplicate((*await gather_for_task(run, SOLUTION.id), *state.passages))
    search = Search(run, SOLUTION, apis, passages, apis)
    return await repair_until_accepted(attempts, search)


async def _try_joined_cells(attempts: SolutionAttempts) -> Experience | None:
    """Return the explored cells as one program if it passes a check that can fail; no model is asked for that.

    Where it fails, the model writes the first program as usual: it has seen the cells.
    """
    run, check, code = attempts.run, attempts.check, join_cells(attempts.state.experience)
    if run.asks_always or not (code and check and attempts.checked.proves):
        return None
    given = {*run.task.uses, *names_in(run.task.setup).bound}
    missing = unbound_names(f"{code}\n{check.before}\n{check.code}")
    if missing is None or missing - given:  # the check reads what no cell defines
        return None
    tried, proposed, refuted = [*attempts.tried], attempts.proposed, run.progress.refuted
    candidate = attempts.add(Draft(code))
    if candidate.duplicate_of:
        attempts.repeated, attempts.repetition = 0, None  # it is not the model's
        return None
    attempt = await attempts.execute(candidate)
    if attempt.observation.ran:
        return attempt
    attempts.tried, attempts.proposed, run.progress.refuted = tried, proposed, refuted  # no cell is wrong by itself
    return None


async def repair_until_accepted(attempts: SolutionAttempts, search: Search) -> RunResult:
    """Propose, execute and repair programs with what was found, and return the result."""

    async def propose() -> Candidate | None:
        if attempts.tried:
            await search.search_again(attempts.tried[-1])
        return await propose_solution(attempts, search)

    return await propose_until_accepted(attempts, propose)


async def propose_until_accepted(
    attempts: SolutionAttempts, propose: Callable[[], Awaitable[Candidate | None]]
) -> RunResult:
    """Execute programs until one runs and passes the user's check, none is proposed, or the rounds are used up.

    A program that was tried before counts as a round but is not run; the second one in a row ends the attempts.
    """
    for _ in range(attempts.run.settings.solution_rounds):
        candidate = await propose()
        if candidate is not None and (known := attempts.ran_before(candidate)):
            return await accept_or_test(attempts, known)
        if candidate is None or attempts.exhausted:
            break
        if candidate.duplicate_of:
            continue
        attempt = await attempts.execute(candidate)
        if attempt.observation.ran:
            return await accept_or_test(attempts, attempt)
    return attempts.give_up()


async def propose_solution(attempts: SolutionAttempts, search: Search) -> Candidate | None:
    """Return the next program: a first one from what was found, then repairs; `None` if the model gives none."""
    run, state = attempts.run, attempts.state
    room = run.retrieval.context_tokens
    if not attempts.tried:
        if all(item.observation.ran for item in state.experience):
            room = int(room * _SHARE_AFTER_SUCCESS) if state.experience else room
        first = SolveInputs(run.task, search.apis, state.experience, search.passages, context_tokens=room)
        return await attempts.propose("solve", first)
    tried = tuple(attempts.tried)
    for item in tried:
        search.add_used(item.apis)
    inputs = RepairInputs(run.task, search.apis, state.experience, tried, search.passages, context_tokens=room)
    return await attempts.propose("repair", inputs)


async def accept_or_test(attempts: SolutionAttempts, attempt: Experience) -> RunResult:
    """Return the result with a solution that ran and passed the user's check, or with the outcome of its testing."""
    run = attempts.run
    if not can_test(run):
        return attempts.accept(attempt)
    tested = await refine_solution(run, attempts.state, attempt, attempts.check)
    result, reasons = accept_tested_solution(tested, attempts.check_result(tested.program), run.sharing)
    return attempts.adopt(tested.program.candidate, result, reasons)
