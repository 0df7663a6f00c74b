"""The result of one unit of an evaluation: one sample of one strategy on one problem. One line in the results."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

from exploracoder_jupyter.core.types import Outcome


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What one unit produced and cost."""

    unit: str
    """Digest of everything that determines the unit: problem, strategy, model, settings, sample."""
    problem: str
    problem_set: str
    strategy: str
    model: str
    sample: int
    """Number of the sample, from 0."""
    outcome: Outcome = "stopped"
    """Verdict of the run itself, which has not seen the tests."""
    passed: bool = False
    """Whether the solution passed all tests."""
    ran: bool = False
    """Whether the solution ran to its end without an error where the tests were run."""
    tests_passed: int = 0
    tests: int = 0
    failure: str = ""
    """Kind of failure: empty if passed, else `no solution`, the name of an exception, `timeout`, `died`,
    `wrong result`, `tampering` (it manipulates or reads the tests), `budget`, `endpoint` or `fault`."""
    fault: str = ""
    """An error of this program, not of the solution; must not occur. Empty if there was none."""
    missing_apis: tuple[str, ...] = ()
    """Names that the solution accesses on the libraries and that do not exist there."""
    recall: float | None = None
    """Share of the gold APIs that the solution calls; `None` if they are not known."""
    precision: float | None = None
    """Share of the library's APIs called by the solution that are gold APIs; `None` if they are not known."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    executions: int = 0
    seconds: float = 0.0
    """Duration of the run, the tests not included."""
    cost: float | None = None
    """In money, if the price of the model is set."""
    code: str = ""
    """The solution."""
    trace: str = ""
    """Path of the trace notebook, relative to the folder of the results."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of the libraries and of this package."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """The settings that differ from their defaults."""
