"""Computes the summary of an evaluation from its results. Pure, and the same results give the same summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate, bootstrap
from exploracoder_jupyter.evaluation.measures.paired_comparison import compare, holm
from exploracoder_jupyter.evaluation.measures.problem_sums import ProblemKey, ProblemSums, problem_key, problem_sums
from exploracoder_jupyter.evaluation.measures.ratio_measures import MEASURES, Ratio, ratio_at_k
from exploracoder_jupyter.evaluation.measures.summary import Arm, ArmPair, FailureKind, ProblemRow, Summary
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult

_ArmKey: TypeAlias = tuple[str, str]
"""Strategy and model."""

_CURVE: Final = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The numbers of samples for which pass@k is given, as far as there are samples; the largest possible is added."""
_MAX_EXAMPLES: Final = 4


def summarize(results: Iterable[UnitResult], *, baseline: str | None = None, seed: int = 0) -> Summary:
    """Summarize the results of an evaluation.

    Args:
        results: in any order. Of several results of the same unit the last one counts.
        baseline: name of the arm, or its strategy if only one arm has it, with which the others are compared. By
            default the arm with the fewest tokens.
        seed: of the intervals.

    Raises:
        UsageError: no arm, or more than one, is named `baseline`.
    """
    runs = _Runs.of({row.unit: row for row in results}.values())
    measured = sorted(_measure(runs, seed), key=_rank)
    names = _names([one.key for one in measured])
    chosen = _baseline(measured, names, baseline)
    arms = tuple(_arm(one, names[one.key], measured, runs) for one in measured)
    return Summary(
        arms=arms,
        problems=tuple(_problem_rows(measured, runs)),
        measured=len(runs.shared),
        baseline=names[chosen] if chosen else "",
        pairs=tuple(_pairs([one.key for one in measured], chosen, names, runs, seed)) if chosen else (),
        notices=tuple(_notices(arms, runs)),
    )


@dataclass(frozen=True, slots=True)
class _Runs:
    """All results by arm."""

    arms: Mapping[_ArmKey, list[UnitResult]]
    sums: Mapping[_ArmKey, ProblemSums]
    """Over all problems; an arm has no samples of those that it was not run on."""
    problems: tuple[ProblemKey, ...]
    """All of them, in the order of the results."""
    shared: NDArray[np.intp]
    """Places of the problems that all arms were run on."""

    @classmethod
    def of(cls, rows: Iterable[UnitResult]) -> _Runs:
        arms: dict[_ArmKey, list[UnitResult]] = {}
        places: dict[ProblemKey, int] = {}
        for row in rows:
            arms.setdefault((row.strategy, row.model), []).append(row)
            places.setdefault(problem_key(row), len(places))
        sums = {key: problem_sums(rows, places) for key, rows in arms.items()}
        fewest = np.min([of_arm.samples for of_arm in sums.values()], axis=0) if sums else np.empty(0)
        return cls(arms, sums, tuple(places), np.flatnonzero(fewest))

    def run_on(self, *arms: _ArmKey) -> NDArray[np.intp]:
        """Return the places of the problems that all of these arms were run on."""
        return np.flatnonzero(np.min([self.sums[arm].samples for arm in arms], axis=0))

    def measured(self, arm: _ArmKey) -> NDArray[np.intp]:
        """Return the places of the problems that the figures of the arm are of: its own if the arms share none."""
        return self.shared if len(self.shared) else self.run_on(arm)

    def missing(self, arm: _ArmKey) -> int:
        """Return the number of problems that the arm was not run on."""
        return len(self.problems) - len(self.run_on(arm))

    def largest_k(self) -> int:
        """Return the smallest number of samples that an arm has of a problem it is measured on."""
        return min((int(sums.samples[self.measured(arm)].min()) for arm, sums in self.sums.items()), default=0)


@dataclass(frozen=True, slots=True)
class _Measured:
    """The figures of an arm."""

    key: _ArmKey
    sums: ProblemSums
    estimates: dict[str, Estimate]
    pass_at: dict[int, Estimate]
    success_at: dict[int, Estimate]

    def figure(self, key: str) -> float:
        """Return the value of a measure that every arm has."""
        value = self.estimates[key].value
        assert value is not None
        return value


def _measure(runs: _Runs, seed: int) -> list[_Measured]:
    most = runs.largest_k()
    curve = [k for k in _CURVE if k < most] + [most]
    sums = {arm: runs.sums[arm].at(runs.measured(arm)) for arm in runs.arms}
    ratios = [ratio for of_arm in sums.values() for ratio in _ratios(of_arm, curve)]
    estimates = iter(bootstrap(ratios, seed=seed))
    return [
        _Measured(
            arm,
            of_arm,
            {measure.key: next(estimates) for measure in MEASURES},
            {k: next(estimates) for k in curve},
            {k: next(estimates) for k in curve},
        )
        for arm, of_arm in sums.items()
    ]


def _ratios(sums: ProblemSums, curve: Sequence[int]) -> list[Ratio]:
    measures = [measure.ratio(sums) for measure in MEASURES]
    return measures + [ratio_at_k(sums, successes, k) for successes in (sums.passed, sums.ran) for k in curve]


def _rank(measured: _Measured) -> tuple[float, float, _ArmKey]:
    return -measured.figure("pass@1"), measured.figure("tokens"), measured.key


def _names(arms: Sequence[_ArmKey]) -> dict[_ArmKey, str]:
    strategies, models = ({arm[at] for arm in arms} for at in (0, 1))
    if len(models) <= 1:
        return {arm: arm[0] for arm in arms}
    return {arm: arm[1] if len(strategies) == 1 else f"{arm[0]}, {arm[1]}" for arm in arms}


