"""Figures with intervals, by the bootstrap over problems, and strategies compared in pairs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue, TypeAdapter

from exploracoder_jupyter.evaluation.results import (
    MEASURES,
    Floats,
    ProblemKey,
    ProblemSums,
    Ratio,
    UnitResult,
    mean_over_problems,
    pass_at_k,
    problem_key,
    problem_sums,
    sums_at,
)

# Confidence intervals by the bootstrap over problems.
#
# Problems are drawn with replacement, and every measure is computed again on each draw. The interval is BCa
# (bias-corrected and accelerated; Efron 1987, "Better Bootstrap Confidence Intervals"), or the percentile interval
# where BCa is undefined.
#
# Where all problems have the same value, no resampling can differ from it, and the bootstrap would claim certainty:
# 8 of 8 would be 100 % exactly. For bounded values the interval then is the exact one: with n problems, at most 1 -
# (α/2)^(1/n) of all problems can have other values. For 0 and 1 this is the interval of Clopper and Pearson.

RESAMPLES: Final = 2000
_DRAWS_AT_ONCE: Final = 2_000_000
"""Limits the memory of one block of resamples to some tens of megabytes."""
_TAILS: Final = (0.025, 0.975)
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the bounds of its interval."""

    value: float | None
    """`None` if undefined: nothing was measured, or, per solved problem, none was solved."""
    low: float | None
    """`None` if there is no interval: one problem does not bound an unbounded value."""
    high: float | None
    """Infinity if unbounded, such as tokens per solved problem when hardly any was solved."""
    problems: int
    """Number of problems that it was computed from."""


def bootstrap(ratios: Sequence[Ratio]) -> list[Estimate]:
    """Estimate ratios, each over its own problems, with their 95 % intervals.

    The draws are always the same, and shared by all ratios over the same number of problems.
    """
    estimates: dict[int, Estimate] = {}
    for problems in {len(ratio.numerators) for ratio in ratios}:
        alike = [place for place, ratio in enumerate(ratios) if len(ratio.numerators) == problems]
        draws = _draw([ratios[place] for place in alike], problems)
        estimates |= {place: _estimate(ratios[place], drawn) for place, drawn in zip(alike, draws.T, strict=True)}
    return [estimates[place] for place in range(len(ratios))]


