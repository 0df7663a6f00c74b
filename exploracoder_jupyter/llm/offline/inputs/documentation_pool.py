"""The documentation available for one request, with scores of how well each part matches given words."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.word_matching import (
    STOP_WORDS,
    best_similarity,
    content_stems,
    is_abbreviation,
    name_stems,
)
from exploracoder_jupyter.pipeline.ports import Knowledge
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin

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
