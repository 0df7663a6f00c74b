"""Drafts for one step: calls of the available APIs, from signatures, examples and observed attributes."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, deduplicate
from exploracoder_jupyter.llm.offline.drafting.example_adaptation import adapt_example
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import CallContext, bind_parameters
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, import_location
from exploracoder_jupyter.llm.offline.inputs.example_slices import (
    Slice,
    example_blocks,
    find_slices,
    loaded_names,
    mutates,
    stored_names,
)
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import parse_parameters, return_type
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.value_kinds import shape_similarity
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_similarity, name_stems
from exploracoder_jupyter.text.tokenizer import stem

_KEY_WORDS = frozenset(stem(word) for word in ("key", "field", "column", "entry", "index", "position", "item"))


@dataclass(frozen=True, slots=True)
class StepContext:
    """The context of a step: what its calls can use, and the known attributes of variables."""

    call_context: CallContext
    pool: DocumentationPool
    attributes: Mapping[str, Sequence[str]]
    """Public attributes by variable, as observed; methods end in `()`."""

    @property
    def variables(self) -> list[Value]:
        """The variables of the state, the latest first."""
        return [value for value in self.call_context.values if value.id < 0]


def step_drafts(context: StepContext, *, apis: int = 24) -> list[Draft]:
    """Return all drafts for a step."""
    found: list[Draft] = []
    for api in context.pool.rank_apis(context.call_context.words)[:apis]:
        found.extend(call_drafts(api, context))
        found.extend(example_drafts(api, context))
    for variable in context.variables[:3]:
        found.extend(attribute_drafts(variable, context))
        found.extend(_item_drafts(variable, context))
    return deduplicate(found)


def call_drafts(api: ApiDoc, context: StepContext) -> list[Draft]:
    """Draft calls from the signature."""
    if api.kind in ("method", "property"):
        return list(_method_drafts(api, context))
    module, name = import_location(api)
    if not module:
        return []
    return [
        Draft(
            (f"from {module} import {name}",),
            (),
            f"{name}({', '.join(binding.arguments)})",
            (api.path,),
            binding.used,
            binding.penalty,
            return_type(api),
            (name,),
        )
        for binding in bind_parameters(api, context.call_context)
    ]


def _method_drafts(api: ApiDoc, context: StepContext) -> Iterator[Draft]:
    owner = api.path.rpartition(".")[0]
    class_name = owner.rpartition(".")[2]
    receivers = [value for value in context.variables if is_instance_of(value.shape, class_name)]
    for receiver in receivers[:2]:
        base = Draft((), (), receiver.code, used=receiver.covered_ids, penalty=-0.2)
        yield from _method_call_drafts(base, api, context)
        yield from _loop_drafts(base, api, context)
    if not receivers:
        owner_class = context.pool.lookup(owner)
        if owner_class is not None and owner_class.kind == "class":
            for constructor in call_drafts(owner_class, context)[:3]:
                yield from _method_call_drafts(constructor, api, context)
                yield from _loop_drafts(constructor, api, context)
        module, name = import_location(api)
        if module and api.kind == "method":
            class_call = Draft(
                (f"from {module} import {name}",),
                (),
                name,
                penalty=0.1 if _is_called_on_class(api, name) else 0.8,
                names=(name,),
            )
            yield from _method_call_drafts(class_call, api, context)


def _is_called_on_class(api: ApiDoc, owner: str) -> bool:
    """Return whether a method is called on its class, judging by its name and documentation."""
    is_shown = re.search(rf"\b{owner}\.{api.name}\(", api.description) is not None
    return is_shown or api.name.startswith(("from_", "of", "parse", "read", "load", "now", "today", "create", "from"))


def is_instance_of(type_: str, class_name: str) -> bool:
    """Return whether an observed type is the class, by name."""
    return type_.rpartition(".")[2].lower() == class_name.lower()


def _method_call_drafts(base: Draft, api: ApiDoc, context: StepContext) -> Iterator[Draft]:
    """Draft the method on the result of `base`, with the unused values."""
    unused = tuple(value for value in context.call_context.values if not value.covered_ids & base.used)
    if api.kind == "property":
        yield base.then(
            Draft((), (), f"{base.result}.{api.name}", (api.path,), type=return_type(api), names=(api.name,))
        )
        return
    for binding in bind_parameters(api, replace(context.call_context, values=unused), limit=2):
        call = f"{base.result}.{api.name}({', '.join(binding.arguments)})"
        call_draft = Draft((), (), call, (api.path,), binding.used, binding.penalty, return_type(api), (api.name,))
        yield _mutating_draft(base, call_draft, api) if mutates(api) else base.then(call_draft)


def _mutating_draft(base: Draft, call_draft: Draft, api: ApiDoc) -> Draft:
    """Turn a call that changes its object into a statement, with the object as the result."""
    owner = api.path.rpartition(".")[0]
    if base.result.isidentifier():
        return base.then(replace(call_draft, statements=(call_draft.result,), result=base.result, type=owner))
    name = _variable_name(owner.rpartition(".")[2])
    call = call_draft.result.removeprefix(base.result)
    statements = (f"{name} = {base.result}", f"{name}{call}")
    return base.then(replace(call_draft, statements=statements, result=name, type=owner))


def _variable_name(class_name: str) -> str:
    """Return a variable name for an object of a class: `sorted_list` for `SortedList`."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", class_name)
    name = "_".join(words).lower()
    return name if name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name) else "made"


