"""What a run says of itself beside what it executed: whether its own records bear that out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exploracoder_jupyter.core.events import LibraryRead, Record, RunFinished, RunStarted, SolutionJudged
from exploracoder_jupyter.trace.needed_packages import canonical
from exploracoder_jupyter.trace.recorded_executions import Execution


def unfounded(records: Sequence[Record], ran: Sequence[Execution]) -> dict[str, str]:
    """What the records do not bear out and why, by what it is about: the solution's id, `verdict`, `libraries`."""
    events = [record.event for record in records]
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    judged = (event for event in events if isinstance(event, SolutionJudged))
    right = {event.candidate for event in judged if event.judgement.ruling == "right"}
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, RunFinished) and started:
            found |= _ending(event, {one.id: one for one in ran}, right, checked=bool(started.task.check))
        if isinstance(event, LibraryRead) and started:
            found |= _versions(event, started.environment.packages)
    return found


def _ending(event: RunFinished, ran: Mapping[str, Execution], right: set[str], *, checked: bool) -> dict[str, str]:
    """What is wrong with a verdict that says that a solution ran."""
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


def _versions(event: LibraryRead, packages: Sequence[str]) -> dict[str, str]:
    """What is wrong with the versions that the libraries were said to have: the list of packages has others."""
    pairs = [(canonical(name), version) for name, _, version in (line.partition("==") for line in packages)]
    listed = {name for name, _ in pairs}
    for info in event.libraries:
        name = canonical(info.distribution)
        if info.version and name in listed and (name, info.version) not in pairs:
            return {"libraries": f"{info.name} is said to be {info.version}, the list of packages has another version"}
    return {}
