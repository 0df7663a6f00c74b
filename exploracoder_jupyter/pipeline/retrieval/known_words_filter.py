"""Filters the words that may be sent to a search engine.

A query of the plan is written by the model, which was shown values and passages of the user's files. No rule recognizes
a private word by its form, so a word is sent only if it is known independently: the task contains it, it names a
library, an API or a parameter, or documentation uses it as a plain word. An error is searched by its type and by names
of APIs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.step_context import Run

_WORD: Final = re.compile(r"\d+(?:[.,:/-]\d+)+|\w+")
"""A number is matched as a whole: its parts may belong to another one."""
_PLAIN: Final = re.compile(r"(?<![\w.'\"`])[a-z]{2,}(?![\w'\"`(=])")
"""A word of prose: not a name, which has a capital, and not quoted, which may be anything."""


@heuristic("filtering search queries", lambda run, queries: [""] * len(queries))
def filter_queries(run: Run, queries: Sequence[str]) -> list[str]:
    """Return the model's queries reduced to the words that may be sent; empty if nothing is left."""
    if not any(queries):
        return list(queries)
    texts = (run.knowledge.overview().text, *(api.description for api in run.knowledge.apis))
    documented = {word for text in texts for word in _PLAIN.findall(text)}
    known = {"python", *_words(run.task.text), *_known_names(run), *documented}
    kept = [[word for word in query.split() if _words(word) and _words(word) <= known] for query in queries]
    return [" ".join(words) for words in kept]


@heuristic("filtering search queries", lambda run, text: [])
def find_known_names(run: Run, text: str) -> list[str]:
    """Return the names of libraries, APIs and parameters in a text, each once, as written there."""
    names = _known_names(run)
    return list(dict.fromkeys(word for word in _WORD.findall(text) if word.casefold() in names))


def _known_names(run: Run) -> set[str]:
    libraries = [name for one in run.knowledge.libraries for name in (one.name, one.distribution)]
    apis = run.knowledge.apis
    paths = (path for api in apis for path in (api.path, *api.aliases))
    parameters = (one.name for api in apis for one in api.parameters)
    names = {*run.task.libraries, *libraries, *paths, *parameters}
    return {word for name in names for word in _words(name)}


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
