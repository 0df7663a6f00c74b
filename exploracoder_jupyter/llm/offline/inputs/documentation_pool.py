"""The documentation at hand for one request, and how well a piece of it matches words."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import cleandoc
from itertools import pairwise

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.word_matching import STOP, best_likeness, content, parts
from exploracoder_jupyter.pipeline.ports import Knowledge

_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "dt": "datetime"}
"""Conventional short names in examples that leave their imports out."""


@dataclass(slots=True)
class Pool:
    """APIs that were retrieved or asked for, with their retrieval ranks."""

    knowledge: Knowledge | None = None
    apis: dict[str, ApiDoc] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    _shown: frozenset[str] | None = None
    _names: dict[str, frozenset[str]] = field(default_factory=dict)
    _texts: dict[str, frozenset[str]] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)

    def add(self, apis: Iterable[ApiDoc]) -> None:
        """Take APIs in, best first."""
        for rank, api in enumerate(apis):
            self.apis.setdefault(api.path, api)
            self.ranks[api.path] = min(rank, self.ranks.get(api.path, 99))

    async def search(self, query: str, k: int) -> None:
        """Take in what the knowledge finds."""
        if self.knowledge is not None and query.strip():
            self.add(item.api for item in await self.knowledge.search(query, k))

    @property
    def shown(self) -> frozenset[str]:
        """Names that the README's example programs call: what the library is mostly used by."""
        if self._shown is None:
            programs = self.knowledge.overview().examples[:12] if self.knowledge is not None else ()
            self._shown = frozenset(name for code in programs for name in re.findall(r"\b([A-Za-z]\w+)\(", code))
        return self._shown

    def lookup(self, path: str) -> ApiDoc | None:
        """The API with this path, from the pool or from the knowledge."""
        if path not in self.apis and self.knowledge is not None:
            return self.knowledge.lookup(path)
        return self.apis.get(path)

    def weight(self, word: str) -> float:
        """How telling a word is: rare in the pool's documentation counts more; unknown to all of it counts little."""
        if word not in self._weights:
            holding = sum(best_likeness(word, self.name_words(api)) > 0.5 for api in self.apis.values())
            mentioned = sum(word in self.text_words(api) for api in self.apis.values())
            total = max(1, len(self.apis))
            rare = 1 + math.log((total + 1) / (holding + 1))
            self._weights[word] = rare if holding else 0.6 if mentioned else 0.3
        return self._weights[word]

    def name_words(self, api: ApiDoc) -> frozenset[str]:
        """Stems of the name, and of its class."""
        if api.path not in self._names:
            owner = api.path.split(".")[-2:-1] if api.kind in ("method", "property") else []
            self._names[api.path] = frozenset(part for name in (api.name, *owner) for part in parts(name))
        return self._names[api.path]

    def text_words(self, api: ApiDoc) -> frozenset[str]:
        """Stems of the first paragraph."""
        if api.path not in self._texts:
            self._texts[api.path] = frozenset(content(api.description.split("\n\n")[0][:600]))
        return self._texts[api.path]

    def match(self, api: ApiDoc, words: Sequence[str]) -> float:
        """How well an API answers the words, about 0 to 1.5."""
        weights = [self.weight(word) for word in words]
        if not weights:
            return 0.0
        names, text = self.name_words(api), self.text_words(api)
        gained = sum(
            weight * max(best_likeness(word, names), 0.55 if word in text else 0.35 * best_likeness(word, text))
            for word, weight in zip(words, weights, strict=True)
        )
        return gained / sum(weights) + self._prior(api, words) + self.phrase(api, words)

    def phrase(self, api: ApiDoc, words: Sequence[str]) -> float:
        """What it counts that words stand side by side in the first paragraph as they do in the task."""
        paragraph = " ".join(parts(api.description.split("\n\n")[0][:300]))
        pairs = sum(f" {one} {two} " in f" {paragraph} " for one, two in pairwise(words))
        return min(0.5, 0.25 * pairs)

    def _prior(self, api: ApiDoc, words: Sequence[str]) -> float:
        """Retrieval rank, a name without foreign words, an example and a short path speak for an API."""
        own = [part for part in parts(api.name) if len(part) > 1]
        foreign = sum(best_likeness(part, words) < 0.5 and part not in STOP for part in own)
        main = 0.3 if api.kind in ("function", "class") and api.name == api.library.rpartition(".")[2] else 0.0
        rank = main + 0.25 / (1 + self.ranks.get(api.path, 99))
        depth = api.path.count(".") - (api.kind in ("method", "property")) - 1
        examples = 0.1 if api.examples or ">>>" in api.description else 0.0
        exact = 0.15 if own and not foreign else 0.0
        lost = 0.35 if api.kind in ("method", "property") and own and foreign == len(own) else 0.0
        unlikely = api.deprecated or api.name.endswith(("Error", "Warning", "Exception")) or _ordinary(api)
        wrong = lost + 0.5 if unlikely else lost
        shown = 0.3 if api.name in self.shown and depth <= 1 else 0.0
        return rank + examples + exact + shown - 0.12 * foreign - 0.08 * depth - wrong

    def ranked(self, words: Sequence[str]) -> list[ApiDoc]:
        """The callables of the pool, those that match the words best first."""
        usable = [api for api in self.apis.values() if api.kind in ("function", "class", "method", "property")]
        return sorted(usable, key=lambda api: (-self.match(api, words), self.ranks.get(api.path, 99), api.path))

    def import_for(self, name: str, near: ApiDoc) -> str | None:
        """The import that defines a name which an example uses without importing it."""
        parents = _ancestors(near.path)
        for parent in parents:
            found = self.lookup(f"{parent}.{name}")
            if found is not None:
                home, _, last = found.path.rpartition(".")
                return f"from {home} import {last}" + (f" as {name}" if last != name else "")
        for library in dict.fromkeys([near.library.partition(".")[0], near.library]):
            if name == library:
                return f"import {name}"
        if name in _ALIASES:
            return f"import {_ALIASES[name]} as {name}"
        if any(parent.rpartition(".")[2] == name for parent in parents):
            home = next(parent for parent in parents if parent.rpartition(".")[2] == name).rpartition(".")[0]
            return f"from {home} import {name}"
        return f"import {name}" if name in sys.stdlib_module_names else self._initials(name, near)

    def _initials(self, name: str, near: ApiDoc) -> str | None:
        """A short name of the library itself, as in `nx` for networkx."""
        library = near.library
        short = library.replace("_", "").lower()
        letters = iter(short)
        return (
            f"import {library} as {name}"
            if 1 < len(name) <= 3 and name[0] == short[0] and all(c in letters for c in name)
            else None
        )


