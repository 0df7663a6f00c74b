"""The documentation available for one request, with scores of how well each part matches given words."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import cleandoc
from textwrap import dedent

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.task_values import Value
from exploracoder_jupyter.llm.offline.inputs.word_matching import STOP_WORDS, best_similarity, content_stems, name_stems
from exploracoder_jupyter.pipeline.ports import Knowledge
from exploracoder_jupyter.text.python_code import parse_python

_FIRST_CONSTANT = 5000
_MAX_READ = 4
"""Maximum number of classes whose source is read for constants."""


@dataclass(slots=True)
class DocumentationPool:
    """APIs that were retrieved or requested, with their retrieval ranks."""

    knowledge: Knowledge | None = None
    apis: dict[str, ApiDoc] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    constants: list[Value] = field(default_factory=list)
    """Members of enumerations that a text names."""
    _members: dict[str, list[ApiDoc]] | None = None
    _name_words: dict[str, frozenset[str]] = field(default_factory=dict)
    _text_words: dict[str, frozenset[str]] = field(default_factory=dict)
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

    async def find_constants(self, words: Sequence[str]) -> None:
        """Read classes that match the words and take no arguments for constants that the words name."""
        if self.knowledge is None:
            return
        classes = [api for api in self.rank_apis(words) if api.kind == "class" and api.signature in ("", "()")]
        for api in classes[:_MAX_READ]:
            tree = parse_python(dedent(await self.knowledge.source(api.path)))
            names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id.isupper()]
            module, _, owner = api.path.rpartition(".")
            for name in dict.fromkeys(names):
                if all(best_similarity(part, words) >= 0.8 for part in name_stems(name)):
                    number, line = _FIRST_CONSTANT + len(self.constants), f"from {module} import {owner}"
                    kind = name_stems(owner)[-1:]
                    value = Value(number, f"{owner}.{name}", "".join(kind), kind)
                    self.constants.append(replace(value, is_hint=True, import_line=line))
                    self.apis.pop(api.path, None)  # a class of constants is not created

    def lookup(self, path: str) -> ApiDoc | None:
        """Return the API with this path, from the pool or from the knowledge."""
        if path not in self.apis and self.knowledge is not None:
            return self.knowledge.lookup(path)
        return self.apis.get(path)

    def word_weight(self, word: str) -> float:
        """Rate how distinctive a word is: high if rare in the pool's documentation, low if absent from all of it."""
        if word not in self._word_weights:
            named_count = sum(best_similarity(word, self.name_words(api)) > 0.5 for api in self.apis.values())
            mentioned_count = sum(word in self.text_words(api) for api in self.apis.values())
            total = max(1, len(self.apis))
            rarity = 1 + math.log((total + 1) / (named_count + 1))
            self._word_weights[word] = rarity if named_count else 0.6 if mentioned_count else 0.3
        return self._word_weights[word]

    def name_words(self, api: ApiDoc) -> frozenset[str]:
        """Return the stems of the name, and of its class."""
        if api.path not in self._name_words:
            owner = api.path.split(".")[-2:-1] if api.kind in ("method", "property") else []
            self._name_words[api.path] = frozenset(part for name in (api.name, *owner) for part in name_stems(name))
        return self._name_words[api.path]

    def text_words(self, api: ApiDoc) -> frozenset[str]:
        """Return the stems of the first paragraph."""
        if api.path not in self._text_words:
            self._text_words[api.path] = frozenset(content_stems(api.description.split("\n\n")[0][:600]))
        return self._text_words[api.path]

    def match_score(self, api: ApiDoc, words: Sequence[str]) -> float:
        """Score how well an API matches the words, from 0 to about 1.5."""
        weights = [self.word_weight(word) for word in words]
        if not weights:
            return 0.0
        names, text = self.name_words(api), self.text_words(api)
        score = sum(
            weight * max(best_similarity(word, names), 0.55 if word in text else 0.35 * best_similarity(word, text))
            for word, weight in zip(words, weights, strict=True)
        )
        return score / sum(weights) + self._prior(api, words)

    def _prior(self, api: ApiDoc, words: Sequence[str]) -> float:
        """Score an API by its retrieval rank, unrelated words in its name, examples and path depth."""
        own_words = [part for part in name_stems(api.name) if len(part) > 1]
        foreign = sum(best_similarity(part, words) < 0.5 and part not in STOP_WORDS for part in own_words)
        main_bonus = 0.3 if api.kind in ("function", "class") and api.name == api.library.rpartition(".")[2] else 0.0
        rank_score = main_bonus + 0.25 / (1 + self.ranks.get(api.path, 99))
        depth = api.path.count(".") - (api.kind in ("method", "property")) - 1
        examples = 0.1 if api.examples or ">>>" in api.description else 0.0
        exact_bonus = 0.15 if own_words and not foreign else 0.0
        unrelated_penalty = (
            0.35 if api.kind in ("method", "property") and own_words and foreign == len(own_words) else 0.0
        )
        is_unlikely = api.deprecated or api.name.endswith(("Error", "Warning", "Exception")) or _is_uninformative(api)
        penalty = unrelated_penalty + 0.5 if is_unlikely else unrelated_penalty
        return rank_score + examples + exact_bonus - 0.12 * foreign - 0.08 * depth - penalty

    def rank_apis(self, words: Sequence[str]) -> list[ApiDoc]:
        """Return the callables of the pool, those that match the words best first."""
        usable = [api for api in self.apis.values() if api.kind in ("function", "class", "method", "property")]
        return sorted(usable, key=lambda api: (-self.match_score(api, words), self.ranks.get(api.path, 99), api.path))

    def rank_members(self, type_: str, words: Sequence[str]) -> list[ApiDoc]:
        """Return the methods and properties of a class, by the name of their owner, those that match best first."""
        if self._members is None:
            self._members = {}
            for api in self.knowledge.apis if self.knowledge else ():
                if api.kind in ("method", "property"):
                    self._members.setdefault(api.path.split(".")[-2].lower(), []).append(api)
        members = self._members.get(type_.rpartition(".")[2].lower(), [])
        return sorted(members, key=lambda api: -self.match_score(api, words))

    def module_properties(self, type_: str) -> list[ApiDoc]:
        """Return the properties of all classes in the module of a type, some of which it may inherit."""
        module = type_.rpartition(".")[0]
        properties = (api for api in (self.knowledge.apis if self.knowledge else ()) if api.kind == "property")
        return [api for api in properties if module and api.path.rsplit(".", 2)[0] == module]

    def has_member(self, type_: str, api: ApiDoc) -> bool:
        """Return whether an object of this type has a method or property, as far as is known."""
        owner = api.path.rpartition(".")[0]
        return type_ in ("", "object") or owner.rpartition(".")[2].lower() == type_.rpartition(".")[2].lower()


