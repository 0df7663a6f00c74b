"""The summary of an evaluation: figures with intervals of each arm, and how the arms compare.

An arm is a strategy with a model. Its figures are those of the problems that all arms were run on; the problems
that it lacks are counted. A comparison in pairs uses the problems that its two arms share.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue, TypeAdapter

from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate
from exploracoder_jupyter.evaluation.measures.paired_comparison import Comparison
from exploracoder_jupyter.evaluation.measures.problem_sums import ProblemKey
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult


@dataclass(frozen=True, slots=True)
class FailureKind:
    """Runs of an arm that failed in the same way."""

    kind: str
    count: int
    examples: tuple[UnitResult, ...]
    """Some of them, of different problems as far as there are."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A strategy with a model."""

    name: str
    """The strategy, the model or both: what distinguishes it from the other arms."""
    strategy: str
    model: str
    problems: int
    """Number of problems that it was run on."""
    missing: int
    """Number of problems that it was not run on, although another arm was."""
    samples: int
    """Number of its runs on the problems that its figures are of."""
    estimates: dict[str, Estimate]
    """By the keys of `measure_definitions.MEASURES`."""
    pass_at: dict[int, Estimate]
    """pass@k, for every k up to the smallest number of samples of a problem in any arm."""
    success_at: dict[int, Estimate]
    on_front: bool
    """Whether no other arm has at least its pass@1 for at most its tokens, one of them strictly better."""
    failures: tuple[FailureKind, ...]
    """Of all its runs, the most frequent kind first."""
    alone: tuple[UnitResult, ...]
    """A run that passes for each problem that no other arm ever solves."""
    total_tokens: int
    """Of all its runs."""
    total_cost: float | None
    """Of all its runs; `None` if that of any is unknown."""
    settings: tuple[dict[str, JsonValue], ...]
    """The different settings of its runs; more than one means that different things were mixed."""
    packages: dict[str, tuple[str, ...]]
    """The versions of each package in its runs."""


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """How the arms fared on one problem."""

    key: ProblemKey
    counts: tuple[tuple[int, int] | None, ...]
    """Passed and all samples of each arm, in the order of the arms; `None` if it was not run on the problem."""


@dataclass(frozen=True, slots=True)
class ArmPair:
    """An arm compared with the baseline."""

    arm: str
    comparison: Comparison
    adjusted_p_value: float
    """Holm's, for as many comparisons as there are."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that a report shows."""

    arms: tuple[Arm, ...]
    """The highest pass@1 first; of equal ones that with the fewest tokens."""
    problems: tuple[ProblemRow, ...]
    """All problems, in the order of the results."""
    measured: int
    """Number of problems that the figures of the arms are of."""
    baseline: str
    """Name of the arm that the others are compared with; empty if there are fewer than two arms."""
    pairs: tuple[ArmPair, ...]
    """In the order of the arms. An arm that shares no problem with the baseline has none."""
    notices: tuple[str, ...]
    """What restricts the comparison, each one sentence."""


def summary_as_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as an object of its fields.

    A bound that is infinite is `null`; a value that is undefined is `null` with both its bounds.
    """
    return dict(json.loads(TypeAdapter(Summary).dump_json(summary)))
