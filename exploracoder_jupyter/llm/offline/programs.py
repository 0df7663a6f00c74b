"""Whole programs: chains of drafts with their scores, and every variant worth trying, best first."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc, Experience, Task
from exploracoder_jupyter.llm.offline.calls import example_drafts, step_drafts
from exploracoder_jupyter.llm.offline.documentation import (
    DocumentationPool,
    called_names,
    contains_value,
    name_words,
    stored_names,
    text_words,
)
from exploracoder_jupyter.llm.offline.drafts import IDENTITY, find_conversions
from exploracoder_jupyter.llm.offline.goals import (
    Draft,
    Goal,
    SolutionForm,
    deduplicate,
    explored_program,
    prune,
    solution_form,
    state_variables,
)
from exploracoder_jupyter.llm.offline.task import FORMAT_STEMS, Value, find_targets, mask_literals, split_clauses
from exploracoder_jupyter.llm.offline.words import best_similarity, name_stems

# The search for programs: drafts of one step, chains of steps, and their scores.
#
# A program is scored by how well its APIs match the task's words, by the share of the task's values that it uses,
# and by its penalties (leftover example data, guesses, length). The same score orders candidates of a subtask and
# whole programs.

_BEAM_WIDTH = 8
"""Programs that are extended by a further step."""


def score_draft(draft: Draft, goal: Goal, pool: DocumentationPool) -> float:
    """Score how well a draft satisfies the goal."""
    apis = pool.lookup_all(draft.paths)
    names = draft.name_words
    related = names.union(*(name_words(api) for api in apis))
    described = frozenset[str]().union(*(text_words(api) for api in apis))
    weights = [pool.word_weight(word) for word in goal.words]
    matched = [max(best_similarity(word, related), 0.5 * (word in described)) for word in goal.words]
    word_score = sum(w * m for w, m in zip(weights, matched, strict=True)) / sum(weights) if weights else 0.0
    unrelated = _unrelated_share(names, goal) + 0.6 * sum(_unrelated_share(name_stems(api.name), goal) for api in apis)
    prior = max((pool.match_score(api, goal.words) for api in apis), default=0.0)
    length = 0.05 * (len(draft.statements) + len(draft.result) / 60)
    coverage = _value_coverage(draft, goal)
    return 1.6 * word_score + 0.8 * prior + 2.0 * coverage - 0.4 * unrelated - draft.penalty - length


def word_share(draft: Draft, words: Sequence[str], pool: DocumentationPool) -> float:
    """Return the share of the words that the names or the documentation of what a draft calls match."""
    apis = pool.lookup_all(draft.paths)
    related = draft.name_words.union(*(text_words(api) | name_words(api) for api in apis))
    return sum(best_similarity(word, related) >= 0.5 for word in words) / len(words) if words else 1.0


def _unrelated_share(names: Collection[str], goal: Goal) -> float:
    return sum(best_similarity(name, goal.words) < 0.5 for name in names) / max(1, len(names))


def is_relevant(draft: Draft, goal: Goal, pool: DocumentationPool) -> bool:
    """Return whether anything that the draft calls matches a word of the goal, by its name or its documentation.

    A draft without calls is relevant if it uses an existing value, such as an item of a variable.
    """
    apis = pool.lookup_all(draft.paths)
    related_words = draft.name_words.union(*(text_words(api) for api in apis))
    if not draft.names:
        return bool(draft.used)
    return any(best_similarity(word, related_words) >= 0.5 for word in goal.words)


def _value_coverage(draft: Draft, goal: Goal) -> float:
    singles = [value for value in goal.values if not value.members]
    if not singles:
        return 0.6
    weights = [1.0 if value.shape in ("int", "float") else 1.5 for value in singles]
    used = sum(weight for value, weight in zip(singles, weights, strict=True) if value.id in draft.used)
    return used / sum(weights)


def rank_drafts(step: Goal, goal: Goal, pool: DocumentationPool, *, needs: str = "") -> list[Draft]:
    """Return the drafts of one step for a goal, best first; `needs` names a variable that they should use."""
    standalone_penalty = 0.2 if goal.values else 0.9
    scored = []
    for draft in deduplicate([*step_drafts(step, pool), *readme_drafts(step, pool)]):
        penalty = standalone_penalty if needs and not _uses_name(draft, needs) else 0.0
        scored.append(replace(draft, score=score_draft(draft, goal, pool) - penalty))
    return sorted(scored, key=lambda draft: -draft.score)


def _uses_name(draft: Draft, name: str) -> bool:
    return any(id_ < 0 for id_ in draft.used) or name in draft.result


def readme_drafts(goal: Goal, pool: DocumentationPool) -> list[Draft]:
    """Draft programs from the README's example programs."""
    knowledge = pool.knowledge
    if knowledge is None or not knowledge.libraries:
        return []
    overview, info = knowledge.overview(), knowledge.libraries[0]
    api = ApiDoc(f"{info.name}.", "module", "", overview.text, info.name, info.version, overview.examples[:12])
    return [
        replace(draft, paths=())
        for draft in example_drafts(api, goal, pool, limit=12, name="")
        if any(best_similarity(word, name_stems(name)) >= 0.75 for name in draft.names for word in goal.words)
    ]