def find_named_apis(text: str, apis: Iterable[ApiDoc]) -> list[ApiDoc]:
    """Return the APIs that a text names, by a word that looks like code: `use dijkstra_path`."""
    words = {word.rstrip(".") for word in re.findall(r"[A-Za-z_][\w.]*", text)}
    return [api for api in apis if api.path in words or (api.name in words and _looks_like_code(api.name, text))]


def _looks_like_code(name: str, text: str) -> bool:
    """Return whether a name is written as code: with an underscore or inner capitals, in backticks, or as a call."""
    return not name.islower() or "_" in name or f"`{name}" in text or f"{name}(" in text


def import_location(api: ApiDoc) -> tuple[str, str]:
    """Return the module to import from and the name to import: for a method, those of its class."""
    path = api.path.rpartition(".")[0] if api.kind in ("method", "property") else api.path
    module, _, name = path.rpartition(".")
    return module, name


def _is_uninformative(api: ApiDoc) -> bool:
    """Return whether the API is unlikely to be wanted.

    That is a named tuple without its own docstring, which functions return and users do not create, or a method
    inherited from a built-in type.
    """
    is_plain_record = api.kind == "class" and api.description.startswith(f"{api.name}(") and "\n" not in api.description
    return is_plain_record or (api.kind == "method" and api.description in _builtin_method_docs())


@cache
def _builtin_method_docs() -> frozenset[str]:
    """Return the docstrings of the methods of built-in types."""
    members = (member for kind in (tuple, list, dict, set, str, bytes, int, float) for member in vars(kind).values())
    return frozenset(cleandoc(member.__doc__) for member in members if isinstance(member.__doc__, str))
