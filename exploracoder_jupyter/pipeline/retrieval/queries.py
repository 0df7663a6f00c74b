"""Searches for passages, again after code failed, with queries that may be sent (ARKS, section 2.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from exploracoder_jupyter.core.configuration.sections import OFFLINE, Formulation
from exploracoder_jupyter.core.errors import EndpointError, ReplyError
from exploracoder_jupyter.core.events import KnowledgeSearched
from exploracoder_jupyter.core.types import ApiDoc, Experience, Passage, SourceKind, Subtask
from exploracoder_jupyter.pipeline.code_analysis import find_called_names
from exploracoder_jupyter.pipeline.context import Run, heuristic, merge_apis, raise_if_cancelled
from exploracoder_jupyter.pipeline.prompting.documentation import deduplicate, shorten
from exploracoder_jupyter.pipeline.prompting.observations import redact_experience
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ExplainInputs
from exploracoder_jupyter.pipeline.prompting.requests import ask_parsed

# Filters the words that may be sent to a search engine.
#
# A query of the plan is written by the model, which was shown values and passages of the user's files. No rule
# recognizes a private word by its form, so a word is sent only if it is known independently: the task contains it,
# it names a library, an API or a parameter, or documentation uses it as a plain word. An error is searched by its
# type and by names of APIs.

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


# Builds the search query after code failed: the task, the error, the code, or the code explained (ARKS, section
# 2.1).
#
# Explained code retrieves best (their figure 2) and costs a model call. The error message without values is
# searched along with it at no cost. If no model can explain the code, or too few tokens are left, the query is only
# the error with the names that the code calls. A query may reach an embedding endpoint, so it contains no more than
# may be shared; a web query never contains a value of the user's.

LONGEST_QUERY: Final = 600
_ENOUGH_TOKENS: Final = 8000
"""If fewer tokens are left in the budget, nothing is explained."""
_MOST_NAMES: Final = 8
_UNDEFINED: Final = ("NameError", "UnboundLocalError")
_VALUE = re.compile(r"0x[0-9a-fA-F]+|(?<![\w.])-?\d[\d_.,]*(?:[eE][+-]?\d+)?|\[[^\]]*\]|\{[^}]*\}")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class Query(NamedTuple):
    """The search query and what it was made of."""

    formulation: Formulation
    text: str
    error: str = ""
    """The error, searched for separately from a longer text, in which its rare words would count for little."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that are searched for separately."""
        return (self.text, self.error) if self.error else (self.text,)


async def build_query(run: Run, subtask: Subtask, failed: Experience) -> Query:
    """Build the query of a search after this experience, using the formulation from the settings if possible."""
    wanted = run.retrieval.formulation
    texts = {"task": run.task.text, "subtask": subtask.title, "code": failed.candidate.code, "error": ""}
    text = texts.get(wanted, "")
    if wanted == "explained" and run.model.name != OFFLINE and run.meter.tokens_left >= _ENOUGH_TOKENS:
        inputs = ExplainInputs(run.task, subtask, failed)
        with suppress(ReplyError, EndpointError):  # if the endpoint is gone for good, the next request reports it
            reply = await ask_parsed(run, "explain", inputs, lambda reply: reply, subject=failed.candidate.id)
            text = " ".join(reply.split())
    if text.strip():
        return Query(wanted, text[:LONGEST_QUERY], _error(run, failed) if wanted == "explained" else "")
    error = error_query(run, failed)
    return Query("error", error) if error else Query("subtask", subtask.title)


@heuristic("writing a search query", lambda run, failed: "")
def error_query(run: Run, failed: Experience) -> str:
    """Return the error without values and the names that the code calls; empty if there is neither."""
    names = find_called_names(failed.candidate.code)[:_MOST_NAMES]
    return " ".join(part for part in (_error(run, failed), *names) if part)[:LONGEST_QUERY]


@heuristic("writing a search query", lambda run, failed: "")
def _error(run: Run, failed: Experience) -> str:
    """Return type and message of the error, without values.

    Empty if there is none, or if a variable is undefined: no documentation helps there, whatever has a similar name.
    """
    error = redact_experience(failed, run.sharing).observation.error
    if error is None or error.name in _UNDEFINED:
        return ""
    code = failed.candidate.code  # quotations that it does not contain are values
    line = _QUOTED.sub(lambda found: (found[1] or found[2] or "") if found[0][1:-1] in code else "", error.message)
    return f"{error.name} {' '.join(_VALUE.sub('', line).split())}".strip()[:LONGEST_QUERY]


@heuristic("writing a search query", lambda run, failed: "")
def web_query(run: Run, failed: Experience) -> str:
    """Return the error in the words that a search engine may know; empty if there is none.

    It consists of the error's type, the APIs named in those parts of its message that are about code, and documented
    calls of the code.
    """
    error = redact_experience(failed, "none" if run.sharing == "none" else "schema").observation.error
    if error is None:
        return ""
    words = [*run.task.libraries, error.name, *find_known_names(run, error.message), *failed.apis[:2]]
    return " ".join(dict.fromkeys(words))[:LONGEST_QUERY]


