"""Summarizes a run as one JSON object, which `run --json` prints and the engine returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.types import Verdict
from exploracoder_jupyter.trace.run_state import SOLUTION, InputResult, InputRound, Run, Section, fold_all

_CUT_OFF = Verdict("stopped", "The run was cut off before its end.")


def summarize_run(records: Iterable[Record], *, trace: Path | None = None) -> dict[str, JsonValue]:
    """Summarize the run with these records, whether or not it has finished.

    Args:
        records: all records of the run, in order.
        trace: the path of the trace, if one was written.

    Returns:
        `status`, `reason`, `solution` (code or null), `trace`, `library` (version by import name), `model`, `usage`,
        `subtasks` (`apis` are those that the candidate carried forward really calls), `isolation`, `branching`,
        `state` (`live` or `fresh`, and why), `files` (paths of the files that the solution wrote, if they were kept),
        `tests` (generated inputs on which the solution was tested: the status, or `unusable`, and the ruling).
    """
    run = fold_all(records)
    verdict = run.finished.verdict if run.finished else _CUT_OFF
    solution = run.finished.solution if run.finished else None
    environment = run.started.environment if run.started else None
    return {
        "status": verdict.outcome,
        "reason": verdict.reason,
        "solution": solution.code if solution else None,
        "trace": str(trace) if trace else None,
        "library": {info.name: info.version for info in run.library.libraries} if run.library else {},
        "model": run.started.model if run.started else "",
        "usage": _usage(run),
        "subtasks": [_subtask(section) for section in run.subtasks],
        "isolation": environment.isolation if environment else "",
        "branching": environment.branching if environment else "",
        "state": environment.state if environment else "",
        "files": [str(Path(run.files.folder, name)) for name in run.files.files] if run.files else [],
        "tests": _tests(run, solution.candidate) if solution else [],
    }


def _tests(run: Run, solution: str) -> list[JsonValue]:
    section = run.sections.get(SOLUTION)
    round_ = section.rounds.get(solution) if section else None
    return [_test(round_, shown) for shown in round_.shown] if round_ else []


def _test(round_: InputRound, shown: InputResult) -> JsonValue:
    status = shown.observation.status if shown.usable else "unusable"
    judged = round_.ruling_on(shown.given.id) if shown.usable else None
    return {"title": shown.given.title, "status": status, "judged": judged}


def _usage(run: Run) -> dict[str, JsonValue]:
    seconds = run.usage.seconds if run.finished else run.now - run.started_at
    return {**asdict(run.usage), "seconds": round(seconds, 3)}


def _subtask(section: Section) -> dict[str, JsonValue]:
    candidates = [attempt.candidate for attempt in section.attempts.values()]
    return {
        "title": section.subtask.title,
        "status": section.status,
        "candidates": sum(candidate.round == 0 for candidate in candidates),
        "debug_rounds": max((candidate.round for candidate in candidates), default=0),
        "apis": [*section.selected.apis] if section.selected else [],
    }
