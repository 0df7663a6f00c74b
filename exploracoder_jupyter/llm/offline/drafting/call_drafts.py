"""Drafts for one step: calls of the available APIs, from signatures and observed attributes."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.drafting.draft import Draft, deduplicate
from exploracoder_jupyter.llm.offline.drafting.parameter_binding import Binding, CallContext, bind_parameters
from exploracoder_jupyter.llm.offline.inputs.documentation_pool import DocumentationPool, import_location
from exploracoder_jupyter.llm.offline.inputs.signature_parameters import mutates, parse_parameters, return_type
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.word_matching import best_similarity, name_stems

_MAX_MEMBERS = 6
"""How many methods and properties of the latest result are drafted besides what the search found."""


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
    words = context.call_context.words
    members = [api for variable in context.variables[:1] for api in context.pool.rank_members(variable.shape, words)]
    for api in dict.fromkeys([*context.pool.rank_apis(words)[:apis], *members[:_MAX_MEMBERS]]):
        found.extend(call_drafts(api, context))
    for variable in context.variables[:3]:
        found.extend(attribute_drafts(variable, context))
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
            (f"from {module} import {name}", *_needed_imports(binding, context)),
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
    receivers = [value for value in context.variables if context.pool.has_member(value.shape, api)]
    for receiver in receivers[:2]:
        unknown = 0.4 if receiver.shape in ("", "object") else 0.0
        base = Draft((), (), receiver.code, used=receiver.covered_ids, penalty=unknown - 0.2)
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


def _needed_imports(binding: Binding, context: StepContext) -> tuple[str, ...]:
    """Return the imports of the constants among the arguments."""
    return tuple(value.import_line for value in context.pool.constants if value.id in binding.used)


def _is_called_on_class(api: ApiDoc, owner: str) -> bool:
    """Return whether a method is called on its class, judging by its name and documentation."""
    is_shown = re.search(rf"\b{owner}\.{api.name}\(", api.description) is not None
    return is_shown or api.name.startswith(("from_", "of", "parse", "read", "load", "now", "today", "create", "from"))


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
        imports = _needed_imports(binding, context)
        call_draft = Draft(imports, (), call, (api.path,), binding.used, binding.penalty, return_type(api), (api.name,))
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
        if (
            value.id < 0
            or value.columns
            or not argument_count
            or value.covered_ids & base.used
            or not required <= argument_count
        ):
            continue
        star = "*" if argument_count > 1 and required > 1 else ""
        name = base.result if base.result.isidentifier() else _variable_name(api.path.split(".")[-2])
        setup = () if name == base.result else (f"{name} = {base.result}",)
        loop = f"for item in {value.code}:\n    {name}.{api.name}({star}item)"
        owner = api.path.rpartition(".")[0]
        yield base.then(Draft((), (*setup, loop), name, (api.path,), value.covered_ids, 0.45, owner, (api.name,)))


def _argument_count(shape: str) -> int:
    """Return how many arguments an item of a sequence provides; 0 if the shape is not a sequence."""
    if not shape.startswith("list["):
        return 0
    inner = shape[5:-1]
    return inner.count(",") + 1 if inner.startswith("tuple[") else 1


def attribute_drafts(variable: Value, context: StepContext) -> list[Draft]:
    """Draft the observed attributes of a variable that match the words; a method is called without arguments."""
    matching = [
        member
        for member in context.attributes.get(variable.code, ())
        if best_match(context.call_context.words, member.removesuffix("()")) >= 0.75
    ]
    return [
        Draft((), (), f"{variable.code}.{member}", (), variable.covered_ids, -0.5, "", (member.removesuffix("()"),))
        for member in matching
    ]


def best_match(words: Sequence[str], name: str) -> float:
    """Return the best similarity of any word to the attribute's name."""
    return max((best_similarity(word, name_stems(name)) for word in words), default=0.0)