def chain_drafts(
    first: Iterable[Draft], goals: Sequence[Goal], whole_goal: Goal, pool: DocumentationPool, targets: Sequence[str]
) -> list[Draft]:
    """Return programs of several steps: drafts followed by steps for later goals, scored as a whole."""
    beam = list(islice(first, _BEAM_WIDTH))
    for number, goal in enumerate(goals):
        name = targets[number] if number < len(targets) else f"result_{number + 1}"
        extended = [longer for draft in beam for longer in _extend(draft, name, goal, whole_goal, pool)]
        beam = sorted(extended, key=lambda draft: -draft.score)[:_BEAM_WIDTH]
    return beam


def _extend(draft: Draft, name: str, goal: Goal, whole_goal: Goal, pool: DocumentationPool) -> list[Draft]:
    stored = replace(draft, statements=(*draft.statements, f"{name} = {draft.result}"), result=name)
    variable = Value(-1, name, draft.type or "object", name_stems(name))
    unused = [value for value in goal.values if not value.covered_ids & draft.used]
    is_target = name in find_targets(whole_goal.text)
    found = []
    for following in step_drafts(goal.using((variable,), unused), pool, apis=10):
        if is_target or _uses_name(following, name):
            joined = stored.then(replace(following, used=following.used - {-1}))
            found.append(replace(joined, score=score_draft(joined, whole_goal, pool)))
    return sorted(found, key=lambda longer: -longer.score)[:_BEAM_WIDTH]


# Whole programs for `solve` and `repair`: every variant worth trying, best first.
#
# The explored program comes first if it binds the names that the task wants. Single calls, and chains of calls
# along the clauses of the task, follow by their scores. Each is combined with conversions of its result
# (`list(...)`, `sorted(...)`, ...) that the wording requests. The check of the task is read for the names that it
# needs and for how much it tests, never for expected values. A wrong program may pass a check that tests little,
# such as a length; with such a check, only programs are proposed that use every value of the task, serve each of
# its clauses and contain no data of an example.

_EXPLORED_SCORE = 100.0
"""Score of an explored program that uses every value of the task: above that of any other program."""
_SIZES_AND_TYPES = frozenset({"len", "shape", "size", "ndim", "dims", "count", "type", "isinstance", "hasattr"})

_TRIVIAL = frozenset({0, 1, None, ""})
"""Values that wrong results often have, too."""
_MAX_CLAUSES = 4
_MIN_WORD_SHARE = 0.3
"""How many of a task's words a program has to match, where the check proves little."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program to try."""

    code: str
    score: float
    base: str
    """The program before its result was converted: if it fails to run, so do its siblings."""
    is_unconverted: bool = True
    """Whether the result is used without conversion."""


def solution_variants(
    task: Task, pool: DocumentationPool, experience: Sequence[Experience], *, limit: int = 80
) -> list[Variant]:
    """Return programs for the task, best first; none that may pass its check without doing the task."""
    form = solution_form(task)
    goal = form.goal(task)
    clauses = split_clauses(task.text, limit=_MAX_CLAUSES)
    found: dict[str, Variant] = {}
    for draft in [*_explored_drafts(task, form, goal, experience), *_fresh_drafts(clauses, goal, pool)]:
        if not is_relevant(draft, goal, pool) or not _serves_clauses(draft, clauses, task, pool):
            continue
        for variant in _convert(draft, form, clauses[-1]):
            if _is_admissible(variant.code, task, goal, clauses) and (
                variant.code not in found or found[variant.code].score < variant.score
            ):
                found[variant.code] = variant
    return sorted(found.values(), key=lambda variant: -variant.score)[:limit]


def _serves_clauses(draft: Draft, clauses: Sequence[str], task: Task, pool: DocumentationPool) -> bool:
    """Return whether the draft serves every clause and calls nothing else, where the check proves little."""
    if not task.check or _proves_result(task.check):
        return True
    goals = [goal for goal in map(Goal.of, clauses) if goal.words]
    apis = [api for api in pool.lookup_all(draft.paths) if api.kind in ("function", "method")]
    words = [word for goal in goals for word in goal.words]
    return (
        word_share(draft, words, pool) >= _MIN_WORD_SHARE
        and all(is_relevant(draft, goal, pool) for goal in goals)
        and all(_name_matches(api, words) for api in apis)
    )


def _name_matches(api: ApiDoc, words: Sequence[str]) -> bool:
    """Return whether a word of the API's name is one of these; words for formats count only if it has no others."""
    stems = name_stems(api.name)
    parts = [part for part in stems if part not in FORMAT_STEMS] or stems
    return any(best_similarity(word, parts) >= 0.5 for word in words)