def _loop_drafts(base: Draft, api: ApiDoc, context: StepContext) -> Iterator[Draft]:
    """Draft a loop over a sequence that calls a mutating method: `for item in rows: obj.method(*item)`."""
    accepted = [p for p in parse_parameters(api) if p.kind in ("positional", "varargs")]
    required = sum(p.required for p in accepted)
    if not accepted or not mutates(api):
        return
    for value in context.call_context.values:
        argument_count = _argument_count(value.shape)
        if value.id < 0 or not argument_count or value.covered_ids & base.used or not required <= argument_count:
            continue
        star = "*" if argument_count > 1 and required > 1 else ""
        name = base.result if base.result.isidentifier() else _variable_name(api.path.split(".")[-2])
        setup = () if name == base.result else (f"{name} = {base.result}",)
        loop = f"for item in {value.code}:\n    {name}.{api.name}({star}item)"
        owner = api.path.rpartition(".")[0]
        yield base.then(Draft((), (*setup, loop), name, (api.path,), value.covered_ids, 0.25, owner, (api.name,)))


def _argument_count(shape: str) -> int:
    """Return how many arguments an item of a sequence provides; 0 if the shape is not a sequence."""
    if not shape.startswith("list["):
        return 0
    inner = shape[5:-1]
    return inner.count(",") + 1 if inner.startswith("tuple[") else 1


def attribute_drafts(variable: Value, context: StepContext) -> list[Draft]:
    """Draft the use of observed attributes of a variable that match the words."""
    found: list[Draft] = []
    for attribute in context.attributes.get(variable.code, ()):
        name = attribute.removesuffix("()")
        if best_match(context.call_context.words, name) < 0.75:
            continue
        path = f"{variable.shape}.{name}"
        api = context.pool.lookup(path)
        base = Draft((), (), variable.code, used=variable.covered_ids, penalty=-0.3)
        if api is not None and api.signature:
            found.extend(_method_call_drafts(base, api, context))
            continue
        literals = [literal for literal in context.call_context.values if literal.id >= 0 and not literal.members]
        calls = [f"{attribute}"]
        if attribute.endswith("()"):
            calls.extend(f"{name}({literal.code})" for literal in literals[:2])
        for number, call in enumerate(calls):
            used = variable.covered_ids | (literals[number - 1].covered_ids if number else frozenset())
            found.append(Draft((), (), f"{variable.code}.{call}", (), used, -0.2, "", (name,)))
    return found


