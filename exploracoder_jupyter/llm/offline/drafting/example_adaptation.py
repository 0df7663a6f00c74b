"""Documented examples adapted to the task: their literals replaced by the task's values of the same build and role.

What an example leaves unreplaced counts against it (an example that is merely pasted does not do the task); keywords
that the task does not speak of are dropped; a scalar is nested as deep as the literal that it replaces.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.draft import Draft
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import Surroundings, role_match
from exploracoder_jupyter.llm.offline.inputs.example_slices import Slice, called, stores
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import parameters
from exploracoder_jupyter.llm.offline.inputs.task_values import Value, shape_of
from exploracoder_jupyter.llm.offline.inputs.value_kinds import likeness_of_shapes, rank
from exploracoder_jupyter.llm.offline.inputs.word_matching import likeness, parts

_BEAM = 12


@dataclass(slots=True)
class Hole:
    """A literal of an example that a value of the task may take the place of."""

    nodes: list[ast.expr]
    shape: str
    name: str
    """The parameter or variable that it is given to."""
    keyword: ast.keyword | None = None


@dataclass(frozen=True, slots=True)
class _Filling:
    gain: float = 0.0
    filled: Mapping[int, str] = field(default_factory=dict)
    used: frozenset[int] = frozenset()
    last: int = -1


def adapted(slice_: Slice, api: ApiDoc, around: Surroundings, *, most: int = 3) -> list[Draft]:
    """The slice with the task's values in it, best first; with nothing to put in, the slice itself."""
    tree = ast.Module([*copy.deepcopy(slice_.statements), ast.Expr(copy.deepcopy(slice_.result))], [])
    _rename(tree, slice_, around.reserved)
    holes = _holes(tree, api)
    return [_draft(tree, slice_, api, holes, filling, around) for filling in _fillings(holes, around)[:most]]


def _rename(tree: ast.Module, slice_: Slice, reserved: frozenset[str]) -> None:
    """Give the example's own variables other names than those that are taken."""
    own = {name for node in slice_.statements for name in stores(node, whole=True)} & reserved
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in own:
            node.id = f"{node.id}_"


def _holes(tree: ast.Module, api: ApiDoc) -> list[Hole]:
    found: list[Hole] = []
    shared: dict[str, Hole] = {}
    for node, name, keyword in _literals(tree, api):
        shape = _literal_shape(node)
        key = ast.dump(node)
        if key in shared and shape != "int":
            shared[key].nodes.append(node)
            continue
        hole = Hole([node], shape, name, keyword)
        shared[key] = hole
        found.append(hole)
    return found


def _literals(
    node: ast.AST, api: ApiDoc, name: str = "", keyword: ast.keyword | None = None
) -> Iterator[tuple[ast.expr, str, ast.keyword | None]]:
    """The outermost literals below a node, in order, with the parameter or variable each is given to."""
    switch = keyword is not None and isinstance(node, ast.Constant) and isinstance(node.value, bool)
    if isinstance(node, ast.expr) and (switch or _literal_shape(node) not in ("", "None", "bool")):
        yield node, name, keyword
        return
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        yield from _literals(node.value, api, target.id if isinstance(target, ast.Name) else "")
        if not isinstance(target, ast.Name):
            yield from _literals(target, api)
    elif isinstance(node, ast.Call):
        yield from _literals(node.func, api)
        names = _positional(node, api)
        for index, argument in enumerate(node.args):
            yield from _literals(argument, api, names[index] if index < len(names) else name)
        for item in node.keywords:
            yield from _literals(item.value, api, item.arg or "", item)
    elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.JoinedStr)):
        for child in ast.iter_child_nodes(node):
            yield from _literals(child, api, name if isinstance(node, (ast.List, ast.Tuple)) else "")


def _positional(call: ast.Call, api: ApiDoc) -> list[str]:
    last = (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else call.func.id
        if isinstance(call.func, ast.Name)
        else ""
    )
    return [p.name for p in parameters(api) if p.kind == "positional"] if last == api.name else []


