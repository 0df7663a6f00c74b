"""Drafts for one step: calls of the available APIs, and documented examples adapted to the task."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.documentation import (
    DocumentationPool,
    Slice,
    called_names,
    example_blocks,
    find_slices,
    loaded_names,
    mutates,
    stored_names,
)
from exploracoder_jupyter.llm.offline.drafts import bind_parameters, role_match
from exploracoder_jupyter.llm.offline.goals import Draft, Goal, deduplicate
from exploracoder_jupyter.llm.offline.task import Value, shape_of
from exploracoder_jupyter.llm.offline.words import (
    name_stems,
    nesting_depth,
    parse_parameters,
    return_type,
    shape_similarity,
    similarity,
)

# Adapts documented examples to the task: their literals are replaced by values of the task that are alike.
#
# Literals that remain count against a draft, because an example that is merely pasted does not do the task.
# Keywords that the task does not mention are dropped, and a scalar is nested as deep as the literal that it
# replaces.

_ADAPTATION_BEAM_WIDTH = 12


@dataclass(slots=True)
class _Slot:
    nodes: list[ast.expr]
    shape: str
    name: str
    """The parameter or variable that it is assigned to."""
    keyword: ast.keyword | None = None


@dataclass(frozen=True, slots=True)
class _Assignment:
    gain: float = 0.0
    code_by_slot: Mapping[int, str] = field(default_factory=dict)
    used: frozenset[int] = frozenset()
    last: int = -1


def adapt_example(example_slice: Slice, api: ApiDoc, goal: Goal, *, limit: int = 3) -> list[Draft]:
    """Return the slice with the task's values in it, best first; without values that fit, the slice itself."""
    tree = _rename_reserved(example_slice, goal)
    slots = _find_slots(tree, api)
    imports = tuple(map(ast.unparse, example_slice.imports))
    names = tuple(sorted(called_names(tree)))
    base = Draft(imports, (), "", (api.path,), type=example_slice.type, names=names)
    return [_fill_slots(base, tree, slots, assignment, goal) for assignment in _assignments(slots, goal)[:limit]]


def _rename_reserved(example_slice: Slice, goal: Goal) -> ast.Module:
    """Return the slice as a program whose own variables do not have reserved names."""
    tree = ast.Module([*example_slice.statements, ast.Expr(example_slice.result)], [])
    own = {name for node in example_slice.statements for name in stored_names(node, whole=True)}
    if own & goal.reserved:
        tree = copy.deepcopy(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in own & goal.reserved:
                node.id = f"{node.id}_"
    return tree


def _find_slots(tree: ast.Module, api: ApiDoc) -> list[_Slot]:
    slots: list[_Slot] = []
    slots_by_literal: dict[str, _Slot] = {}
    for node, name, keyword in _iter_literals(tree, api):
        shape, key = _literal_shape(node), ast.dump(node)
        if key in slots_by_literal and shape != "int":
            slots_by_literal[key].nodes.append(node)
            continue
        slots_by_literal[key] = _Slot([node], shape, name, keyword)
        slots.append(slots_by_literal[key])
    return slots


def _iter_literals(
    node: ast.AST, api: ApiDoc, name: str = "", keyword: ast.keyword | None = None
) -> Iterator[tuple[ast.expr, str, ast.keyword | None]]:
    """Yield the outermost literals below a node, in order, with the parameter or variable of each."""
    is_flag = keyword is not None and isinstance(node, ast.Constant) and isinstance(node.value, bool)
    if isinstance(node, ast.expr) and (is_flag or _literal_shape(node) not in ("", "None", "bool")):
        yield node, name, keyword
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield from _iter_literals(node.value, api, node.targets[0].id)
    elif isinstance(node, ast.Call):
        yield from _iter_literals(node.func, api)
        is_documented = ast.unparse(node.func).rpartition(".")[2] == api.name
        names = [one.name for one in parse_parameters(api) if one.kind == "positional"] if is_documented else []
        for index, argument in enumerate(node.args):
            yield from _iter_literals(argument, api, names[index] if index < len(names) else name)
        for item in node.keywords:
            yield from _iter_literals(item.value, api, item.arg or "", item)
    elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.JoinedStr)):
        for child in ast.iter_child_nodes(node):
            yield from _iter_literals(child, api, name if isinstance(node, (ast.List, ast.Tuple)) else "")


