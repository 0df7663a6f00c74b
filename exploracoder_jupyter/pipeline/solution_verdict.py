"""Builds the result of a run: the solution, if any, and a verdict on what was and was not checked.

The verdict is `solved` only if the user's check passed, or if the program ran to completion on at least one generated
input and was judged right on each input on which it did.
"""

from __future__ import annotations

from dataclasses import dataclass

from exploracoder_jupyter.core.configuration.endpoint_settings import Sharing
from exploracoder_jupyter.core.types import Experience, Opinion, Outcome, Solution, Verdict
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
    """Whether there is a check."""
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
    passed = "gave what the task states for its example" if checked.stated else "passed its check"
    reasons = (
        f"it ran in a new session and {passed}" if checked.proves else "it ran in a new session; nothing checked it",
    )
    verdict = Verdict("unchecked", _describe_unchecked(checked))
    if checked.proves:
        verdict = Verdict("solved", f"The solution ran and {passed}. {checked.remark}".strip())
    return RunResult(to_solution(attempt), verdict), reasons


def _describe_unchecked(checked: CheckResult) -> str:
    if checked.missing:
        return (
            f"The solution ran, but it does not set `{checked.missing}`, where the task wants its result. Check that "
            "the variables that the task names exist, or rephrase the task."
        )
    return _STALE if checked.stale else _UNCHECKED


def accept_tested_solution(
    tested: TestingResult, checked: CheckResult, sharing: Sharing
) -> tuple[RunResult, tuple[str, ...]]:
    """Return the result with the program that correctness testing ended with, and the reasons for accepting it."""
    result, reasons = accept_solution(tested.program, checked)
    right = _count_right(tested) if sharing == "values" else 0
    finding = _describe_testing(tested, right, sharing)
    check = "its check also passes without it" if checked.has_check else "no check was given"
    passed = "the example of the task came out" if checked.stated else "its check passed"
    sentence = "; ".join([passed, finding] if checked.proves else [finding, check])
    reason = f"{sentence[:1].upper()}{sentence[1:]}. {checked.remark}".strip()
    outcome: Outcome = "solved" if checked.proves or 0 < right == _count_ran(tested) else "unchecked"
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


def _count_ran(tested: TestingResult) -> int:
    return sum(item.observation.ran for item in tested.results)


def _describe_testing(tested: TestingResult, right: int, sharing: Sharing) -> str:
    """Describe the outcome of the testing as part of a sentence."""
    judgement = tested.judgement
    stopped = f" ({tested.stop_reason})" if tested.stop_reason else ""
    if judgement is None:
        return f"its outputs were not judged{stopped or _why_not_judged(tested)}"
    if right:
        return f"judged right on {_number_of_inputs(right)}{_describe_rest(tested, right)}"
    if judgement.ruling == "right":
        return f"judged right, but {_why_right_is_void(tested, sharing)}"
    opinion = next((item for item in judgement.opinions if item.ruling == judgement.ruling), None)
    return f"judged {judgement.ruling}{_describe_input(tested, opinion)}{_describe_reason(judgement.reason)}{stopped}"


def _why_right_is_void(tested: TestingResult, sharing: Sharing) -> str:
    """Explain why a verdict of right is worthless."""
    if sharing != "values":
        return "without seeing any of its values"
    return "no input was judged individually" if _count_ran(tested) else "it ran to completion on no generated input"


def _why_not_judged(tested: TestingResult) -> str:
    if tested.unusable:
        return f", because {_number_of_inputs(tested.unusable)} could not be run"
    return ", because no usable input was generated" if not tested.results else ""


def _number_of_inputs(number: int) -> str:
    return f"{number} generated input{'' if number == 1 else 's'}"


def _describe_rest(tested: TestingResult, right: int) -> str:
    failed = tested.unusable + len(tested.results) - _count_ran(tested)
    left = _count_ran(tested) - right
    parts = [f"{failed} could not be run" if failed else "", f"{left} not judged" if left else ""]
    text = ", ".join(part for part in parts if part)
    return f" ({text})" if text else ""


def _describe_input(tested: TestingResult, opinion: Opinion | None) -> str:
    title = next((test_input.title for test_input in tested.inputs if opinion and test_input.id == opinion.input), "")
    return f" on the generated input “{title}”" if title else ""


def _describe_reason(reason: str) -> str:
    return f": {' '.join(reason.split()).rstrip('.')}" if reason.strip() else ""
