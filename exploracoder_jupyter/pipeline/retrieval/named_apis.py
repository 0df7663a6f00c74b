"""Finds APIs by what a model calls them, rather than by the words of a task.

Names and phrases as a model writes them, each searched for by itself, find more of what a program needs than the task
does ([measured](measured.md#what-a-program-needs)). What was found has to be reached, too: the class of a method, what
returns it, and what a name in the user's own code has become.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from itertools import islice, zip_longest
from typing import Final

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.pipeline.ports import Knowledge
from exploracoder_jupyter.pipeline.prompting.api_description import summary_line
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin

LISTED_CHARACTERS: Final = 7000
"""A library is small if a line on each of its APIs takes no more than this: then all of it fits into a prompt."""
MOST_NAMES: Final = 12
_PER_NAME: Final = 5
_MOST_WAYS: Final = 6
_PATH = re.compile(r"[A-Za-z_][\w.]*")
_NAMED = re.compile(r"[A-Za-z_][\w.]*(?=\()|(?<=`)[A-Za-z_][\w.]*(?=`)")
_RENAMED: Final = r"renamed from|formerly|previously|replac\w+|supersed\w+|instead of|old name"


def small_library(apis: Sequence[ApiDoc]) -> tuple[ApiDoc, ...]:
    """Return the APIs of libraries so small that all can be listed, without what is inherited; else nothing."""
    if len(apis) > LISTED_CHARACTERS // 20:
        return ()
    own = tuple(api for api in apis if not (api.foreign or is_inherited_from_builtin(api)))
    return own if sum(len(summary_line(api)) for api in own) <= LISTED_CHARACTERS else ()


def resolve_path(knowledge: Knowledge, path: str) -> ApiDoc | None:
    """Resolve a path to an API, also with an import alias for the library, or without the leading parts."""
    rest = path.partition(".")[2]
    known = knowledge.lookup(path) or next(
        filter(None, (knowledge.lookup(f"{library.name}.{rest}") for library in knowledge.libraries if rest)), None
    )
    ending = [api for api in knowledge.apis if f".{api.path}".endswith(f".{path}")] if not known else []
    return known or min(ending, key=lambda api: (api.foreign, bool(api.deprecated), len(api.path)), default=None)


async def search_names(knowledge: Knowledge, names: Sequence[str], k: int) -> tuple[ApiDoc, ...]:
    """Return at most k APIs for names and phrases that are searched for one by one, the best of each first."""
    found: list[Sequence[ApiDoc]] = []
    for name in islice(dict.fromkeys(names), MOST_NAMES):
        exact = resolve_path(knowledge, name.removesuffix("()")) if _PATH.fullmatch(name.removesuffix("()")) else None
        words = name.replace(".", " ") if exact is None else name.rpartition(".")[2]
        hits = [hit.api for hit in await knowledge.search(words, _PER_NAME)]
        found.append([*([exact] if exact else []), *(api for api in hits if api != exact)])
    turns = (api for turn in zip_longest(*found) for api in turn if api is not None)
    return tuple(islice({api.path: api for api in turns}.values(), k))


def with_ways(knowledge: Knowledge, found: Sequence[ApiDoc]) -> tuple[ApiDoc, ...]:
    """Return the APIs, with the classes of their methods after them, and what creates or returns objects of those."""
    known = {api.path: api for api in found}
    owners = (knowledge.lookup(api.path.rpartition(".")[0]) for api in found if api.kind in ("method", "property"))
    classes = {api.path: api for api in owners if api is not None and api.kind == "class"}
    wanted = {api.name for api in (*classes.values(), *found) if api.kind == "class"}
    ways: dict[str, ApiDoc] = {}
    for api in knowledge.apis:
        result = re.match(r"\W*(?:\w+\.)*(\w+)", api.returns)
        if result and result[1] in wanted and api.kind in ("function", "property") and not api.deprecated:
            best = ways.get(result[1])
            ways[result[1]] = min(best, api, key=_distance) if best else api
    added = (*classes.values(), *islice(ways.values(), _MOST_WAYS))
    return tuple((known | {api.path: api for api in added if api.path not in known}).values())


def successors(knowledge: Knowledge, code: str) -> tuple[ApiDoc, ...]:
    """Return what names in the user's own code, or marked as code in a task, are called now.

    Such a name is that of a deprecated API, whose note names another one, or it is unknown, and the documentation of
    another one says that it was renamed.
    """
    names = {api.name for api in knowledge.apis}
    found: dict[str, ApiDoc] = {}
    for path in dict.fromkeys(_NAMED.findall(code)):
        name = path.rpartition(".")[2]
        if name not in names and not hasattr(builtins, name):
            found |= {api.path: api for api in knowledge.apis if _says_it_was(api, name)}
            continue
        for api in knowledge.apis:
            if api.name == name and api.deprecated:
                mentioned = _PATH.findall(api.deprecated)
                others = (
                    resolve_path(knowledge, word) for word in mentioned if word != name and ("_" in word or "." in word)
                )
                found |= {other.path: other for other in others if other}
    return tuple(islice(found.values(), _MOST_WAYS))


def _says_it_was(api: ApiDoc, name: str) -> bool:
    texts = (text for text in (*api.notes, api.description) if name in text)
    return any(re.search(rf"(?:{_RENAMED})\W+(?:\w+\W+){{0,3}}{re.escape(name)}\b", text, re.I) for text in texts)


def _distance(api: ApiDoc) -> tuple[bool, int, int]:
    return api.kind != "function", api.path.count("."), len(api.path)