def _ancestors(path: str) -> list[str]:
    found = []
    while "." in path:
        path = path.rpartition(".")[0]
        found.append(path)
    return found


def named_in(text: str, apis: Iterable[ApiDoc]) -> list[ApiDoc]:
    """The APIs that a text calls by their name, which is one word of it and no ordinary word: `use dijkstra_path`."""
    said = {word.rstrip(".") for word in re.findall(r"[A-Za-z_][\w.]*", text)}
    return [api for api in apis if api.path in said or (api.name in said and _coded(api.name, text))]


def _coded(name: str, text: str) -> bool:
    """Whether a name is written as code is: with an underscore or capitals within, in backticks, or as a call."""
    return not name.islower() or "_" in name or f"`{name}" in text or f"{name}(" in text


def home_of(api: ApiDoc) -> tuple[str, str]:
    """Module to import from and the name to import: for a method, those of its class."""
    path = api.path.rpartition(".")[0] if api.kind in ("method", "property") else api.path
    module, _, name = path.rpartition(".")
    return module, name


def _ordinary(api: ApiDoc) -> bool:
    """Whether it is a class of named fields that says nothing of itself, as functions return them and nobody makes
    them, or what every tuple, text or dictionary has."""
    record = api.kind == "class" and api.description.startswith(f"{api.name}(") and "\n" not in api.description
    return record or (api.kind == "method" and api.description in _inherited())


@cache
def _inherited() -> frozenset[str]:
    """What the methods of the built-in types say of themselves."""
    members = (member for kind in (tuple, list, dict, set, str, bytes, int, float) for member in vars(kind).values())
    return frozenset(cleandoc(member.__doc__) for member in members if isinstance(member.__doc__, str))
