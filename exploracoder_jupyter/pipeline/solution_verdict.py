"""Builds the result of a run: the solution, if any, and a verdict on what was and was not checked.

The verdict is `solved` only if the user's check passed, or if the program ran to completion on at least one generated
input and was judged right on each input on which it did.
"""

from __future__ import annotations

from dataclasses import dataclass

from exploracoder_jupyter.core.configuration.endpoint_settings import Sharing
from exploracoder_jupyter.core.message_formatting import plural
from exploracoder_jupyter.core.types import Experience, Outcome, Solution, Verdict
from exploracoder_jupyter.pipeline.solving.correctness_testing import TestingResult

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
