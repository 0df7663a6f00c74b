"""Drafts for one step: calls of the APIs at hand on the values at hand, from signatures, examples and attributes."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, distinct
from exploracoder_jupyter.llm.offline.drafting.example_adaptation import adapted
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import Surroundings, bindings
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import Pool, home_of
from exploracoder_jupyter.llm.offline.inputs.example_slices import Slice, loads, mutates, samples, slices, stores
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import parameters, returns
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.value_kinds import likeness_of_shapes
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_likeness, parts, stem

_KEYS = frozenset(stem(word) for word in ("key", "field", "column", "entry", "index", "position", "item"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step happens: what surrounds it and what is known of the variables' attributes."""

    around: Surroundings
    pool: Pool
    attributes: Mapping[str, Sequence[str]]
    """Public attributes by variable, as told; methods end in `()`."""

    @property
    def variables(self) -> list[Value]:
        """The variables of the state, the latest first."""
        return [value for value in self.around.values if value.id < 0]


def steps(place: Place, *, apis: int = 24) -> list[Draft]:
    """All drafts for a step."""
    found: list[Draft] = []
    for api in place.pool.ranked(place.around.words)[:apis]:
        found.extend(call_drafts(api, place))
        found.extend(example_drafts(api, place))
    for variable in place.variables[:3]:
        found.extend(attribute_drafts(variable, place))
        found.extend(_items(variable, place))
    return distinct(found)


def call_drafts(api: ApiDoc, place: Place) -> list[Draft]:
    """Calls made from the signature."""
    if api.kind in ("method", "property"):
        return list(_method_drafts(api, place))
    module, name = home_of(api)
    if not module:
        return []
    return [
        Draft(
            (f"from {module} import {name}",),
            (),
            f"{name}({', '.join(binding.arguments)})",
            (api.path,),
            binding.used,
            binding.debt,
            returns(api),
            (name,),
        )
        for binding in bindings(api, place.around)
    ]


def _method_drafts(api: ApiDoc, place: Place) -> Iterator[Draft]:
    owner = api.path.rpartition(".")[0]
    class_name = owner.rpartition(".")[2]
    fitting = [v for v in place.variables if is_of(v.shape, class_name)]
    for receiver in fitting[:2]:
        base = Draft((), (), receiver.code, used=receiver.covers, debt=-0.2)
        yield from _on(base, api, place)
        yield from _spread(base, api, place)
    if not fitting:
        built = place.pool.lookup(owner)
        if built is not None and built.kind == "class":
            for start in call_drafts(built, place)[:3]:
                yield from _on(start, api, place)
                yield from _spread(start, api, place)
        module, name = home_of(api)
        if module and api.kind == "method":
            direct = Draft(
                (f"from {module} import {name}",), (), name, debt=0.1 if _on_class(api, name) else 0.8, names=(name,)
            )
            yield from _on(direct, api, place)


def _on_class(api: ApiDoc, owner: str) -> bool:
    """Whether a method is called on its class, as far as its name and documentation tell."""
    shown = re.search(rf"\b{owner}\.{api.name}\(", api.description) is not None
    return shown or api.name.startswith(("from_", "of", "parse", "read", "load", "now", "today", "create", "from"))


def is_of(type_: str, class_name: str) -> bool:
    """Whether an observed type is the class, by name."""
    return type_.rpartition(".")[2].lower() == class_name.lower()


def _on(base: Draft, api: ApiDoc, place: Place) -> Iterator[Draft]:
    """The method on what `base` makes, with what values are left."""
    left = tuple(value for value in place.around.values if not value.covers & base.used)
    if api.kind == "property":
        yield base.then(Draft((), (), f"{base.result}.{api.name}", (api.path,), type=returns(api), names=(api.name,)))
        return
    for binding in bindings(api, replace(place.around, values=left), most=2):
        call = f"{base.result}.{api.name}({', '.join(binding.arguments)})"
        later = Draft((), (), call, (api.path,), binding.used, binding.debt, returns(api), (api.name,))
        yield _changing(base, later, api) if mutates(api) else base.then(later)


def _changing(base: Draft, later: Draft, api: ApiDoc) -> Draft:
    """A call that changes its object is a statement, and the object is the result."""
    owner = api.path.rpartition(".")[0]
    if base.result.isidentifier():
        return base.then(replace(later, statements=(later.result,), result=base.result, type=owner))
    name = _variable_for(owner.rpartition(".")[2])
    call = later.result.removeprefix(base.result)
    statements = (f"{name} = {base.result}", f"{name}{call}")
    return base.then(replace(later, statements=statements, result=name, type=owner))


