"""Checks a run's claims (its verdict, solution and library versions) against its own records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exploracoder_jupyter.core.events import (
    CandidateProposed,
    LibraryRead,
    Record,
    RunFinished,
    RunStarted,
    SolutionJudged,
)
from exploracoder_jupyter.trace.module_distributions import canonical_name
from exploracoder_jupyter.trace.recorded_executions import Execution


def find_unfounded_claims(records: Sequence[Record], ran: Sequence[Execution]) -> dict[str, str]:
    """Describe the claims that the records contradict, by subject: the solution's id, `verdict` or `libraries`."""
    events = [record.event for record in records]
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    proposed = (event.candidate for event in events if isinstance(event, CandidateProposed))
    codes = {candidate.id: candidate.code for candidate in proposed}
    judged = (event for event in events if isinstance(event, SolutionJudged))
    right = {event.candidate for event in judged if event.judgement.ruling == "right"}
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, RunFinished) and started and not _is_unexecuted(event, codes, ran):
            found |= _check_verdict(event, {one.id: one for one in ran}, right, checked=bool(started.task.check))
        if isinstance(event, LibraryRead) and started:
            found |= _check_versions(event, started.environment.packages)
    return found


def _is_unexecuted(event: RunFinished, proposed: Mapping[str, str], ran: Sequence[Execution]) -> bool:
    """Whether the run claims no more than that it wrote a program, which it never ran."""
    solution = event.solution
    if solution is None or event.verdict.outcome != "unchecked" or any(one.id == solution.candidate for one in ran):
        return False
    return proposed.get(solution.candidate) == solution.code


def _check_verdict(
    event: RunFinished, ran: Mapping[str, Execution], right: set[str], *, checked: bool
) -> dict[str, str]:
    """Describe what is wrong with the verdict that a solution ran."""
    outcome, solution = event.verdict.outcome, event.solution
    if outcome not in ("solved", "unchecked"):
        return {}
    done = ran.get(solution.candidate) if solution else None
    if solution is None or done is None or not done.observation.ran:
        return {"verdict": f"it is {outcome}, but no solution ran"}
    if done.code != solution.code:
        return {done.id: "the solution is not the code that was run"}
    if outcome == "solved" and not (checked or done.id in right):
        return {"verdict": "it is solved, but nothing was checked"}
    return {}


def _check_versions(event: LibraryRead, packages: Sequence[str]) -> dict[str, str]:
    """Describe which library versions contradict the list of installed packages."""
    pairs = [(canonical_name(name), version) for name, _, version in (line.partition("==") for line in packages)]
    listed = {name for name, _ in pairs}
    for info in event.libraries:
        name = canonical_name(info.distribution)
        if info.version and name in listed and (name, info.version) not in pairs:
            return {"libraries": f"{info.name} is recorded as {info.version}, the list of packages has another version"}
    return {}
