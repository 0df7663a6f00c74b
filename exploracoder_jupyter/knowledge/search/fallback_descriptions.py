"""Which text describes each API of a collection: its own, or else what is known of its name elsewhere.

Some texts are not the API's own: those that a class inherits from a builtin type, and those that descriptors take from
their type. What has no text of its own borrows it: from documented APIs of the same name in the collection, and from a
table of names that many libraries share (`scripts/common_names.py`).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin
from exploracoder_jupyter.text.tokenizer import stem, tokens

PATH = Path(__file__).with_name("common_names.json")

NAME_PARTS = {
    "to": "convert",
    "ito": "convert",
    "as": "convert create",
    "from": "create convert",
    "iter": "iterate",
    "is": "check",
    "has": "check",
    "get": "get",
    "set": "set",
    "read": "read",
    "write": "write",
    "find": "find",
    "make": "make",
    "fetch": "fetch",
    "new": "create",
}
"""What parts of names mean, also where they are stop words in texts."""
_RUN_TOGETHER = re.compile(rf"({'|'.join(NAME_PARTS)})([a-z]{{2,}})")
"""A name such as `asarray` or `getexif`."""
_FIELD = re.compile(r"Alias for field number \d+")
"""What a named tuple says of each of its fields."""
_MAX_DESCRIBED = 3
"""A text that properties of so many names share describes their type."""
_MAX_NAMESAKES = 3


@cache
def common_names() -> dict[str, str]:
    """Return the words that describe names which many libraries share, as stems, by name."""
    return dict(json.loads(PATH.read_text()))


def own_descriptions(apis: Sequence[ApiDoc]) -> list[ApiDoc]:
    """Return the APIs, without the descriptions that are not their own."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for api in apis:
        if api.kind == "property":
            names[api.description].add(api.name)
    foreign = {text for text, described in names.items() if len(described) >= _MAX_DESCRIBED}
    return [
        replace(api, description="")
        if is_inherited_from_builtin(api)
        or (api.kind == "property" and (api.description in foreign or _FIELD.fullmatch(api.description)))
        else api
        for api in apis
    ]


def name_meanings(apis: Sequence[ApiDoc]) -> list[str]:
    """Return what the parts of each name mean, and the second part of a name such as `asarray`."""
    known = {term for api in apis for term in tokens(api.path)}
    return [" ".join(_meanings(api.name, known)) for api in apis]


def borrowed_texts(apis: Sequence[ApiDoc]) -> list[str]:
    """Return what is known elsewhere of the names of undocumented APIs; empty for the others."""
    namesakes: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for api in apis:
        if api.summary and len(namesakes[api.name]) < _MAX_NAMESAKES:
            namesakes[api.name][api.summary] = None
    return [
        "" if api.description else "\n".join((*namesakes.get(api.name, ()), common_names().get(api.name, "")))
        for api in apis
    ]


def _meanings(name: str, known: Container[str]) -> Iterator[str]:
    for part in name.lower().split("_"):
        together = _RUN_TOGETHER.fullmatch(part)
        if part in NAME_PARTS:
            yield NAME_PARTS[part]
        elif together and stem(together[2]) in known:
            yield f"{NAME_PARTS[together[1]]} {together[2]}"
