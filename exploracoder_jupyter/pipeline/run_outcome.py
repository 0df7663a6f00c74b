"""How a run ends, in words: a solution, if there is one, and what was checked of it and what was not.

`solved` is said only when the user's check passed, or when the program ran to its end on a generated input and each of
those on which it did was itself judged right.
"""

from __future__ import annotations

from dataclasses import dataclass

from exploracoder_jupyter.core.types import Experience, Opinion, Outcome, Sharing, Solution, Verdict
from exploracoder_jupyter.pipeline.solving.correctness_testing import Refined

_UNCHECKED = "The solution ran, but nothing checked that its result is right; give a check with --check."
_STALE = (
    "The solution ran, but its check passes without it as well, on variables that you have already; delete those that "
    "it is to make, or start fresh with --state fresh."
)


@dataclass(frozen=True, slots=True)
class Ending:
    """A solution, if there is one, and the verdict on it."""

    solution: Solution | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """What the user's check says of a solution that ran."""

    given: bool
    """Whether there is a check."""
    stale: bool = False
    """Whether it passes without any solution too."""
    remark: str = ""
    """A sentence on what it does not see."""

    @property
    def proves(self) -> bool:
        """Whether that it passed says that the solution is right."""
        return self.given and not self.stale


def accepted(attempt: Experience, checked: Checked) -> tuple[Ending, tuple[str, ...]]:
    """The ending with a solution that ran, and the reasons for it."""
    reasons = ("ran in a clean branch", "its check passed" if checked.proves else "not checked")
    verdict = Verdict("unchecked", _STALE if checked.stale else _UNCHECKED)
    if checked.proves:
        verdict = Verdict("solved", f"The solution ran and its check passed. {checked.remark}".strip())
    return Ending(solution_of(attempt), verdict), reasons


def refined_ending(refined: Refined, checked: Checked, sharing: Sharing) -> tuple[Ending, tuple[str, ...]]:
    """The ending with what correctness testing has kept, and the reasons for it."""
    ending, reasons = accepted(refined.kept, checked)
    right = _right(refined) if sharing == "values" else 0
    finding = _finding(refined, right, sharing)
    check = "its check passes without it as well" if checked.given else "no check was given"
    said = ["its check passed", finding] if checked.proves else [finding, check]
    sentence = "; ".join(said)
    reason = f"{sentence[:1].upper()}{sentence[1:]}. {checked.remark}".strip()
    outcome: Outcome = "solved" if checked.proves or 0 < right == _ran(refined) else "unchecked"
    return Ending(ending.solution, Verdict(outcome, reason)), (*reasons, finding)


def solution_of(attempt: Experience) -> Solution:
    """The attempt's program as a solution."""
    return Solution(attempt.candidate.code, attempt.candidate.id, attempt.apis)


def _right(refined: Refined) -> int:
    """On how many inputs the kept program ran to its end and was judged right; each by an opinion of its own."""
    if refined.judgement is None or refined.judgement.ruling != "right":
        return 0
    right = {opinion.input for opinion in refined.judgement.opinions if opinion.ruling == "right"}
    return sum(item.observation.ran and item.input in right for item in refined.results)


def _ran(refined: Refined) -> int:
    return sum(item.observation.ran for item in refined.results)


def _finding(refined: Refined, right: int, sharing: Sharing) -> str:
    """What the testing came to, as a part of a sentence."""
    judgement = refined.judgement
    ended = f" ({refined.ended})" if refined.ended else ""
    if judgement is None:
        return f"its outputs were not judged{ended or _why_not(refined)}"
    if right:
        return f"judged right on {_inputs(right)}{_rest(refined, right)}"
    if judgement.ruling == "right":
        return f"judged right, but {_not_right(refined, sharing)}"
    opinion = next((item for item in judgement.opinions if item.ruling == judgement.ruling), None)
    return f"judged {judgement.ruling}{_where(refined, opinion)}{_because(judgement.reason)}{ended}"


def _not_right(refined: Refined, sharing: Sharing) -> str:
    """Why a verdict of right says nothing."""
    if sharing != "values":
        return "by no value that it gave"
    return "nothing was said of the inputs" if _ran(refined) else "on no generated input it ran to its end"


def _why_not(refined: Refined) -> str:
    if refined.unusable:
        return f", for {_inputs(refined.unusable)} could not be run"
    return ", for no usable input was generated" if not refined.results else ""


def _inputs(number: int) -> str:
    return f"{number} generated input{'' if number == 1 else 's'}"


def _rest(refined: Refined, right: int) -> str:
    failed = refined.unusable + len(refined.results) - _ran(refined)
    left = _ran(refined) - right
    parts = [f"{failed} could not be run" if failed else "", f"{left} not judged" if left else ""]
    told = ", ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def _where(refined: Refined, opinion: Opinion | None) -> str:
    title = next((given.title for given in refined.inputs if opinion and given.id == opinion.input), "")
    return f" on the generated input “{title}”" if title else ""


def _because(reason: str) -> str:
    return f": {' '.join(reason.split()).rstrip('.')}" if reason.strip() else ""
