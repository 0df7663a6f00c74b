"""Which words a search engine may be sent.

A query of the plan is the model's, and the model was shown values, and passages of the user's files. No rule tells a
private word by its looks, so a word is sent only where it is known without them: the task has it, it names a library,
an API or a parameter, or documentation uses it as a plain word. An error is asked by its type and by names of APIs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from exploracoder_jupyter.pipeline.heuristics import heuristic
from exploracoder_jupyter.pipeline.step_context import Run

_WORD: Final = re.compile(r"\d+(?:[.,:/-]\d+)+|\w+")
"""A number is whole: its parts may be of another one."""
_PLAIN: Final = re.compile(r"(?<![\w.'\"`])[a-z]{2,}(?![\w'\"`(=])")
"""A word of prose; neither a name, which has a capital, nor quoted, which may be anything."""


@heuristic("filtering search queries", lambda run, queries: [""] * len(queries))
def filter_queries(run: Run, queries: Sequence[str]) -> list[str]:
    """The model's queries with the words that may be sent and no others; empty where nothing is left.

    Where a folder of saved pages is searched nothing is sent, so they stay as they are.
    """
    if run.retrieval.web == "folder" or not any(queries):
        return list(queries)
    known = {"python", *_words(run.task.text), *_known_names(run), *_documented_words(run)}
    return [" ".join(word for word in query.split() if _is_known(word, known)) for query in queries]


@heuristic("filtering search queries", lambda run, text: [])
def find_known_names(run: Run, text: str) -> list[str]:
    """The names of libraries, APIs and parameters in a text, each once, as it writes them."""
    names = _known_names(run)
    return list(dict.fromkeys(word for word in _WORD.findall(text) if word.casefold() in names))


def _is_known(word: str, known: set[str]) -> bool:
    parts = _words(word)
    return bool(parts) and parts <= known


def _known_names(run: Run) -> set[str]:
    libraries = [name for one in run.knowledge.libraries for name in (one.name, one.distribution)]
    apis = run.knowledge.apis
    paths = (path for api in apis for path in (api.path, *api.aliases))
    parameters = (one.name for api in apis for one in api.parameters)
    return _words_of_all((*run.task.libraries, *libraries, *dict.fromkeys(paths), *dict.fromkeys(parameters)))


def _documented_words(run: Run) -> set[str]:
    texts = (run.knowledge.overview().text, *(api.description for api in run.knowledge.apis))
    return {word for text in texts for word in _PLAIN.findall(text)}


def _words_of_all(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _words(text)}


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
