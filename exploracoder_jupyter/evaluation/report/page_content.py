"""What the report page states beside its tables: findings, the matrix of problems, failures, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from exploracoder_jupyter.core.one_line import one_line
from exploracoder_jupyter.evaluation.measures.summary import Arm, ProblemRow, Summary
from exploracoder_jupyter.evaluation.report.estimate_text import estimate_text, figure

_MAX_CELLS: Final = 6000
_MAX_ROWS: Final = 1000
"""Of the matrix of problems and arms, which so takes less than 200 kB."""
_MAX_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Matrix:
    """The matrix of problems and arms."""

    about: str
    rows: list[tuple[str, list[tuple[str, str]]]]
    """Name of each problem, and class and text of its cells."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Failed runs by kind."""

    kinds: list[str]
    rows: list[tuple[Arm, list[int]]]


def sets(summary: Summary) -> str:
    """Return the names of the problem sets, or else the number of problems."""
    names = dict.fromkeys(row.key.problem_set for row in summary.problems if row.key.problem_set)
    return ", ".join(names) or _count(len(summary.problems), "problem")


def facts(summary: Summary) -> Iterator[str]:
    """Yield what was run."""
    yield _count(len(summary.problems), "problem")
    yield from (
        f"{_count(len(set(names)), kind)}{': ' + next(iter(names)) if len(set(names)) == 1 else ''}"
        for kind, names in (
            ("strategy", [arm.strategy for arm in summary.arms]),
            ("model", [arm.model for arm in summary.arms]),
        )
    )
    yield _count(sum(count[1] for row in summary.problems for count in row.counts if count), "run")


def findings(summary: Summary) -> Iterator[str]:
    """Yield what the figures show, each one sentence."""
    if len(summary.arms) < 2:
        return
    highest = summary.arms[0].estimates["pass@1"].value
    best = [arm for arm in summary.arms if arm.estimates["pass@1"].value == highest]
    yield f"Highest pass@1: {'; '.join(map(_pass_and_tokens, best))}."
    solving = [arm for arm in summary.arms if arm.estimates["tokens_per_solved"].value is not None]
    if solving:
        cheapest = min(solving, key=lambda arm: arm.estimates["tokens_per_solved"].value or 0)
        tokens = estimate_text(cheapest.estimates["tokens_per_solved"], "number")
        yield f"Fewest tokens per solved problem: {cheapest.name}, {tokens}."
    yield f"Pareto front of pass@1 and tokens: {'; '.join(arm.name for arm in summary.arms if arm.on_front)}."


def _pass_and_tokens(arm: Arm) -> str:
    passes, tokens = estimate_text(arm.estimates["pass@1"], "share"), estimate_text(arm.estimates["tokens"], "number")
    return f"{arm.name}, {passes}, with {tokens} tokens a run"


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def contents(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the id and the title of each section."""
    yield from (("results", "Results"), ("costs", "Cost"))
    if summary.pairs:
        yield "pairs", "Compared in pairs"
    if has_curves(summary):
        yield "pass-at-k", "More samples"
    if any(arm.alone for arm in summary.arms):
        yield "alone", "Solved by one arm only"
    yield "problems", "Problems"
    if any(arm.failures for arm in summary.arms):
        yield "failures", "Failures"
    yield "again", "Run it again"


def has_curves(summary: Summary) -> bool:
    """Return whether problems have several samples."""
    return any(len(arm.pass_at) > 1 for arm in summary.arms)


def total_cost(summary: Summary) -> str:
    """Return the cost of all runs; empty if that of any is unknown."""
    costs = [arm.total_cost for arm in summary.arms if arm.total_cost is not None]
    return figure(sum(costs), "money") if costs and len(costs) == len(summary.arms) else ""


def matrix(summary: Summary) -> Matrix:
    """Order the problems from those that most arms solve; if there are too many, prefer those on which arms differ."""
    most = min(_MAX_CELLS // max(len(summary.arms), 1), _MAX_ROWS)
    chosen = sorted(summary.problems, key=_agreement)[:most]
    chosen.sort(key=lambda row: -_solved_share(row))
    left_out = len(summary.problems) - len(chosen)
    about = (
        "✓ passed, ✗ failed, 2/5 passed in two of five samples, · not run. "
        "The problems that are solved most often come first."
    )
    if left_out:
        about += f" {_count(left_out, 'problem')} with the least difference between arms left out."
    named = len({row.key.problem_set for row in summary.problems}) > 1
    return Matrix(about, [(_name(row, named), [_mark(count) for count in row.counts]) for row in chosen])


def _solved_share(row: ProblemRow) -> float:
    shares = [passed / samples for passed, samples in filter(None, row.counts)]
    return sum(shares) / len(shares)


def _agreement(row: ProblemRow) -> float:
    return abs(_solved_share(row) - 0.5)


def _name(row: ProblemRow, with_set: bool) -> str:
    return one_line(f"{row.key.problem_set}: {row.key.problem}" if with_set else row.key.problem, _MAX_NAME)


def _mark(count: tuple[int, int] | None) -> tuple[str, str]:
    match count:
        case None:
            return "o", "·"
        case (0, 1):
            return "x", "✗"
        case (1, 1):
            return "y", "✓"
        case (passed, samples):
            return "x" if not passed else "y" if passed == samples else "p", f"{passed}/{samples}"


def failures(summary: Summary) -> Failures | None:
    """Count the failures of each arm by kind, the most frequent kind first; `None` if there are none."""
    totals: dict[str, int] = {}
    for arm in summary.arms:
        for kind in arm.failures:
            totals[kind.kind] = totals.get(kind.kind, 0) + kind.count
    kinds = sorted(totals, key=lambda kind: -totals[kind])
    counts = [{kind.kind: kind.count for kind in arm.failures} for arm in summary.arms]
    rows = [(arm, [of_arm.get(kind, 0) for kind in kinds]) for arm, of_arm in zip(summary.arms, counts, strict=True)]
    return Failures([kind or "unknown" for kind in kinds], rows) if kinds else None


def commands(summary: Summary) -> str:
    """Return the commands that run the evaluation again."""
    versions = {version for arm in summary.arms for version in arm.packages.get("exploracoder-jupyter", ())}
    package = "exploracoder-jupyter[bench]" + (f"=={versions.pop()}" if len(versions) == 1 else "")
    files = dict.fromkeys(f"{row.key.problem_set or 'PROBLEMS'}.jsonl" for row in summary.problems)
    samples = max((count[1] for row in summary.problems for count in row.counts if count), default=1)
    options = [("--strategy", name) for name in dict.fromkeys(arm.strategy for arm in summary.arms)]
    options += [("--model", name) for name in dict.fromkeys(arm.model for arm in summary.arms)]
    options += [("--samples", str(samples))] if samples > 1 else []
    lines = [shlex.join(["jupyter", "explora", "bench", *files]), *(shlex.join(option) for option in options)]
    return f"pip install {shlex.quote(package)}\n" + " \\\n    ".join(lines)


def packages(summary: Summary) -> Iterator[str]:
    """Yield each package with its versions."""
    found: dict[str, dict[str, None]] = {}
    for arm in summary.arms:
        for package, versions in arm.packages.items():
            found.setdefault(package, {}).update(dict.fromkeys(versions))
    yield from (f"{package} {', '.join(found[package])}" for package in sorted(found))
