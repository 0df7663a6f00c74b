"""Drafts for one step: calls of the available APIs, from signatures, examples and observed attributes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, deduplicate
from exploracoder_jupyter.llm.offline.drafting.example_adaptation import adapt_example
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import bind_parameters
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool
from exploracoder_jupyter.llm.offline.inputs.example_slices import (
    Slice,
    example_blocks,
    find_slices,
    loaded_names,
    mutates,
    stored_names,
)
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import return_type
from exploracoder_jupyter.llm.offline.inputs.task_goal import Goal
from exploracoder_jupyter.llm.offline.inputs.task_values import Value


def step_drafts(goal: Goal, pool: DocumentationPool, *, apis: int = 24) -> list[Draft]:
    """Return all drafts for a step."""
    found: list[Draft] = []
    for api in pool.rank_apis(goal.words)[:apis]:
        found.extend(call_drafts(api, goal, pool))
        found.extend(example_drafts(api, goal, pool))
    return deduplicate(found)


def call_drafts(api: ApiDoc, goal: Goal, pool: DocumentationPool) -> list[Draft]:
    """Draft calls from the signature."""
    if api.kind in ("method", "property"):
        return list(_method_drafts(api, goal, pool))
    module, _, name = api.path.rpartition(".")
    if not module:
        return []
    base = Draft((f"from {module} import {name}",), (), "", (api.path,), type=return_type(api), names=(name,))
    return [
        replace(base, result=f"{name}({one.code})", used=one.used, penalty=one.penalty)
        for one in bind_parameters(api, goal)
    ]


def _method_drafts(api: ApiDoc, goal: Goal, pool: DocumentationPool) -> Iterator[Draft]:
    owner = api.path.rpartition(".")[0]
    class_name = owner.rpartition(".")[2].lower()
    receivers = [value for value in goal.variables if value.shape.rpartition(".")[2].lower() == class_name]
    for receiver in receivers[:2]:
        base = Draft((), (), receiver.code, used=receiver.covered_ids, penalty=-0.2)
        yield from _method_call_drafts(base, api, goal)
    if not receivers:
        owner_class = pool.lookup(owner)
        if owner_class is not None and owner_class.kind == "class":
            for constructor in call_drafts(owner_class, goal, pool)[:3]:
                yield from _method_call_drafts(constructor, api, goal)


def _method_call_drafts(base: Draft, api: ApiDoc, goal: Goal) -> Iterator[Draft]:
    unused = tuple(value for value in goal.values if not value.covered_ids & base.used)
    if api.kind == "property":
        member = f"{base.result}.{api.name}"
        yield base.then(Draft((), (), member, (api.path,), type=return_type(api), names=(api.name,)))
        return
    for binding in bind_parameters(api, replace(goal, values=unused), limit=2):
        call = f"{base.result}.{api.name}({binding.code})"
        call_draft = Draft((), (), call, (api.path,), binding.used, binding.penalty, return_type(api), (api.name,))
        yield _mutating_draft(base, call_draft, api) if mutates(api) else base.then(call_draft)


def _mutating_draft(base: Draft, call_draft: Draft, api: ApiDoc) -> Draft:
    """Turn a call that changes its object into a statement, with the object as the result."""
    owner = api.path.rpartition(".")[0]
    if base.result.isidentifier():
        return base.then(replace(call_draft, statements=(call_draft.result,), result=base.result, type=owner))
    statements = (f"made = {base.result}", f"made{call_draft.result.removeprefix(base.result)}")
    return base.then(replace(call_draft, statements=statements, result="made", type=owner))


def example_drafts(
    api: ApiDoc, goal: Goal, pool: DocumentationPool, *, limit: int = 5, name: str | None = None
) -> list[Draft]:
    """Adapt the API's documented examples to the values, also with the state's variables in place of their objects."""
    found: list[Draft] = []
    call_name = api.name if name is None else name
    for block in example_blocks(api)[:6]:
        for example_slice in find_slices(block, call_name, limit=limit):
            forms = [(example_slice, frozenset[int](), 3)]
            forms += [
                (shortened, variable.covered_ids, 2)
                for variable in goal.variables[:3]
                for shortened in _substitute_variable(example_slice, variable)
            ]
            for form, used, most in forms:
                completed, penalty = add_imports(form, api, pool)
                for draft in adapt_example(completed, api, goal, limit=most):
                    found.append(replace(draft, used=draft.used | used, penalty=draft.penalty + penalty))
    return found


def add_imports(example_slice: Slice, api: ApiDoc, pool: DocumentationPool) -> tuple[Slice, float]:
    """Add imports for the slice's free names; the penalty is 1 for each name that nothing defines."""
    imports, penalty = list(example_slice.imports), 0.0
    for name in example_slice.undefined_names:
        line = pool.import_for(name, api)
        if line is None:
            penalty += 1.0
        else:
            imports.extend(ast.parse(line).body)
    return replace(example_slice, imports=tuple(imports), undefined_names=()), penalty


def _substitute_variable(example_slice: Slice, variable: Value) -> Iterator[Slice]:
    """Use a variable of the state instead of an object of the example that has its name or is of its class."""
    undefined = set(example_slice.undefined_names)
    for name in sorted(loaded_names(example_slice.result)):
        made = [node for node in example_slice.statements if name in stored_names(node, whole=True)]
        if not (made or name in undefined) or not _can_replace(variable, name, made):
            continue
        kept = [node for node in example_slice.statements if name not in stored_names(node) | loaded_names(node)]
        needed = loaded_names(example_slice.result).union(*(loaded_names(node) for node in kept))
        yield replace(
            example_slice,
            statements=tuple(kept),
            result=_rename(example_slice.result, name, variable.code),
            undefined_names=tuple(sorted((undefined - {name}) & needed)),
        )


def _can_replace(variable: Value, name: str, made: Sequence[ast.stmt]) -> bool:
    class_name = variable.shape.rpartition(".")[2].lower()
    calls = [node.value for node in made if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    constructors = {ast.unparse(call.func).rpartition(".")[2].lower() for call in calls}
    return name.lower() in (variable.code.lower(), class_name) or class_name in constructors


def _rename(expression: ast.expr, old: str, new: str) -> ast.expr:
    renamed = copy.deepcopy(expression)
    for node in ast.walk(renamed):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return renamed
