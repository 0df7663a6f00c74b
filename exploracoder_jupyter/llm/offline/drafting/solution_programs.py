"""Whole programs for `solve` and `repair`: every variant worth trying, best first.

The explored program comes first, unchanged, if it binds the names that the task wants. The others follow by their
scores, each combined with conversions of its result (`list(...)`, `sorted(...)`, ...) that the wording or the type
suggests. A program that ran and failed its check shows the type of its result: it is continued by one more step. The
check of the task is read for the names that it needs, never for expected values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import Experience, Task
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.program_search import ScoredDraft, Search, is_relevant
from exploracoder_jupyter.llm.offline.drafting.result_conversions import (
    IDENTITY,
    Idiom,
    find_idioms,
)
from exploracoder_jupyter.llm.offline.inputs.code_names import stored_names
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.goals import Goal, clause_goals
from exploracoder_jupyter.llm.offline.inputs.observations import explored_code, observe_results, prune, state_variables
from exploracoder_jupyter.llm.offline.inputs.task_clauses import split_clauses
from exploracoder_jupyter.llm.offline.inputs.task_values import find_targets
from exploracoder_jupyter.llm.offline.inputs.wanted_result import solution_form
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_similarity, name_stems
from exploracoder_jupyter.text.python_code import parse_python

_REPETITION_COST = 0.12
"""Score deducted for each similar variant ranked before."""
_CRASH_WEIGHT = 2
"""How many repetitions a crash counts as."""
_MAX_DRAFTS = 60
_MAX_FURTHER = 4
"""How many programs continue one that ran."""
_MAX_LOSS = 0.3
"""By how much their score may be lower."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program to try."""

    code: str
    score: float
    draft: Draft
    """The program before its result was converted: if it fails to run, so do its siblings."""
    is_unconverted: bool = True
    """Whether the result is used without conversion."""
    fulfilled: tuple[int, ...] = ()
    """Whether it binds every wanted name, and how many of the task's data and clauses it serves."""


class SolutionPrograms:
    """The programs for a task, which learn from attempts."""

    def __init__(self, task: Task, pool: DocumentationPool, experience: Sequence[Experience]) -> None:
        self._task, self._pool, self._experience = task, pool, tuple(experience)
        self._form = solution_form(task)
        self._text = split_clauses(task.text, limit=8)[-1]
        self._goal = self._form.goal(task)
        self._clauses = clause_goals(split_clauses(task.text, limit=8), self._goal)
        self._attempts: list[Experience] = []
        self._found: dict[str, Variant] = {}
        self._crashes: dict[tuple[str, ...], float] = {}
        self._add(self._search().programs())
        self._explored = self._explored_variants()

    def next_program(self, attempts: Sequence[Experience]) -> str:
        """Return the best program not tried yet; empty if there is none."""
        for item in attempts[len(self._attempts) :]:
            self._attempts.append(item)
            self._learn(item)
        tried = {_normalize(item.candidate.code) for item in attempts}
        lines = {line for item in attempts if crashed(item) and (line := failing_line(item))}
        untried = (code for code in self.ranked() if not lines.intersection(code.splitlines()))
        return next((code for code in untried if _normalize(code) not in tried), "")

    def ranked(self) -> list[str]:
        """Return the programs, best first.

        What does not bind every wanted name, omits texts or containers of the task, or calls nothing for a clause is
        left out if others do not.
        """
        most = max((variant.fulfilled for variant in self._found.values()), default=())
        complete = [variant for variant in self._found.values() if variant.fulfilled == most]
        return [variant.code for variant in (*self._explored, *_diversify(complete, self._crashes))]

    def _served_clauses(self, draft: Draft) -> int:
        """Count the clauses of which a word is in the names or the documentation of what a draft calls."""
        apis = [api for path in draft.paths if (api := self._pool.lookup(path))]
        keywords = re.findall(r"(\w+)=", draft.result)
        names = {part for name in (*draft.names, *keywords) for part in name_stems(name)}
        words = names.union(*(self._pool.text_words(api) for api in apis))
        return sum(any(best_similarity(word, words) >= 0.75 for word in goal.words) for goal in self._clauses)

    def _variant(self, item: Experience) -> Variant | None:
        return self._found.get(item.candidate.code) or next(
            (variant for variant in self._explored if variant.code == item.candidate.code), None
        )

    def _search(self) -> Search:
        return Search(self._goal, self._pool, observe_results(self._experience, self._attempts))

    def _add(self, drafts: Sequence[ScoredDraft]) -> None:
        relevant = [item for item in drafts if is_relevant(item.draft, self._goal, self._pool)]
        for item in relevant[:_MAX_DRAFTS]:
            for variant in self._convert(item):
                if variant.code not in self._found or self._found[variant.code].score < variant.score:
                    self._found[variant.code] = variant

    def _learn(self, item: Experience) -> None:
        """Continue a program that ran: by its type, its result may be converted or used further.

        One that did not run is dropped with its conversions, and its APIs are avoided.
        """
        variant = self._variant(item)
        if variant is None:
            return
        type_ = dict(item.observation.names).get(self._form.names[-1], "").removeprefix("builtins.")
        if crashed(item) or type_ == "NoneType":
            self._avoid(variant)
        elif variant.is_unconverted:
            typed = replace(variant.draft, type=type_ or variant.draft.type)
            further = [step for step in self._search().extend(typed) if step.score > variant.score - _MAX_LOSS]
            self._add([ScoredDraft(typed, variant.score), *further[:_MAX_FURTHER]])

    def _avoid(self, broken: Variant) -> None:
        for key in _similarity_keys(broken.draft):
            self._crashes[key] = self._crashes.get(key, 0) + (1 if key[0] == "api" else _CRASH_WEIGHT)
        if broken.is_unconverted:
            self._found = {
                code: variant
                for code, variant in self._found.items()
                if variant is broken or variant.draft != broken.draft
            }

    def _convert(self, item: ScoredDraft) -> Iterator[Variant]:
        """Yield programs that define the wanted names, with conversions of the draft's result."""
        draft, names = item.draft, self._form.names
        is_complete = set(names[:-1]) <= _bound_names("\n".join(draft.statements))
        fulfilled = (int(is_complete), len(_used_data(draft, self._goal)), self._served_clauses(draft))
        for idiom in find_idioms(self._text, draft.type):
            code = _to_code(draft, names[-1], idiom)
            if code:
                code = self._form.apply(prune(code, names))
                yield Variant(code, item.score - idiom.cost, draft, idiom == IDENTITY, fulfilled)

    def _explored_variants(self) -> list[Variant]:
        """Return the explored program, if it binds the wanted names, or covers a task that names none.

        Its result is converted if the wording requests it. A program that omits values of the task is rejected.
        """
        ran = [item for item in self._experience if item.observation.ran]
        code, result = explored_code(ran)
        names, types = self._form.names, {variable.code: variable.shape for variable in state_variables(ran)}
        binds_names = set(names) <= _bound_names(code) & set(types)
        is_whole_task = not find_targets(self._task.text) and not self._task.check and len(ran) == len(self._experience)
        if self._form.function or not result or not (binds_names or is_whole_task):
            return []
        draft = Draft((), tuple(code.splitlines()), names[-1] if binds_names else result)
        most = max((_count_values(variant.code, self._goal) for variant in self._found.values()), default=0)
        if _count_values(prune(code, names), self._goal) < most:
            return []
        idiom = find_idioms(self._text, types.get(draft.result, ""))[0]
        codes = [(each, prune(_to_code(draft, names[-1], each), names)) for each in dict.fromkeys((idiom, IDENTITY))]
        return [Variant(code, 0.0, draft, each == IDENTITY) for each, code in codes if code]


