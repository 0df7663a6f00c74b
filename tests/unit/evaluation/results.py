"""Builds results of units for tests."""

from dataclasses import replace

from exploracoder_jupyter.evaluation.results import UnitResult


def unit(problem="p1", strategy="rag", *, passed=True, sample=0, model="small", **fields) -> UnitResult:
    row = UnitResult(
        unit=f"{model}/{strategy}/{problem}/{sample}",
        problem=problem,
        problem_set="set",
        strategy=strategy,
        model=model,
        sample=sample,
        outcome="solved" if passed else "unsolved",
        passed=passed,
        ran=passed,
        tests_passed=2 if passed else 0,
        tests=2,
        failure="" if passed else "wrong result",
        calls=1,
        prompt_tokens=80,
        completion_tokens=20,
        seconds=2.0,
        code="answer = 42",
        trace=f"traces/{strategy}-{sample}.ipynb",
    )
    return replace(row, **fields)


def units(strategy: str, passes: str, **fields) -> list[UnitResult]:
    """One sample of each problem: `passes` is a word such as "10?1", in which `?` leaves the problem out."""
    return [unit(f"p{at}", strategy, passed=mark == "1", **fields) for at, mark in enumerate(passes) if mark != "?"]