def _baseline(arms: Sequence[_Measured], names: Mapping[_ArmKey, str], wanted: str | None) -> _ArmKey | None:
    if wanted is None:
        return min(arms, key=lambda arm: (arm.figure("tokens"), _rank(arm))).key if len(arms) > 1 else None
    found = [arm.key for arm in arms if names[arm.key] == wanted] or [arm.key for arm in arms if arm.key[0] == wanted]
    if len(found) != 1:
        raise UsageError(
            f"{len(found) or 'No'} arms are named {wanted!r}.", remedy=f"Name one of: {'; '.join(names.values())}."
        )
    return found[0]


def _arm(measured: _Measured, name: str, arms: Sequence[_Measured], runs: _Runs) -> Arm:
    key, rows = measured.key, runs.arms[measured.key]
    shared = {runs.problems[place] for place in runs.measured(key)}
    counted = [row for row in rows if problem_key(row) in shared]
    return Arm(
        name=name,
        strategy=key[0],
        model=key[1],
        problems=len(runs.problems) - runs.missing(key),
        missing=runs.missing(key),
        samples=len(counted),
        estimates=measured.estimates,
        pass_at=measured.pass_at,
        success_at=measured.success_at,
        on_front=not any(_dominates(other, measured) for other in arms),
        failures=tuple(_failures(rows)),
        alone=tuple(_alone(measured, arms, counted, runs)),
        total_tokens=sum(row.prompt_tokens + row.completion_tokens for row in rows),
        total_cost=_total_cost(rows),
        settings=tuple(_different(rows)),
        packages=_versions(rows),
    )


def _dominates(other: _Measured, arm: _Measured) -> bool:
    passes, fewer = (other.figure("pass@1"), arm.figure("pass@1")), (other.figure("tokens"), arm.figure("tokens"))
    return passes[0] >= passes[1] and fewer[0] <= fewer[1] and (passes[0] > passes[1] or fewer[0] < fewer[1])


def _failures(rows: Sequence[UnitResult]) -> Iterator[FailureKind]:
    failed = [row for row in rows if not row.passed]
    for kind, count in Counter(row.failure for row in failed).most_common():
        of_kind = [row for row in failed if row.failure == kind]
        first = {problem_key(row): row for row in reversed(of_kind)}
        yield FailureKind(kind, count, tuple(list(reversed(first.values()))[:_MAX_EXAMPLES]))


def _alone(
    measured: _Measured, arms: Sequence[_Measured], rows: Sequence[UnitResult], runs: _Runs
) -> Iterator[UnitResult]:
    if not len(runs.shared) or len(arms) < 2:
        return
    others = sum(np.minimum(arm.sums.passed, 1) for arm in arms if arm is not measured)
    alone = (measured.sums.passed > 0) & (others == 0)
    passing = {problem_key(row): row for row in reversed(rows) if row.passed}
    yield from (passing[runs.problems[place]] for place in runs.shared[alone])


def _total_cost(rows: Sequence[UnitResult]) -> float | None:
    costs = [row.cost for row in rows if row.cost is not None]
    return sum(costs) if len(costs) == len(rows) else None


def _different(rows: Iterable[UnitResult]) -> list[dict[str, JsonValue]]:
    found: list[dict[str, JsonValue]] = []
    for row in rows:
        if row.settings not in found:
            found.append(row.settings)
    return found


def _versions(rows: Iterable[UnitResult]) -> dict[str, tuple[str, ...]]:
    versions: dict[str, dict[str, None]] = {}
    for row in rows:
        for package, version in row.packages.items():
            versions.setdefault(package, {}).setdefault(version)
    return {package: tuple(versions[package]) for package in sorted(versions)}


def _problem_rows(arms: Sequence[_Measured], runs: _Runs) -> Iterator[ProblemRow]:
    columns = [runs.sums[arm.key] for arm in arms]
    for at, key in enumerate(runs.problems):
        counts = [(int(sums.passed[at]), int(sums.samples[at])) for sums in columns]
        yield ProblemRow(key, tuple(count if count[1] else None for count in counts))


def _pairs(
    arms: Sequence[_ArmKey], baseline: _ArmKey, names: Mapping[_ArmKey, str], runs: _Runs, seed: int
) -> list[ArmPair]:
    others = [(arm, runs.run_on(arm, baseline)) for arm in arms if arm != baseline]
    shared = [(arm, both) for arm, both in others if len(both)]
    compared = compare([(runs.sums[arm].at(both), runs.sums[baseline].at(both)) for arm, both in shared], seed=seed)
    adjusted = holm([comparison.p_value for comparison in compared])
    rows = zip(shared, compared, adjusted, strict=True)
    return [ArmPair(names[arm], comparison, p_value) for (arm, _), comparison, p_value in rows]


def _notices(arms: Sequence[Arm], runs: _Runs) -> Iterator[str]:
    total = len(runs.problems)
    if arms and not len(runs.shared):
        yield "No problem was run by all arms, so each arm is measured on its own problems and rows are not comparable."
    elif len(runs.shared) < total:
        yield f"Figures are of the {len(runs.shared)} problems of {total} that all arms were run on."
    for arm in arms:
        rows = runs.arms[arm.strategy, arm.model]
        if arm.missing:
            yield f"{arm.name} was not run on {arm.missing} of {total} problems."
        if len(arm.settings) > 1:
            yield f"The results of {arm.name} come from {len(arm.settings)} different settings."
        if faults := sum(bool(row.fault) for row in rows):
            yield f"{faults} of {len(rows)} runs of {arm.name} ended by a fault that is not the solution's."