def _draw(ratios: Sequence[Ratio], problems: int) -> Floats:
    """Return the ratios in each resample, of shape (resamples, ratios); NaN where nothing is known."""
    if problems == 0:
        return np.empty((0, len(ratios)))
    numerators = np.stack([ratio.numerators for ratio in ratios], axis=1)
    denominators = np.stack([ratio.denominators for ratio in ratios], axis=1)
    generator, block, drawn = np.random.default_rng(0), max(_DRAWS_AT_ONCE // problems, 1), list[Floats]()
    for start in range(0, RESAMPLES, block):
        size = min(block, RESAMPLES - start)
        places = generator.integers(problems, size=(size, problems)) + np.arange(size)[:, None] * problems
        times = np.bincount(places.ravel(), minlength=size * problems).reshape(size, problems).astype(np.float64)
        drawn.append(_divide(times @ numerators, times @ denominators))
    return np.concatenate(drawn)


def _divide(numerators: Floats, denominators: Floats) -> Floats:
    """Divide; infinity where only the denominator is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerators / denominators, dtype=np.float64)


def _estimate(ratio: Ratio, draws: Floats) -> Estimate:
    known = (ratio.denominators > 0) | (ratio.numerators != 0)
    value, problems = float(_divide(ratio.numerators.sum(), ratio.denominators.sum())), int(known.sum())
    if not math.isfinite(value):
        return Estimate(None, None, None, problems)
    values = _divide(ratio.numerators[known], ratio.denominators[known])
    if ratio.bounds and np.allclose(values, value):
        unseen = 1 - _TAILS[0] ** (1 / problems)
        low, high = ratio.bounds
        return Estimate(value, value - unseen * (value - low), value + unseen * (high - value), problems)
    if problems < 2:
        return Estimate(value, None, None, problems)
    draws = np.sort(draws[~np.isnan(draws)])
    tails = _bca_tails(ratio.numerators[known], ratio.denominators[known], value, draws)
    low, high = (_quantile(draws, tail) for tail in tails)
    return Estimate(value, low, high, problems)


def _quantile(ordered: Floats, share: float) -> float:
    """Return a value that occurs, never one between two, of which one may be infinite."""
    return float(ordered[min(max(math.ceil(share * len(ordered)) - 1, 0), len(ordered) - 1)])


def _bca_tails(numerators: Floats, denominators: Floats, value: float, draws: Floats) -> tuple[float, ...]:
    """Return the tails corrected for bias and acceleration; unchanged where the correction is undefined."""
    equal = np.isclose(draws, value, rtol=1e-9, atol=0)
    below = (np.count_nonzero((draws < value) & ~equal) + np.count_nonzero(equal) / 2) / len(draws)
    left_out = _divide(numerators.sum() - numerators, denominators.sum() - denominators)
    if not (0 < below < 1 and np.all(np.isfinite(left_out))):
        return _TAILS
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum()) ** 1.5
    acceleration = float((deviations**3).sum()) / (6 * spread) if spread else 0.0
    bias = _NORMAL.inv_cdf(below)
    shifted = [bias + _NORMAL.inv_cdf(tail) for tail in _TAILS]
    return tuple(_NORMAL.cdf(bias + shift / (1 - acceleration * shift)) for shift in shifted)


# Compares two arms problem by problem, because all arms share the problems.
#
# Whether one arm solves more is tested by McNemar's exact test (McNemar 1947) with one pair a problem: an arm
# solves a problem if more than half of its samples pass. Pairs of single samples would make the p-value too small,
# since the samples of a problem are not independent. The differences use all samples.


@dataclass(frozen=True, slots=True)
class Comparison:
    """An arm against a baseline on the problems that both were run on; differences are arm minus baseline."""

    problems: int
    both: int
    """Problems that both solve, by the majority of their samples."""
    only_arm: int
    only_baseline: int
    neither: int
    p_value: float
    """Of the exact two-sided test; 1 if the arms solve the same problems."""
    pass_difference: Estimate
    """Difference of pass@1."""
    token_difference: Estimate
    """Difference of the tokens of a run."""
    token_ratio: Estimate
    """Tokens of the arm divided by those of the baseline."""


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of McNemar's exact test: a binomial test that both counts are equally likely."""
    pairs, fewer = only_first + only_second, min(only_first, only_second)
    log_total = math.lgamma(pairs + 1) - pairs * math.log(2)
    tail = (math.exp(log_total - math.lgamma(at + 1) - math.lgamma(pairs - at + 1)) for at in range(fewer + 1))
    return min(2 * math.fsum(tail), 1.0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the number of comparisons (Holm 1979); each stays at its place."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min((len(p_values) - rank) * p_values[at], 1.0))
        adjusted[at] = largest
    return adjusted


def compare(pairs: Sequence[tuple[ProblemSums, ProblemSums]]) -> list[Comparison]:
    """Compare pairs of an arm and its baseline; the two of a pair are over the same problems, in the same order."""
    estimates = iter(bootstrap([ratio for pair in pairs for ratio in _differences(*pair)]))
    compared = []
    for pair in pairs:
        first, second = (sums["passed"] * 2 > sums["samples"] for sums in pair)
        only_arm, only_baseline = int(np.sum(first & ~second)), int(np.sum(second & ~first))
        compared.append(
            Comparison(
                problems=len(first),
                both=int(np.sum(first & second)),
                only_arm=only_arm,
                only_baseline=only_baseline,
                neither=int(np.sum(~first & ~second)),
                p_value=mcnemar(only_arm, only_baseline),
                pass_difference=next(estimates),
                token_difference=next(estimates),
                token_ratio=next(estimates),
            )
        )
    return compared


def _differences(*pair: ProblemSums) -> tuple[Ratio, Ratio, Ratio]:
    passes, baseline_passes = (sums["passed"] / sums["samples"] for sums in pair)
    tokens, baseline_tokens = (sums["tokens"] / sums["samples"] for sums in pair)
    everywhere = np.ones_like(passes)
    return (
        mean_over_problems(passes - baseline_passes, everywhere, (-1, 1)),
        mean_over_problems(tokens - baseline_tokens, everywhere),
        Ratio(tokens, baseline_tokens),
    )


# The summary of an evaluation: figures with intervals of each arm, and how the arms compare.
#
# An arm is a strategy with a model. Its figures are those of the problems that all arms were run on; the problems
# that it lacks are counted. A comparison in pairs uses the problems that its two arms share.


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
    """By the keys of `results.MEASURES`."""
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


# Computes the summary of an evaluation from its results. Pure, and the same results give the same summary.

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