def _used_data(draft: Draft, goal: Goal) -> set[int]:
    """Return the texts and containers of the task that a program uses; numbers may only describe the result."""
    data = (value for value in goal.values if not (value.members or value.is_hint or value.shape in ("int", "float")))
    return {value.id for value in data} & draft.used


def _normalize(code: str) -> str:
    return ast.unparse(parse_python(code))


def _count_values(code: str, goal: Goal) -> int:
    """Count the values of the task that a program contains."""
    literals = (ast.unparse(parse_python(value.code)) for value in goal.values if not value.is_hint)
    return sum(bool(literal) and literal in code for literal in literals)


def _bound_names(code: str) -> set[str]:
    return {name for node in parse_python(code).body for name in stored_names(node, whole=True)}


def _diversify(variants: Sequence[Variant], crashes: Mapping[tuple[str, ...], float]) -> list[Variant]:
    """Order the variants by score, less a cost for every repetition of a base, a first step or an API."""
    remaining = sorted(variants, key=lambda variant: -variant.score)
    keys = {variant.code: _similarity_keys(variant.draft) for variant in remaining}
    count = dict(crashes)
    diversified: list[Variant] = []
    while remaining:
        best = max(
            remaining,
            key=lambda variant: variant.score - _REPETITION_COST * sum(count.get(key, 0) for key in keys[variant.code]),
        )
        remaining.remove(best)
        diversified.append(best)
        for key in keys[best.code]:
            count[key] = count.get(key, 0) + 1
    return diversified


def _similarity_keys(draft: Draft) -> tuple[tuple[str, ...], ...]:
    """Return what a draft may share with others: its code, its first step, its APIs."""
    first = ("first", *draft.statements[:1]) if len(draft.statements) > 1 else ()
    apis = (("api", path) for path in draft.paths)
    return tuple(key for key in ((draft.code("_"),), first, ("apis", *draft.paths), *apis) if key)


def _to_code(draft: Draft, target: str, idiom: Idiom) -> str:
    code = replace(draft, result=idiom.apply(draft.result)).code(target)
    return code if parse_python(code).body else ""


def crashed(item: Experience) -> bool:
    """Return whether the program itself failed, rather than its check."""
    return not item.observation.ran and not item.observation.unmet


def failing_line(item: Experience) -> str:
    """Return the top-level line that raised, according to the traceback; empty if unknown."""
    trace = item.observation.error.traceback if item.observation.error else ""
    match = re.search(r"(?:Cell In\[\d+\]|File \"<\w+[^\n\"]*>\"), line (\d{1,9})\b", trace)
    lines = item.candidate.code.splitlines()
    return lines[int(match.group(1)) - 1] if match and int(match.group(1)) <= len(lines) else ""