def _item_drafts(variable: Value, context: StepContext) -> list[Draft]:
    """Draft the items of a variable by a key or a position in the text: `data['name']`."""
    has_keys = "keys()" in context.attributes.get(variable.code, ()) or variable.shape.startswith("dict")
    key_shape = "str" if has_keys else "int" if variable.shape.startswith(("list", "tuple")) else ""
    return [
        Draft((), (), f"{variable.code}[{value.code}]", (), variable.covered_ids | value.covered_ids, -0.3, "", ())
        for value in context.call_context.values
        if value.id >= 0 and value.shape == key_shape and _KEY_WORDS.intersection(value.roles)
    ]


def best_match(words: Sequence[str], name: str) -> float:
    """Return the best similarity of any word to the attribute's name."""
    return max((best_similarity(word, name_stems(name)) for word in words), default=0.0)


def example_drafts(api: ApiDoc, context: StepContext, *, limit: int = 5, name: str | None = None) -> list[Draft]:
    """Adapt the API's documented examples to the values, also with the state's variables in place of their objects."""
    found: list[Draft] = []
    call_name = api.name if name is None else name
    for block in example_blocks(api)[:6]:
        for example_slice in find_slices(block, call_name, limit=limit):
            completed_slice = add_imports(example_slice, api, context.pool)
            found.extend(_add_penalty(adapt_example(completed_slice[0], api, context.call_context), completed_slice[1]))
            for variable in context.variables[:3]:
                for shortened in _substitute_variable(example_slice, variable):
                    completed, penalty = add_imports(shortened, api, context.pool)
                    drafts = adapt_example(completed, api, context.call_context, limit=2)
                    found.extend(
                        _add_penalty(
                            [replace(draft, used=draft.used | variable.covered_ids) for draft in drafts], penalty
                        )
                    )
    return found


def _add_penalty(drafts: Iterable[Draft], penalty: float) -> list[Draft]:
    return [replace(draft, penalty=draft.penalty + penalty) for draft in drafts]


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
    """Use a variable of the state instead of an object that the example creates for itself."""
    free = set(example_slice.undefined_names)
    for name in sorted(loaded_names(example_slice.result)):
        assignments = [node for node in example_slice.statements if name in stored_names(node, whole=True)]
        if not (assignments or name in free) or not _can_replace(variable, name, assignments):
            continue
        remaining = _remove_uses(example_slice.statements, name)
        needed = loaded_names(example_slice.result).union(*(loaded_names(node) for node in remaining))
        imports = tuple(node for node in example_slice.imports if _imported_names(node) & needed)
        result = _RenameName(name, variable.code).visit(ast.parse(ast.unparse(example_slice.result), mode="eval")).body
        yield replace(
            example_slice,
            statements=tuple(remaining),
            result=result,
            imports=imports,
            undefined_names=tuple(sorted((free - {name}) & needed)),
        )


def _imported_names(node: ast.stmt) -> set[str]:
    if not isinstance(node, (ast.Import, ast.ImportFrom)):
        return set()
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _can_replace(variable: Value, name: str, assignments: Sequence[ast.stmt]) -> bool:
    """Return whether the names agree, or the object is created by the variable's class or by a similar literal."""
    last = variable.shape.rpartition(".")[2].lower()
    if name.lower() in (variable.code.lower(), last) or (len(name) == 1 and last.startswith(name.lower())):
        return True
    for node in assignments:
        constructed = node.value if isinstance(node, ast.Assign) else None
        if isinstance(constructed, ast.Call) and ast.unparse(constructed.func).rpartition(".")[2].lower() == last:
            return True
        if isinstance(constructed, (ast.List, ast.Dict, ast.Tuple, ast.Constant)):
            kind = type(constructed).__name__.lower()
            return shape_similarity(variable.shape.partition("[")[0], kind if kind != "constant" else "str") > 0.5
    return False


def _remove_uses(statements: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """Return the statements that remain when `name` comes from elsewhere: those that neither set nor read it."""
    return [node for node in statements if name not in stored_names(node) and name not in loaded_names(node)]


class _RenameName(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._new, node.ctx) if node.id == self._old else node
