"""The documentation for one request of the offline model, with examples sliced into the parts that run."""

from __future__ import annotations

import ast
import builtins
import doctest
import math
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.task import Value, evaluate_literal, shape_of
from exploracoder_jupyter.llm.offline.words import (
    STOP_WORDS,
    best_similarity,
    content_stems,
    is_abbreviation,
    name_stems,
)
from exploracoder_jupyter.pipeline.ports import Knowledge
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin

# Parses documented examples into statements, and slices them into the parts that lead to one call.
#
# A slice contains what its last statement needs, by definition and use: imports, assignments, and bare method calls
# on variables that it needs, unless the documentation shows that such a call only displays something.

_MUTATOR_NAME = re.compile(
    r"(?:add|append|insert|update|remove|discard|extend|push|set|put|clear|sort|reverse|register|del)(?:_|$)"
)
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an example."""

    node: ast.stmt
    output: str = ""
    """The output that the documentation shows for it."""
    from_doctest: bool = False
    """Whether it comes from a doctest, where an expression without output evaluates to None."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Statements that lead to a result, and the result's expression."""

    statements: tuple[ast.stmt, ...]
    result: ast.expr
    imports: tuple[ast.stmt, ...]
    undefined_names: tuple[str, ...]
    """Names that it uses and does not define."""
    type: str
    """The shape of the documented result, if it is shown."""


@lru_cache(maxsize=4096)
def example_blocks(api: ApiDoc) -> tuple[tuple[Statement, ...], ...]:
    """Return the API's examples: with their outputs where the docstring has doctests."""
    examples: list[doctest.Example] = []
    with suppress(ValueError):
        examples = doctest.DocTestParser().get_examples(api.description) if ">>>" in api.description else []
    tests = tuple(
        Statement(node, example.want.strip(), True)
        for example in examples
        if not example.exc_msg and not example.options.get(doctest.SKIP)
        for node in parse_python(example.source).body
    )
    if tests:
        return (tests,)
    blocks = (tuple(Statement(node) for node in parse_python(code).body) for code in api.examples)
    return tuple(filter(None, blocks))


@lru_cache(maxsize=4096)
def find_slices(block: tuple[Statement, ...], name: str, *, limit: int = 6) -> tuple[Slice, ...]:
    """Return slices that end in a statement which calls `name` (any call if it is empty), in order."""
    found: list[Slice] = []
    for index, statement in enumerate(block):
        shows_nothing = statement.from_doctest and not statement.output
        result = (_mutated_variable(statement.node) if shows_nothing else None) or _result_expression(statement.node)
        if result is not None and (not name or name in called_names(statement.node)):
            found.append(_make_slice(block, index, result))
    return tuple(found[:limit])


def _mutated_variable(node: ast.stmt) -> ast.expr | None:
    call = node.value if isinstance(node, ast.Expr) else None
    is_method = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    root = _root_name(call) if call is not None and is_method else None
    return ast.Name(root, ast.Load()) if root else None


def mutates(api: ApiDoc) -> bool:
    """Return whether a method changes its object and returns nothing, according to its documentation."""
    if re.search(r"->\s*None\b", api.signature):
        return True
    shown = [statement for block in example_blocks(api) for statement in block]
    calls = [one for one in shown if isinstance(one.node, ast.Expr) and api.name in called_names(one.node)]
    if calls and any(one.output for one in shown):
        return not any(one.output for one in calls)
    documents_return = re.search(r"\breturns?\b|->", f"{api.signature} {api.description}", re.IGNORECASE)
    return not documents_return and bool(_MUTATOR_NAME.match(api.name))


def _result_expression(node: ast.stmt) -> ast.expr | None:
    match node:
        case ast.Expr(ast.Call(ast.Name("print" | "pprint"), args)):
            return args[0] if args else None
        case ast.Expr(ast.Compare(shown, [ast.Eq()])) | ast.Assert(ast.Compare(shown, [ast.Eq()])):
            return shown
        case ast.Expr(shown) | ast.Assign([_], shown) | ast.Assert(shown):
            return shown
        case ast.For():
            return ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
    return None


def _make_slice(block: Sequence[Statement], end: int, result: ast.expr) -> Slice:
    last = block[end].node
    changes_result = (
        isinstance(result, ast.Name) and isinstance(last, ast.Expr) and not isinstance(last.value, ast.Name)
    )
    tail = [last] if changes_result else []
    shown = [item.node for item in block[:end] if isinstance(item.node, ast.Expr) and item.output]
    before = [item.node for item in block[:end] if item.node not in shown]
    nodes, needed = slice_backwards(before, loaded_names(result).union(*(loaded_names(node) for node in tail)))
    imports = tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
    statements = tuple(node for node in (*nodes, *tail) if node not in imports)
    return Slice(statements, result, imports, tuple(sorted(needed - _BUILTINS)), _documented_type(block[end].output))