def _variable_for(class_name: str) -> str:
    """A name for an object of a class: `sorted_list` for `SortedList`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", class_name)
    name = "_".join(words).lower()
    return name if name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name) else "made"


def _spread(base: Draft, api: ApiDoc, place: Place) -> Iterator[Draft]:
    """A method that changes its object, once for every item of a sequence: `for item in rows: obj.method(*item)`."""
    wanted = [p for p in parameters(api) if p.kind in ("positional", "varargs")]
    required = sum(p.required for p in wanted)
    if not wanted or not mutates(api):
        return
    for value in place.around.values:
        width = _width(value.shape)
        if value.id < 0 or not width or value.covers & base.used or not required <= width:
            continue
        star = "*" if width > 1 and required > 1 else ""
        name = base.result if base.result.isidentifier() else _variable_for(api.path.split(".")[-2])
        made = () if name == base.result else (f"{name} = {base.result}",)
        loop = f"for item in {value.code}:\n    {name}.{api.name}({star}item)"
        owner = api.path.rpartition(".")[0]
        yield base.then(Draft((), (*made, loop), name, (api.path,), value.covers, 0.25, owner, (api.name,)))


def _width(shape: str) -> int:
    """How many arguments an item of a sequence makes; 0 when it is none."""
    if not shape.startswith("list["):
        return 0
    inner = shape[5:-1]
    return inner.count(",") + 1 if inner.startswith("tuple[") else 1


def attribute_drafts(variable: Value, place: Place) -> list[Draft]:
    """Attributes that a variable was seen to have and that the words speak of."""
    found: list[Draft] = []
    for shown in place.attributes.get(variable.code, ()):
        name = shown.removesuffix("()")
        if best_of(place.around.words, name) < 0.75:
            continue
        path = f"{variable.shape}.{name}"
        api = place.pool.lookup(path)
        base = Draft((), (), variable.code, used=variable.covers, debt=-0.3)
        if api is not None and api.signature:
            found.extend(_on(base, api, place))
            continue
        literals = [v for v in place.around.values if v.id >= 0 and not v.members]
        calls = [f"{shown}"]
        if shown.endswith("()"):
            calls.extend(f"{name}({v.code})" for v in literals[:2])
        for number, call in enumerate(calls):
            used = variable.covers | (literals[number - 1].covers if number else frozenset())
            found.append(Draft((), (), f"{variable.code}.{call}", (), used, -0.2, "", (name,)))
    return found


def _items(variable: Value, place: Place) -> list[Draft]:
    """Items of a variable by a key or a position that the words speak of: `data['name']`."""
    keyed = "keys()" in place.attributes.get(variable.code, ()) or variable.shape.startswith("dict")
    wanted = "str" if keyed else "int" if variable.shape.startswith(("list", "tuple")) else ""
    return [
        Draft((), (), f"{variable.code}[{value.code}]", (), variable.covers | value.covers, -0.3, "", ())
        for value in place.around.values
        if value.id >= 0 and value.shape == wanted and _KEYS.intersection(value.roles)
    ]


def best_of(words: Sequence[str], name: str) -> float:
    """How well any word names the attribute."""
    return max((best_likeness(word, parts(name)) for word in words), default=0.0)


def example_drafts(api: ApiDoc, place: Place, *, most: int = 5, name: str | None = None) -> list[Draft]:
    """The API's documented examples with the values in them, and with the state's variables for their objects."""
    found: list[Draft] = []
    wanted = api.name if name is None else name
    for block in samples(api)[:6]:
        for slice_ in slices(block, wanted, most=most):
            completed = complete(slice_, api, place.pool)
            found.extend(_costed(adapted(completed[0], api, place.around), completed[1]))
            for variable in place.variables[:3]:
                for cut in _with_variable(slice_, variable):
                    short, debt = complete(cut, api, place.pool)
                    drafts = adapted(short, api, place.around, most=2)
                    found.extend(_costed([replace(d, used=d.used | variable.covers) for d in drafts], debt))
    return found


def _costed(drafts: Iterable[Draft], debt: float) -> list[Draft]:
    return [replace(draft, debt=draft.debt + debt) for draft in drafts]


def complete(slice_: Slice, api: ApiDoc, pool: Pool) -> tuple[Slice, float]:
    """The slice with imports for its free names; the debt is 1 for each name that nothing defines."""
    imports, debt = list(slice_.imports), 0.0
    for name in slice_.free:
        line = pool.import_for(name, api)
        if line is None:
            debt += 1.0
        else:
            imports.extend(ast.parse(line).body)
    return replace(slice_, imports=tuple(imports), free=()), debt


def _with_variable(slice_: Slice, variable: Value) -> Iterator[Slice]:
    """The slice with a variable of the state in place of an object that the example makes for itself."""
    free = set(slice_.free)
    for name in sorted(loads(slice_.result)):
        makers = [node for node in slice_.statements if name in stores(node, whole=True)]
        if not (makers or name in free) or not _may_stand_for(variable, name, makers):
            continue
        kept = _without(slice_.statements, name)
        needed = loads(slice_.result).union(*(loads(node) for node in kept))
        imports = tuple(node for node in slice_.imports if _imported(node) & needed)
        result = _Rename(name, variable.code).visit(ast.parse(ast.unparse(slice_.result), mode="eval")).body
        yield replace(
            slice_, statements=tuple(kept), result=result, imports=imports, free=tuple(sorted((free - {name}) & needed))
        )


def _imported(node: ast.stmt) -> set[str]:
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return set()
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _may_stand_for(variable: Value, name: str, makers: Sequence[ast.stmt]) -> bool:
    """Whether the names agree, or the object is made by a call of the variable's class or by a literal like it."""
    last = variable.shape.rpartition(".")[2].lower()
    if name.lower() in (variable.code.lower(), last) or (len(name) == 1 and last.startswith(name.lower())):
        return True
    for node in makers:
        made = node.value if isinstance(node, ast.Assign) else None
        if isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2].lower() == last:
            return True
        if isinstance(made, (ast.List, ast.Dict, ast.Tuple, ast.Constant)):
            kind = type(made).__name__.lower()
            return likeness_of_shapes(variable.shape.partition("[")[0], kind if kind != "constant" else "str") > 0.5
    return False


def _without(statements: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """The statements that are still needed when `name` comes from elsewhere: none that makes or changes it."""
    return [node for node in statements if name not in stores(node) and name not in loads(node)]


class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._new, node.ctx) if node.id == self._old else node
