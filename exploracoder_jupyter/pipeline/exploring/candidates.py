"""The candidates of one subtask: proposed, run each in its branch, and debugged."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import anyio

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.errors import BranchingChanged, BudgetExceeded, EndpointError
from exploracoder_jupyter.core.events import CandidateObserved, CandidateProposed
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Candidate, Experience, Subtask, Usage
from exploracoder_jupyter.pipeline.code_analysis import find_called_apis, known_types
from exploracoder_jupyter.pipeline.concurrency import task_group
from exploracoder_jupyter.pipeline.context import (
    MOST_CHANGES,
    Run,
    State,
    accept_own_end,
    close_branches,
    heuristic,
    notify_branching_change,
)
from exploracoder_jupyter.pipeline.exploring.selection import (
    distinct_failures,
    find_objection,
    is_informative,
    outputs_agree,
    refuse_invented,
    result_text,
    select,
    with_objection,
)
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import DebugInputs
from exploracoder_jupyter.pipeline.prompting.requests import Draft, ask_code
from exploracoder_jupyter.pipeline.retrieval.lookups import add_suggestions
from exploracoder_jupyter.pipeline.retrieval.queries import Search

# The candidates of one subtask while they are proposed and run: each in its own branch, as soon as it is known.
#
# When a branch reports that branches are made with another method from now on, what ran before is run again:
# candidates are compared with one another, so all of them have to start alike.

_AGAIN = "Run again in a branch made in another way."


@dataclass(slots=True)
class Attempt:
    """The candidates of one subtask while they are proposed and run."""

    run: Run
    state: State
    subtask: Subtask
    search: Search
    """APIs and passages that may help; extended by later searches."""
    limiter: anyio.CapacityLimiter
    experiences: list[Experience] = field(default_factory=list)
    branches: dict[str, Branch] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    """Maps the fingerprint of code to the id of the candidate that was run for it."""
    problem: str = ""
    """What was wrong with the latest reply without code, if there was one."""
    unusable: Draft | None = None
    """The latest reply without code, if there was one."""
    changes: int = 0
    """How often the branching method has changed."""
    started: dict[str, tuple[Candidate, int]] = field(default_factory=dict)
    """Candidates that are running or have run, with the number of changes before their start."""

    @classmethod
    def start(cls, run: Run, state: State, search: Search) -> Attempt:
        """Start an attempt at a subtask from this state, with the results of its search."""
        return cls(run, state, search.subtask, search, anyio.CapacityLimiter(run.parallel))

    async def try_candidate(self, candidate: Candidate) -> None:
        """Run one candidate in its own branch, unless it has no code or is a duplicate."""
        original = (
            self.fingerprints.setdefault(fingerprint(candidate.code), candidate.id) if not candidate.problem else None
        )
        if original and original != candidate.id:
            candidate = replace(candidate, duplicate_of=original)
        self.run.emit(CandidateProposed(candidate))
        self.problem = candidate.problem or self.problem
        if candidate.problem or candidate.duplicate_of:
            return
        await self._run_candidate(candidate)

    async def rerun(self, candidate: Candidate) -> None:
        """Run a candidate that was proposed before."""
        self.fingerprints[fingerprint(candidate.code)] = candidate.id
        await self._run_candidate(candidate)
        await self.rerun_outdated()

    async def rerun_outdated(self) -> None:
        """Rerun what ran before the branching method changed, and sort the experiences in order of proposal.

        The selection must not depend on which of two candidates happened to end first.
        """
        while outdated := [one for one, changes in self.started.values() if changes < self.changes]:
            ids = {candidate.id for candidate in outdated}
            self.experiences = [item for item in self.experiences if item.candidate.id not in ids]
            for id_ in ids:
                self.started.pop(id_)
            await close_branches([self.branches.pop(id_) for id_ in ids if id_ in self.branches])
            async with task_group() as group:
                for candidate in outdated:
                    group.start_soon(self._run_candidate, candidate, True)
        order = list(self.fingerprints.values())
        self.experiences.sort(key=lambda item: order.index(item.candidate.id))

    async def _run_candidate(self, candidate: Candidate, again: bool = False) -> None:
        async with self.limiter:
            with suppress(BudgetExceeded):  # candidates that ran remain selectable; the next request raises
                self.run.meter.reserve()
                changes = self.changes
                self.started[candidate.id] = (candidate, changes)
                try:
                    await self._observe(candidate, again=again)
                except BranchingChanged as change:
                    if changes == MOST_CHANGES:
                        raise
                    if changes == self.changes:  # other branches of the same method report the same change
                        self.changes += 1
                        notify_branching_change(self.run, change)

    async def _observe(self, candidate: Candidate, *, again: bool) -> None:
        run = self.run
        [branch] = await self.state.branch.fork(1)
        self.branches[candidate.id] = branch
        observation = accept_own_end(await branch.run(candidate.code, timeout=run.settings.timeout))
        if again:
            observation = replace(observation, note=f"{observation.note} {_AGAIN}".strip())
        observation = add_suggestions(run, refuse_invented(run.task, candidate.code, observation))
        run.meter.charge("execute", Usage(seconds=observation.seconds))
        types = known_types(self.state.experience) | dict(observation.names)
        before = [item.candidate.code for item in self.state.experience if item.observation.ran]
        known = (*self.search.apis, *run.progress.looked_up.values())
        apis = find_called_apis(candidate.code, run.knowledge, recommended=known, types=types, before=before)
        self.search.add_used(apis)
        experience = with_objection(Experience(self.subtask, candidate, observation, apis))
        self.experiences.append(experience)
        if observation.ran:
            run.agenda.ran[candidate.id] = experience
        run.emit(CandidateObserved(candidate.id, experience.observation, apis, self._find_agreeing(experience)))

    def _find_agreeing(self, experience: Experience) -> str:
        """Return the id of the first earlier candidate of the subtask that computed the same, or an empty string."""
        id_, agenda = experience.candidate.id, self.run.agenda
        agenda.agreeing.pop(id_, None)
        earlier = [item for item in agenda.ran.values() if item.subtask.id == self.subtask.id]
        firsts = [item for item in earlier if item.candidate.id not in {id_, *agenda.agreeing}]
        found = next((item.candidate.id for item in firsts if outputs_agree(item, experience)), "")
        if found:
            agenda.agreeing[id_] = found
        return found

    @property
    def none_ran(self) -> bool:
        """Whether every candidate so far failed."""
        return not any(item.observation.ran for item in self.experiences)

    @property
    def none_suffices(self) -> bool:
        """Whether candidates ran, but each of them shows nothing of its result, or contradicts the subtask."""
        ran = [item for item in self.experiences if item.observation.ran]
        return bool(ran) and not any(
            is_informative(result_text(item.observation)) and not find_objection(item) for item in ran
        )

    async def close_losers(self, winner: str | None) -> None:
        """Close the branches of all candidates but one."""
        await close_branches(branch for candidate, branch in self.branches.items() if candidate != winner)


@heuristic("comparing code", lambda code: code.strip())
def fingerprint(code: str) -> str:
    """Return a string that is equal for snippets that differ only in layout and comments."""
    with suppress(ValueError, RecursionError):  # a number with too many digits, or code that is nested too deeply
        if (tree := parse_python(code)).body:
            return ast.dump(tree)
    return code.strip()


# Rounds of self-debugging: if no candidate of a subtask ran, each kind of failure is repaired once (section 3.4).


async def run_debug_round(attempt: Attempt, round_: int) -> None:
    """Run one round of self-debugging if needed, after searching again with the failure.

    Each distinct failure of the previous round is repaired once (section 3.4). If candidates ran but none shows a
    result, or all contradict the subtask, the best of them is rewritten once.
    """
    latest = [item for item in attempt.experiences if item.candidate.round == round_ - 1]
    if attempt.none_ran:
        await _repair_each(attempt, distinct_failures(latest), round_)
    elif round_ == 1 and attempt.none_suffices and attempt.run.model.name != OFFLINE:
        best, _ = select(latest, [api.path for api in attempt.search.apis], attempt.run.task.text)
        with suppress(BudgetExceeded, EndpointError):  # candidates that ran remain selectable; the next request raises
            await _repair_each(attempt, [best], round_)


async def _repair_each(attempt: Attempt, failures: Sequence[Experience], round_: int) -> None:
    """Search with the first failure, and repair all of them."""
    if failures:
        await attempt.search.search_again(failures[0])
    attempt.state.branch.expect(len(failures))
    async with task_group() as group:
        for failed in failures:
            group.start_soon(_repair, attempt, failed, round_)
    await attempt.rerun_outdated()


async def _repair(attempt: Attempt, failed: Experience, round_: int) -> None:
    run, subtask = attempt.run, attempt.subtask
    inputs = DebugInputs(
        run.task,
        subtask,
        attempt.search.apis,
        attempt.state.experience,
        failed,
        run.settings.tests,
        passages=attempt.search.passages,
        context_tokens=run.subtask_context_tokens,
    )
    failed_id = failed.candidate.id
    id_ = f"{failed_id.partition('r')[0]}r{round_}"
    drafts = [draft async for draft in ask_code(run, "debug", inputs, subject=failed_id)]
    for draft in drafts[:1]:
        parent = attempt.state.parent
        await attempt.try_candidate(
            Candidate(id_, subtask.id, draft.code, round_, failed_id, problem=draft.problem, parent=parent)
        )