# Gathers passages for a prompt: always from sources on the user's machine, from the web only on request.
#
# Passages from the user's files leave the machine with the prompt, so these files are searched only if values may
# be shared.

_FOUND: Final = 5
_FOUND_ONLINE: Final = 3
_LONGEST: Final = 6000
"""Characters kept of one passage, also in the trace; a prompt shows fewer."""


async def gather_passages(run: Run, query: str) -> tuple[Passage, ...]:
    """Return passages for the query from the sources on this machine, best first."""
    excluded: frozenset[SourceKind] = frozenset({"web"} if run.sharing == "values" else {"web", "workspace"})
    return await _search(run, query, _FOUND, run.sources.kinds - excluded)


async def gather_for_task(run: Run, subject: str) -> tuple[Passage, ...]:
    """Return passages for the text of the task, and record the search if it found any."""
    passages = await gather_passages(run, run.task.text)
    await raise_if_cancelled()
    if passages:
        run.emit(KnowledgeSearched(subject, 0, "task", run.task.text, (), passages))
    return passages


async def gather_web_passages(run: Run, query: str) -> tuple[Passage, ...]:
    """Return passages for the query from the web, if it may be searched and the query is not empty."""
    return await _search(run, query, _FOUND_ONLINE, run.sources.kinds & {"web"})


@heuristic("searching other sources", lambda run, query, k, kinds: ())
async def _search(run: Run, query: str, k: int, kinds: frozenset[SourceKind]) -> tuple[Passage, ...]:
    if not kinds or not query.strip():
        return ()
    found = await run.sources.search(query, k, among=kinds)
    return tuple(replace(item.passage, text=shorten(item.passage.text, _LONGEST)) for item in found)


# Active retrieval: searches for a subtask, or for the solution, again after code failed.
#
# ARKS, section 2.3. Each round builds a new query from the latest failure (`queries`) and searches the
# index of APIs and all sources; the web is searched for the error too, if enabled (CoCoST, section 3.1). The rounds
# end when two of them agree, and at the latest after the number in the settings.

_MOST_NEW: Final = 8
"""New APIs that one repeated search may add."""
_TOP: Final = 5
"""Two rounds agree if this many of their first APIs are the same, in any order."""


@dataclass(slots=True)
class Search:
    """What has been found so far, the newest first."""

    run: Run
    subtask: Subtask
    apis: tuple[ApiDoc, ...]
    passages: tuple[Passage, ...] = ()
    latest: tuple[ApiDoc, ...] = ()
    """Results of the latest search, best first."""
    rounds: int = 0
    converged: bool = False
    searched: set[str] = field(default_factory=set)
    """Candidates that were searched for, and queries that were sent to the web."""

    async def search_again(self, failed: Experience) -> None:
        """Search with what failed, unless that was done, the last two rounds agree, or the round limit is reached."""
        done = self.converged or self.rounds >= self.run.retrieval.rounds or failed.candidate.id in self.searched
        if done:
            return
        self.searched.add(failed.candidate.id)
        self.rounds += 1
        query = await build_query(self.run, self.subtask, failed)
        apis = await self._search_index(query)
        passages = await gather_passages(self.run, query.text)
        await raise_if_cancelled()
        tops = [{api.path for api in found[:_TOP]} for found in (apis, self.latest)]
        self.converged = tops[0] == tops[1]
        self._add(failed, query, apis, passages)
        online = web_query(self.run, failed) if "web" in self.run.sources.kinds else ""
        if online and online not in self.searched:
            self.searched.add(online)
            passages = await gather_web_passages(self.run, online)
            await raise_if_cancelled()
            self._add(failed, Query("error", online), (), passages)

    def add_used(self, paths: Sequence[str]) -> None:
        """Add the APIs among these that the model has looked up, for the prompts that follow."""
        looked_up = self.run.progress.looked_up
        self.apis = merge_apis(self.apis, tuple(looked_up[path] for path in paths if path in looked_up))

    @heuristic("searching the documentation", lambda self, query: ())
    async def _search_index(self, query: Query) -> tuple[ApiDoc, ...]:
        """Return the results, best first, until enough of them are new: the failed code was written with the others."""
        known = {api.path for api in self.apis}
        apis = [item.api for item in await self.run.knowledge.search_together(query.parts, _MOST_NEW + len(known))]
        new = [place for place, api in enumerate(apis, 1) if api.path not in known]
        return tuple(apis[: new[:_MOST_NEW][-1]] if new else apis[:_MOST_NEW])

    def _add(self, failed: Experience, query: Query, apis: tuple[ApiDoc, ...], passages: tuple[Passage, ...]) -> None:
        subject, text, paths = failed.candidate.id, "\n".join(query.parts), tuple(api.path for api in apis)
        self.run.emit(KnowledgeSearched(subject, self.rounds, query.formulation, text, paths, passages, self.converged))
        self.latest = apis or self.latest
        self.apis = merge_apis(apis, self.apis)
        self.passages = deduplicate((*passages, *self.passages))