def _literal_shape(node: ast.expr) -> str:
    """Return the shape of a literal, of `range(...)` and of `'a b'.split()`; empty for anything else."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            return "list[int]"
        receiver = isinstance(node.func, ast.Attribute) and node.func.attr == "split" and node.func.value
        return "list[str]" if isinstance(receiver, ast.Constant) else ""
    try:
        return shape_of(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        return ""


def _assignments(slots: Sequence[_Slot], goal: Goal) -> list[_Assignment]:
    """Return ways to assign the values to the slots, best first: a beam search over the values in the task's order."""
    beam = [_Assignment()]
    for value in sorted((v for v in goal.values if v.id >= 0), key=lambda v: (v.start, -v.end)):
        extended = list(beam)
        for assignment in beam:
            if not value.covered_ids & assignment.used:
                extended.extend(_place_value(assignment, value, slots))
        beam = sorted(extended, key=lambda assignment: -assignment.gain)[:_ADAPTATION_BEAM_WIDTH]
    return beam


def _place_value(assignment: _Assignment, value: Value, slots: Sequence[_Slot]) -> Iterator[_Assignment]:
    for index, slot in enumerate(slots):
        code, gain = _fit_value(value, slot)
        if index in assignment.code_by_slot or gain <= 0.3:
            continue
        gain += 0.5 * (len(value.members) or 1) - (0.1 if index < assignment.last else 0.0)
        yield _Assignment(
            assignment.gain + gain,
            {**assignment.code_by_slot, index: code},
            assignment.used | value.covered_ids,
            max(index, assignment.last),
        )


def _fit_value(value: Value, slot: _Slot) -> tuple[str, float]:
    role_score = 0.6 * role_match(value, slot.name) if slot.name else 0.0
    extra_depth = nesting_depth(slot.shape) - nesting_depth(value.shape)
    if extra_depth > 0 and value.shape in ("int", "float") and ("int" in slot.shape or "float" in slot.shape):
        return "[" * extra_depth + value.code + "]" * extra_depth, 0.35 + role_score
    if slot.shape == "bool":
        return value.code, 0.0
    shape_score = shape_similarity(value.shape, slot.shape)
    return value.code, (shape_score + role_score if shape_score or role_score >= 1 else 0.0)


def _fill_slots(base: Draft, tree: ast.Module, slots: Sequence[_Slot], assignment: _Assignment, goal: Goal) -> Draft:
    replaced: dict[ast.AST, str] = {}
    dropped: set[ast.AST] = set()
    penalty = 0.0
    for index, slot in enumerate(slots):
        if index in assignment.code_by_slot:
            replaced.update((node, assignment.code_by_slot[index]) for node in slot.nodes)
        elif slot.keyword is not None and not any(
            similarity(word, part) >= 0.75 for word in goal.words for part in name_stems(slot.name)
        ):
            dropped.add(slot.keyword)
            penalty += 0.1
        else:
            penalty += 0.8 if nesting_depth(slot.shape) else 0.5 if slot.shape == "str" else 0.35
    *statements, result = (ast.unparse(_rewrite(node, replaced, dropped)) for node in tree.body)
    return replace(base, statements=tuple(statements), result=result, used=assignment.used, penalty=penalty)


def _rewrite(node: Any, replaced: Mapping[ast.AST, str], dropped: Collection[ast.AST]) -> Any:
    """Return a copy of a node, or of a part of one, with other code for some nodes and without the dropped ones."""
    if isinstance(node, list):
        return [_rewrite(part, replaced, dropped) for part in node if part not in dropped]
    if not isinstance(node, ast.AST):
        return node
    if node in replaced:
        return ast.parse(replaced[node], mode="eval").body
    parts = {name: _rewrite(part, replaced, dropped) for name, part in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**parts), node)


# Drafts for one step: calls of the available APIs, from signatures, examples and observed attributes.


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