def _literal_shape(node: ast.expr) -> str:
    """The shape of a literal, of `range(...)` and of `'a b'.split()`; empty for anything else."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            return "list[int]"
        method = isinstance(node.func, ast.Attribute) and node.func.attr == "split" and node.func.value
        return "list[str]" if isinstance(method, ast.Constant) else ""
    try:
        return shape_of(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        return ""


def _fillings(holes: Sequence[Hole], around: Surroundings) -> list[_Filling]:
    """Ways to put the values into the holes, best first: a beam over the values in the task's order."""
    beam = [_Filling()]
    values = sorted((v for v in around.values if v.id >= 0), key=lambda v: (v.start, -v.end))
    for value in values:
        grown = list(beam)
        for filling in beam:
            if not value.covers & filling.used:
                grown.extend(_placed(filling, value, holes))
        beam = sorted(grown, key=lambda filling: -filling.gain)[:_BEAM]
    return beam


def _placed(filling: _Filling, value: Value, holes: Sequence[Hole]) -> Iterator[_Filling]:
    for index, hole in enumerate(holes):
        if index in filling.filled:
            continue
        code, gain = _fit(value, hole)
        if gain <= 0.3:
            continue
        gain -= 0.1 if index < filling.last else 0.0
        gain += 0.5 * (len(value.members) or 1)
        yield _Filling(
            filling.gain + gain, {**filling.filled, index: code}, filling.used | value.covers, max(index, filling.last)
        )


def _fit(value: Value, hole: Hole) -> tuple[str, float]:
    """The code that fills the hole, and how well it does."""
    role = 0.6 * role_match(value, hole.name) if hole.name else 0.0
    deeper = rank(hole.shape) - rank(value.shape)
    if deeper > 0 and value.shape in ("int", "float") and ("int" in hole.shape or "float" in hole.shape):
        return "[" * deeper + value.code + "]" * deeper, 0.35 + role
    if hole.shape == "bool":
        return value.code, 0.0
    alike = likeness_of_shapes(value.shape, hole.shape)
    return value.code, (alike + role if alike or role >= 1 else 0.0)


def _draft(
    tree: ast.Module, slice_: Slice, api: ApiDoc, holes: Sequence[Hole], filling: _Filling, around: Surroundings
) -> Draft:
    replaced: dict[int, str] = {}
    dropped: set[int] = set()
    debt = 0.0
    for index, hole in enumerate(holes):
        if index in filling.filled:
            replaced.update((id(node), filling.filled[index]) for node in hole.nodes)
        elif hole.keyword is not None and not any(
            likeness(w, p) >= 0.75 for w in around.words for p in parts(hole.name)
        ):
            dropped.add(id(hole.keyword))
            debt += 0.1
        else:
            debt += _leftover(hole, around)
    filled = _Replace(replaced, dropped).visit(copy.deepcopy(_marked(tree)))
    body = [ast.unparse(node) for node in ast.iter_child_nodes(filled)]
    return Draft(
        imports=tuple(ast.unparse(node) for node in slice_.imports),
        statements=tuple(body[:-1]),
        result=body[-1],
        paths=(api.path,),
        used=filling.used,
        debt=debt,
        type=slice_.type,
        names=tuple(sorted(called(tree))),
    )


def _leftover(hole: Hole, around: Surroundings) -> float:
    """What it costs to keep a literal of the example."""
    if isinstance(hole.nodes[0], ast.Constant) and str(hole.nodes[0].value).lower() in around.text.lower().split():
        return 0.0
    if rank(hole.shape):
        return 0.8
    return 0.5 if hole.shape == "str" else 0.35


def _marked(tree: ast.Module) -> ast.Module:
    """The tree with every node carrying its identity, so that copies can be told."""
    for node in ast.walk(tree):
        node.mark = id(node)  # type: ignore[attr-defined]
    return tree


class _Replace(ast.NodeTransformer):
    def __init__(self, replaced: Mapping[int, str], dropped: set[int]) -> None:
        self._replaced = replaced
        self._dropped = dropped

    def visit(self, node: ast.AST) -> ast.AST:
        mark = getattr(node, "mark", 0)
        if mark in self._replaced:
            return ast.parse(self._replaced[mark], mode="eval").body
        if isinstance(node, ast.Call):
            node.keywords = [item for item in node.keywords if getattr(item, "mark", 0) not in self._dropped]
        return self.generic_visit(node)