def _is_admissible(code: str, task: Task, goal: Goal, clauses: Sequence[str]) -> bool:
    """Return whether a program that passes the check of the task is likely to do the task.

    Without a check nothing is claimed of a solution, and every program is admissible.
    """
    if not code or not task.check:
        return bool(code)
    if _proves_result(task.check):
        return not goal.values or any(contains_value(code, value) for value in goal.values)
    words = (*name_stems(mask_literals(task.text)), *name_stems(" ".join(find_targets(task.text))))
    steps = called_names(parse_python(code)) - {"list", "tuple", "set", "dict", "str", "float", "int"}
    return (
        all(contains_value(code, value) for value in goal.values if not value.members)
        and len(steps) >= len(clauses)
        and not _has_foreign_data(code, goal.values, goal.callables, words)
    )


def _explored_drafts(task: Task, form: SolutionForm, goal: Goal, experience: Sequence[Experience]) -> Iterator[Draft]:
    """Yield the explored program, if it binds the wanted names, or covers a whole task that names none."""
    ran = [item for item in experience if item.observation.ran]
    explored = explored_program(ran, goal.values)
    bound = {name for line in explored.statements for node in parse_python(line).body for name in stored_names(node)}
    binds_names = set(form.names) <= bound & {value.code for value in state_variables(ran)}
    is_whole_task = not find_targets(task.text) and not task.check and len(ran) == len(experience)
    if not form.function and explored.result and (binds_names or is_whole_task):
        result = form.names[-1] if binds_names else explored.result
        is_whole = all(value.id in explored.used for value in goal.values if not value.members)
        yield replace(explored, result=result, score=_EXPLORED_SCORE if is_whole else 0.0)


def _fresh_drafts(clauses: Sequence[str], goal: Goal, pool: DocumentationPool) -> list[Draft]:
    """Return programs independent of the exploration: single calls, then chains along the clauses."""
    single_steps = rank_drafts(goal, goal, pool)
    found = single_steps[:30]
    if len(clauses) > 1:
        by_code = {value.code: value for value in goal.values}
        parts = [Goal.of(clause) for clause in clauses]
        goals = [replace(part, values=tuple(by_code.get(one.code, one) for one in part.values)) for part in parts]
        names = [next(iter(find_targets(text)), f"result_{number}") for number, text in enumerate(clauses, 1)]
        found.extend(chain_drafts(rank_drafts(goals[0], goals[0], pool), goals[1:], goal, pool, names))
    starts = [draft for draft in single_steps if draft.paths]
    return [*found, *chain_drafts(starts, [goal], goal, pool, ())]


def _convert(draft: Draft, form: SolutionForm, text: str) -> Iterator[Variant]:
    bound = {name for line in draft.statements for node in parse_python(line).body for name in stored_names(node)}
    if not set(form.names[:-1]) <= bound:
        return
    base = draft.code("_")
    for template, cost in find_conversions(text, draft.type).items():
        code = replace(draft, result=template.format(x=draft.result)).code(form.names[-1])
        pruned = prune(code, form.names)
        yield Variant(form.apply(pruned) if pruned else "", draft.score - cost, base, template == IDENTITY)


def _proves_result(check: str | None) -> bool:
    """Return whether a check compares a value with one that it states, rather than a size, a type, a part or a sign."""
    tree = parse_python(check or "")
    if not tree.body:
        return bool(check and check.strip())  # no Python: pairs of input and output, which are compared
    return any(_compares_value(node) for node in ast.walk(tree) if isinstance(node, ast.Compare))


def _compares_value(node: ast.Compare) -> bool:
    is_equality = all(isinstance(operator, ast.Eq) for operator in node.ops)
    is_interval = len(node.ops) > 1 and not any(isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops)
    is_distance = isinstance(node.left, ast.Call) and ast.unparse(node.left.func) == "abs"
    values = {item.value for item in ast.walk(node) if isinstance(item, ast.Constant)} - _TRIVIAL
    return (is_equality or is_interval or is_distance) and bool(values) and not _SIZES_AND_TYPES & called_names(node)


def _has_foreign_data(code: str, values: Sequence[Value], callables: Iterable[str], words: Iterable[str]) -> bool:
    """Return whether a program contains a number or a text that the task neither states nor describes."""
    stated = {item for source in (*(value.code for value in values), *callables) for item in _constants(source)}
    known = frozenset(words)
    return any(
        item not in stated and not (isinstance(item, str) and item and known.issuperset(name_stems(item)))
        for item in _constants(code)
    )


def _constants(code: str) -> list[object]:
    nodes = (node for node in ast.walk(parse_python(code)) if isinstance(node, ast.Constant))
    return [node.value for node in nodes if node.value is not None and not isinstance(node.value, bool)]
