"""What the report page states beside its tables: findings, the matrix of problems, failures, how to run it again."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Final

from exploracoder_jupyter.core.message_formatting import one_line, plural
from exploracoder_jupyter.evaluation.measures.summary import Arm, ProblemRow, Summary
from exploracoder_jupyter.evaluation.report.estimate_text import estimate_text, figure

_MAX_CELLS: Final = 6000
_MAX_ROWS: Final = 1000
"""Of the matrix of problems and arms, which so takes less than 200 kB."""
_MAX_NAME: Final = 60


def sets(summary: Summary) -> str:
    """Return the names of the problem sets, or else the number of problems."""
    names = dict.fromkeys(row.key.problem_set for row in summary.problems if row.key.problem_set)
    return ", ".join(names) or plural(len(summary.problems), "problem")


def facts(summary: Summary) -> Iterator[str]:
    """Yield what was run."""
    yield plural(len(summary.problems), "problem")
    yield _one_or_many({arm.strategy for arm in summary.arms}, "strategy", "strategies")
    yield _one_or_many({arm.model for arm in summary.arms}, "model", "models")
    yield plural(sum(count[1] for row in summary.problems for count in row.counts if count), "run")


def _one_or_many(names: set[str], one: str, many: str) -> str:
    return f"{one} {next(iter(names))}" if len(names) == 1 else f"{len(names)} {many}"


def findings(summary: Summary) -> Iterator[str]:
    """Yield what the figures show, each one sentence."""
    if len(summary.arms) < 2:
        return
    highest = summary.arms[0].estimates["pass@1"].value
    best = [arm for arm in summary.arms if arm.estimates["pass@1"].value == highest]
    shown = (
        f"{arm.name}, {estimate_text(arm.estimates['pass@1'], 'share')}, "
        f"with {estimate_text(arm.estimates['tokens'], 'number')} tokens a run"
        for arm in best
    )
    yield f"Highest pass@1: {'; '.join(shown)}."
    solving = [arm for arm in summary.arms if arm.estimates["tokens_per_solved"].value is not None]
    if solving:
        cheapest = min(solving, key=lambda arm: arm.estimates["tokens_per_solved"].value or 0)
        tokens = estimate_text(cheapest.estimates["tokens_per_solved"], "number")
        yield f"Fewest tokens per solved problem: {cheapest.name}, {tokens}."
    yield f"Pareto front of pass@1 and tokens: {'; '.join(arm.name for arm in summary.arms if arm.on_front)}."


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
    return figure(sum(costs), "number") if costs and len(costs) == len(summary.arms) else ""


def matrix(summary: Summary) -> tuple[str, list[tuple[str, list[tuple[str, str]]]]]:
    """Return what the matrix of problems and arms shows, and its rows: each a name, and classes and texts of cells.

    Problems that most arms solve come first; if there are too many, those on which arms differ are preferred.
    """
    most = min(_MAX_CELLS // max(len(summary.arms), 1), _MAX_ROWS)
    chosen = sorted(summary.problems, key=lambda row: abs(_solved_share(row) - 0.5))[:most]
    chosen.sort(key=lambda row: -_solved_share(row))
    left_out = len(summary.problems) - len(chosen)
    about = (
        "✓ passed, ✗ failed, 2/5 passed in two of five samples, · not run. "
        "The problems that are solved most often come first."
    )
    if left_out:
        about += f" {plural(left_out, 'problem')} with the least difference between arms left out."
    several = len({row.key.problem_set for row in summary.problems}) > 1
    names = (f"{row.key.problem_set}: {row.key.problem}" if several else row.key.problem for row in chosen)
    cells = ([_mark(count) for count in row.counts] for row in chosen)
    return about, [(one_line(name, _MAX_NAME), marks) for name, marks in zip(names, cells, strict=True)]


def _solved_share(row: ProblemRow) -> float:
    shares = [passed / samples for passed, samples in filter(None, row.counts)]
    return sum(shares) / len(shares)


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


def failures(summary: Summary) -> tuple[list[str], list[tuple[Arm, list[int]]]]:
    """Return the kinds of failures, the most frequent first, and how many of each an arm has."""
    counts = [{kind.kind or "unknown": kind.count for kind in arm.failures} for arm in summary.arms]
    kinds = [kind for kind, _ in sum(map(Counter, counts), Counter[str]()).most_common()]
    return kinds, [
        (arm, [of_arm.get(kind, 0) for kind in kinds]) for arm, of_arm in zip(summary.arms, counts, strict=True)
    ]


def commands(summary: Summary) -> str:
    """Return the commands that run the evaluation again."""
    files = dict.fromkeys(f"{row.key.problem_set or 'PROBLEMS'}.jsonl" for row in summary.problems)
    samples = max((count[1] for row in summary.problems for count in row.counts if count), default=1)
    options = [("--strategy", name) for name in dict.fromkeys(arm.strategy for arm in summary.arms)]
    options += [("--model", name) for name in dict.fromkeys(arm.model for arm in summary.arms)]
    options += [("--samples", str(samples))] if samples > 1 else []
    lines = [shlex.join(["jupyter", "explora", "bench", *files]), *(shlex.join(option) for option in options)]
    return "pip install 'exploracoder-jupyter[bench]'\n" + " \\\n    ".join(lines)


def packages(summary: Summary) -> Iterator[str]:
    """Yield each package with its versions."""
    found: dict[str, dict[str, None]] = {}
    for arm in summary.arms:
        for package, versions in arm.packages.items():
            found.setdefault(package, {}).update(dict.fromkeys(versions))
    yield from (f"{package} {', '.join(found[package])}" for package in sorted(found))