def slice_backwards(nodes: Sequence[ast.stmt], needed: set[str]) -> tuple[list[ast.stmt], set[str]]:
    """Return the statements that define or change the names, and the names that they read and do not define."""
    kept: list[ast.stmt] = []
    for node in reversed(nodes):
        if _affects(node, needed):
            kept.insert(0, node)
            needed = (needed - stored_names(node, whole=True)) | loaded_names(node)
    return kept, needed


def _affects(node: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement binds one of the names, or calls something with it."""
    if isinstance(node, ast.Assign):
        return bool(stored_names(node) & names)
    calls = [item for item in ast.walk(node) if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call)]
    called_with = {name for call in calls if not is_print(call) for name in loaded_names(call)}
    return bool((stored_names(node) | called_with) & names)


def is_print(node: ast.AST) -> bool:
    """Return whether a statement only prints."""
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(("print(", "pprint("))


def _root_name(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def loaded_names(node: ast.AST) -> set[str]:
    """Return the names that a piece of code reads, except those bound inside it."""
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
    parameter_names = {arg.arg for item in ast.walk(node) if isinstance(item, ast.arguments) for arg in item.args}
    bound = {
        name.id
        for item in ast.walk(node)
        if isinstance(item, (ast.comprehension, ast.For))
        for name in ast.walk(item.target)
        if isinstance(name, ast.Name)
    }
    return found - parameter_names - bound


def stored_names(node: ast.stmt, *, whole: bool = False) -> set[str]:
    """Return the names that a statement binds, or changes by item or attribute (`whole`: binds only)."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    if isinstance(node, (ast.Assign, ast.AugAssign)) and not whole:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {root for target in targets if (root := _root_name(target))}
    return found - loaded_names(node) if whole and isinstance(node, ast.AugAssign) else found


def called_names(node: ast.AST) -> set[str]:
    """Return the last names of what a piece of code calls or reads as an attribute."""
    found = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return found | {
        item.func.id for item in ast.walk(node) if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)
    }


def _documented_type(output: str) -> str:
    """Return the shape of a printed result; a class name for `Name(...)` and `<module.Name object ...>`."""
    if not output:
        return ""
    value = evaluate_literal(output)
    if value != output or output[:1] in "'\"":
        return shape_of(value)
    head = output.lstrip("<").partition("(")[0].split(" ")[0].split("\n")[0]
    return head if head.replace(".", "").isidentifier() else ""


def contains_value(code: str, value: Value) -> bool:
    """Return whether a value occurs in a program as the same literal or name."""
    expected = [ast.dump(node.value) for node in parse_python(value.code).body if isinstance(node, ast.Expr)]
    nodes = (node for node in ast.walk(parse_python(code)) if isinstance(node, ast.expr))
    return any(ast.dump(node) in expected for node in nodes)


# The documentation available for one request, with scores of how well each part matches given words.

_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "dt": "datetime"}
"""Conventional abbreviations in examples that omit their imports."""


