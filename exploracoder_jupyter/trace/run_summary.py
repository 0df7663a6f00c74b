"""Summarizes a run as one JSON object, which `run --json` prints and the engine returns."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.run_state import SOLUTION, RunState, Section
from exploracoder_jupyter.core.types import Verdict

_CUT_OFF = Verdict("stopped", "The run was cut off before its end.")


def summarize_run(run: RunState, *, trace: Path | None = None) -> dict[str, JsonValue]:
    """Summarize a run in this state, whether or not it has finished; `trace` is the path of its trace, if any.

    Among the keys of the result are `library` (version by import name), `subtasks` (`apis` are those that the candidate
    carried forward really calls), `state` (`live` or `fresh`, and why), `files` (paths of the files that the solution
    wrote, if they were kept), and `tests` (generated inputs on which the solution was tested: the status, or
    `unusable`, and the ruling).
    """
    verdict = run.verdict or _CUT_OFF
    solution = run.finished.solution if run.finished else None
    environment = run.started.environment if run.started else None
    seconds = run.usage.seconds if run.finished else run.now - run.started_at
    return {
        "status": verdict.outcome,
        "reason": verdict.reason,
        "solution": solution.code if solution else None,
        "patch": solution.patch or None if solution else None,
        "trace": str(trace) if trace else None,
        "library": {info.name: info.version for info in run.library.libraries} if run.library else {},
        "model": run.model,
        "usage": {**asdict(run.usage), "seconds": round(seconds, 3)},
        "subtasks": [_subtask(section) for section in run.subtasks],
        "isolation": environment.isolation if environment else "",
        "branching": environment.branching if environment else "",
        "state": environment.state if environment else "",
        "files": [str(Path(run.files.folder, name)) for name in run.files.files] if run.files else [],
        "tests": _tests(run, solution.candidate) if solution else [],
    }


def _tests(run: RunState, solution: str) -> list[JsonValue]:
    section = run.sections.get(SOLUTION)
    round_ = section.rounds.get(solution) if section else None
    tests: list[JsonValue] = []
    for shown in round_.shown if round_ else ():
        status = shown.observation.status if shown.usable else "unusable"
        judged = round_.ruling_on(shown.given.id) if round_ and shown.usable else None
        tests.append({"title": shown.given.title, "status": status, "judged": judged})
    return tests


def _subtask(section: Section) -> dict[str, JsonValue]:
    candidates = [attempt.candidate for attempt in section.attempts.values()]
    return {
        "title": section.subtask.title,
        "status": section.status,
        "candidates": sum(candidate.round == 0 for candidate in candidates),
        "debug_rounds": max((candidate.round for candidate in candidates), default=0),
        "apis": [*section.selected.apis] if section.selected else [],
    }
