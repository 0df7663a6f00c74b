"""Computes the summary of an evaluation from its results. Pure, and the same results give the same summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate, bootstrap
from exploracoder_jupyter.evaluation.measures.measure_definitions import MEASURES, Ratio, pass_at_k
from exploracoder_jupyter.evaluation.measures.paired_comparison import compare, holm
from exploracoder_jupyter.evaluation.measures.problem_sums import (
    ProblemKey,
    ProblemSums,
    problem_key,
    problem_sums,
    sums_at,
)
from exploracoder_jupyter.evaluation.measures.summary import Arm, ArmPair, FailureKind, ProblemRow, Summary
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult

_ArmKey: TypeAlias = tuple[str, str]
"""Strategy and model."""

_CURVE: Final = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The numbers of samples for which pass@k is given, as far as there are samples; the largest possible is added."""
_MAX_EXAMPLES: Final = 4


def summarize(results: Iterable[UnitResult]) -> Summary:
    """Summarize the results of an evaluation, in any order. Of several results of the same unit the last one counts.

    The arms are compared with the one that used the fewest tokens.
    """
    runs = _Runs.of({row.unit: row for row in results}.values())
    measured = sorted(_measure(runs), key=_rank)
    arms = tuple(_compared(arm, measured, runs) for arm in measured)
    names = {(arm.strategy, arm.model): arm.name for arm in arms}
    baseline = min(arms, key=lambda arm: (_figure(arm, "tokens"), _rank(arm))) if len(arms) > 1 else None
    return Summary(
        arms=arms,
        problems=tuple(_problem_rows(list(names), runs)),
        measured=len(runs.shared),
        baseline=baseline.name if baseline else "",
        pairs=tuple(_pairs(names, (baseline.strategy, baseline.model), runs)) if baseline else (),
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
        fewest = np.min([of_arm["samples"] for of_arm in sums.values()], axis=0) if sums else np.empty(0)
        return cls(arms, sums, tuple(places), np.flatnonzero(fewest))

    def run_on(self, *arms: _ArmKey) -> NDArray[np.intp]:
        """Return the places of the problems that all of these arms were run on."""
        return np.flatnonzero(np.min([self.sums[arm]["samples"] for arm in arms], axis=0))

    def measured(self, arm: _ArmKey) -> NDArray[np.intp]:
        """Return the places of the problems that the figures of the arm are of: its own if the arms share none."""
        return self.shared if len(self.shared) else self.run_on(arm)


def _measure(runs: _Runs) -> list[Arm]:
    """Return the arms without what compares them."""
    sums = {arm: sums_at(runs.sums[arm], runs.measured(arm)) for arm in runs.arms}
    most = min((int(of_arm["samples"].min()) for of_arm in sums.values()), default=0)
    curve = [k for k in _CURVE if k < most] + [most]
    ratios: list[Ratio] = []
    for of_arm in sums.values():
        ratios += [measure.ratio(of_arm) for measure in MEASURES]
        for successes in (of_arm["passed"], of_arm["ran"]):
            passes = (pass_at_k(of_arm["samples"], successes, k) for k in curve)
            ratios += [Ratio(values, np.ones_like(values), (0, 1)) for values in passes]
    estimates = iter(bootstrap(ratios))
    names = _names([*runs.arms])
    return [_arm(key, names[key], curve, estimates, runs) for key in runs.arms]


def _figure(arm: Arm, key: str) -> float:
    """Return the value of a measure that every arm has."""
    value = arm.estimates[key].value
    assert value is not None
    return value


def _rank(arm: Arm) -> tuple[float, float, _ArmKey]:
    return -_figure(arm, "pass@1"), _figure(arm, "tokens"), (arm.strategy, arm.model)


def _names(arms: Sequence[_ArmKey]) -> dict[_ArmKey, str]:
    strategies, models = ({arm[at] for arm in arms} for at in (0, 1))
    if len(models) <= 1:
        return {arm: arm[0] for arm in arms}
    return {arm: arm[1] if len(strategies) == 1 else f"{arm[0]}, {arm[1]}" for arm in arms}


def _arm(key: _ArmKey, name: str, curve: Sequence[int], estimates: Iterator[Estimate], runs: _Runs) -> Arm:
    rows, own = runs.arms[key], len(runs.run_on(key))
    settings = list[dict[str, JsonValue]]()
    versions: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.settings not in settings:
            settings.append(row.settings)
        for package, version in row.packages.items():
            versions.setdefault(package, {}).setdefault(version)
    costs = [row.cost for row in rows if row.cost is not None]
    return Arm(
        name=name,
        strategy=key[0],
        model=key[1],
        problems=own,
        missing=len(runs.problems) - own,
        samples=int(runs.sums[key]["samples"][runs.measured(key)].sum()),
        estimates={measure.key: next(estimates) for measure in MEASURES},
        pass_at={k: next(estimates) for k in curve},
        success_at={k: next(estimates) for k in curve},
        on_front=True,
        failures=tuple(_failures(rows)),
        alone=(),
        total_tokens=sum(row.prompt_tokens + row.completion_tokens for row in rows),
        total_cost=sum(costs) if len(costs) == len(rows) else None,
        settings=tuple(settings),
        packages={package: tuple(versions[package]) for package in sorted(versions)},
    )


def _compared(arm: Arm, arms: Sequence[Arm], runs: _Runs) -> Arm:
    """Return the arm with what compares it with the others."""
    on_front = not any(_dominates(other, arm) for other in arms)
    return replace(arm, on_front=on_front, alone=tuple(_alone((arm.strategy, arm.model), runs)))


def _dominates(arm: Arm, other: Arm) -> bool:
    passes, fewer = _figure(arm, "pass@1"), -_figure(arm, "tokens")
    others = _figure(other, "pass@1"), -_figure(other, "tokens")
    return (passes, fewer) != others and passes >= others[0] and fewer >= others[1]


def _failures(rows: Sequence[UnitResult]) -> Iterator[FailureKind]:
    failed = [row for row in rows if not row.passed]
    for kind, count in Counter(row.failure for row in failed).most_common():
        of_kind = [row for row in failed if row.failure == kind]
        first = {problem_key(row): row for row in reversed(of_kind)}
        yield FailureKind(kind, count, tuple(list(reversed(first.values()))[:_MAX_EXAMPLES]))


def _alone(arm: _ArmKey, runs: _Runs) -> Iterator[UnitResult]:
    if not len(runs.shared) or len(runs.arms) < 2:
        return
    passed = {key: sums["passed"][runs.shared] for key, sums in runs.sums.items()}
    others = sum(np.minimum(passed[key], 1) for key in passed if key != arm)
    alone = (passed[arm] > 0) & (others == 0)
    passing = {problem_key(row): row for row in reversed(runs.arms[arm]) if row.passed}
    yield from (passing[runs.problems[place]] for place in runs.shared[alone])


def _problem_rows(arms: Sequence[_ArmKey], runs: _Runs) -> Iterator[ProblemRow]:
    for at, key in enumerate(runs.problems):
        counts = [(int(runs.sums[arm]["passed"][at]), int(runs.sums[arm]["samples"][at])) for arm in arms]
        yield ProblemRow(key, tuple(count if count[1] else None for count in counts))


def _pairs(names: Mapping[_ArmKey, str], baseline: _ArmKey, runs: _Runs) -> Iterator[ArmPair]:
    places = {arm: runs.run_on(arm, baseline) for arm in names if arm != baseline}
    places = {arm: both for arm, both in places.items() if len(both)}
    compared = compare(
        [(sums_at(runs.sums[arm], both), sums_at(runs.sums[baseline], both)) for arm, both in places.items()]
    )
    adjusted = holm([comparison.p_value for comparison in compared])
    for arm, comparison, p_value in zip(places, compared, adjusted, strict=True):
        yield ArmPair(names[arm], comparison, p_value)


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