@dataclass(slots=True)
class DocumentationPool:
    """APIs that were retrieved or requested, with their retrieval ranks."""

    knowledge: Knowledge | None = None
    apis: dict[str, ApiDoc] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    _word_weights: dict[str, float] = field(default_factory=dict)

    def add(self, apis: Iterable[ApiDoc]) -> None:
        """Add APIs, best first."""
        for rank, api in enumerate(apis):
            self.apis.setdefault(api.path, api)
            self.ranks[api.path] = min(rank, self.ranks.get(api.path, 99))

    async def search(self, query: str, k: int) -> None:
        """Add what the knowledge finds."""
        if self.knowledge is not None and query.strip():
            self.add(item.api for item in await self.knowledge.search(query, k))

    def lookup(self, path: str) -> ApiDoc | None:
        """Return the API with this path, from the pool or from the knowledge."""
        if path not in self.apis and self.knowledge is not None:
            return self.knowledge.lookup(path)
        return self.apis.get(path)

    def word_weight(self, word: str) -> float:
        """Rate how distinctive a word is: high if rare in the pool's documentation, low if absent from all of it."""
        if word not in self._word_weights:
            named_count = sum(best_similarity(word, name_words(api)) > 0.5 for api in self.apis.values())
            mentioned_count = sum(word in text_words(api) for api in self.apis.values())
            total = max(1, len(self.apis))
            rarity = 1 + math.log((total + 1) / (named_count + 1))
            self._word_weights[word] = rarity if named_count else 0.6 if mentioned_count else 0.3
        return self._word_weights[word]

    def lookup_all(self, paths: Iterable[str]) -> list[ApiDoc]:
        """Return the APIs with these paths, without those that are not documented."""
        return [api for path in paths if (api := self.lookup(path))]

    def match_score(self, api: ApiDoc, words: Sequence[str]) -> float:
        """Score how well an API matches the words, from 0 to about 1.5."""
        weights = [self.word_weight(word) for word in words]
        if not weights:
            return 0.0
        names, text = name_words(api), text_words(api)
        score = sum(
            weight * max(best_similarity(word, names), 0.55 if word in text else 0.35 * best_similarity(word, text))
            for word, weight in zip(words, weights, strict=True)
        )
        return score / sum(weights) + self._prior(api, words)

    def _prior(self, api: ApiDoc, words: Sequence[str]) -> float:
        """Score an API by its retrieval rank, its examples, unrelated words in its name, and path depth."""
        own_words = [part for part in name_stems(api.name) if len(part) > 1]
        foreign = sum(best_similarity(part, words) < 0.5 and part not in STOP_WORDS for part in own_words)
        is_member = api.kind in ("method", "property")
        is_named_tuple = api.kind == "class" and re.fullmatch(rf"{api.name}\(.*", api.description)
        is_inherited = api.kind == "method" and is_inherited_from_builtin(api)
        is_exception = api.name.endswith(("Error", "Warning", "Exception"))
        is_unlikely = api.deprecated or is_exception or is_named_tuple or is_inherited
        penalty = 0.35 * (is_member and 0 < len(own_words) == foreign) + 0.5 * bool(is_unlikely)
        depth = api.path.count(".") - is_member - 1
        bonus = 0.1 * bool(api.examples or ">>>" in api.description) + 0.15 * (bool(own_words) and not foreign)
        return 0.25 / (1 + self.ranks.get(api.path, 99)) + bonus - 0.12 * foreign - 0.08 * depth - penalty

    def rank_apis(self, words: Sequence[str]) -> list[ApiDoc]:
        """Return the callables of the pool, those that match the words best first."""
        usable = [api for api in self.apis.values() if api.kind in ("function", "class", "method", "property")]
        return sorted(usable, key=lambda api: (-self.match_score(api, words), self.ranks.get(api.path, 99), api.path))

    def import_for(self, name: str, near: ApiDoc) -> str | None:
        """Return the import that defines a name which an example uses without importing it."""
        parts = near.path.split(".")
        parents = [".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
        for parent in parents:
            found = self.lookup(f"{parent}.{name}")
            if found is not None:
                module, _, attribute = found.path.rpartition(".")
                return f"from {module} import {attribute}" + (f" as {name}" if attribute != name else "")
        library = near.library
        if name in (library, library.partition(".")[0]):
            return f"import {name}"
        if name in _ALIASES:
            return f"import {_ALIASES[name]} as {name}"
        module = next((parent.rpartition(".")[0] for parent in parents if parent.rpartition(".")[2] == name), "")
        if module:
            return f"from {module} import {name}"
        if name in sys.stdlib_module_names:
            return f"import {name}"
        letters = library.replace("_", "").lower()
        is_short = 1 < len(name) <= 3 and name[0] == letters[0] and is_abbreviation(name, letters, omitted=99)
        return f"import {library} as {name}" if is_short else None  # such as `nx` for networkx


def name_words(api: ApiDoc) -> frozenset[str]:
    """Return the stems of the name, and of its class."""
    owner = api.path.split(".")[-2:-1] if api.kind in ("method", "property") else []
    return frozenset(part for name in (api.name, *owner) for part in name_stems(name))


def text_words(api: ApiDoc) -> frozenset[str]:
    """Return the stems of the first paragraph."""
    return _opening_stems(api.description)


@lru_cache(maxsize=20_000)
def _opening_stems(description: str) -> frozenset[str]:
    return frozenset(content_stems(description.partition("\n\n")[0][:600]))


def find_named_apis(text: str, apis: Iterable[ApiDoc]) -> list[ApiDoc]:
    """Return the APIs that a text names, by a word that looks like code: `use dijkstra_path`."""
    words = {word.rstrip(".") for word in re.findall(r"[A-Za-z_][\w.]*", text)}

    def is_named(name: str) -> bool:
        return name in words and (not name.islower() or "_" in name or f"`{name}" in text or f"{name}(" in text)

    return [api for api in apis if api.path in words or is_named(api.name)]
