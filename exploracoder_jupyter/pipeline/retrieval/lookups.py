"""Finds APIs by what a model calls them or by a similar name, and answers the look-ups it requests (ToolCoder)."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import Final, NamedTuple

import anyio

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.events import LookedUp
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import ApiDoc, Call, ErrorInfo, Message, Observation, SourceKind
from exploracoder_jupyter.kernel_agent.reporting.name_similarity import most_similar
from exploracoder_jupyter.pipeline.context import Run, heuristic
from exploracoder_jupyter.pipeline.ports import Knowledge, Reply, Tool
from exploracoder_jupyter.pipeline.prompting import lookup_notation
from exploracoder_jupyter.pipeline.prompting.documentation import api_table, quote, shorten, shorten_code, summary_line
from exploracoder_jupyter.pipeline.prompting.lookup_notation import SEARCH
from exploracoder_jupyter.pipeline.prompting.observations import may_share_source
from exploracoder_jupyter.text.builtin_docstrings import is_inherited_from_builtin
from exploracoder_jupyter.text.characters import fenced

# Suggests documented APIs with names similar to one that an error reports as missing ("did you mean").
#
# Suggestions that the sibling found in its namespace come first and are kept; the index adds APIs from elsewhere in
# the libraries, such as a function that was mistaken for a method. An undefined name can only stand for what can be
# imported, and most are variables, so it must nearly have the name of a function or a class. Only names are
# compared; the model is not asked.

_MOST_MORE = 3
_MOST_NAMES = 12
_LONGEST_SIGNATURE = 160
_LONGEST_SUMMARY = 100
_IMPORTABLE = ("function", "class", "module")
_LEAST_MISSPELLED = 4
"""Characters of an undefined name from which on it may be a misspelling: `df` is a variable, whatever is called `f`."""

_NAME = r"'([A-Za-z_][\w.]*)'"
_FORMS = {
    "AttributeError": re.compile(rf"(?:{_NAME} object|module {_NAME}|type object {_NAME}) has no attribute {_NAME}"),
    "NameError": re.compile(rf"name {_NAME} is not defined"),
    "ImportError": re.compile(rf"cannot import name {_NAME} from (?:partially initialized module )?{_NAME}"),
    "ModuleNotFoundError": re.compile(rf"No module named {_NAME}"),
    "TypeError": re.compile(r"([A-Za-z_][\w.]*)\(\) (?:got|missing|takes) "),
}


class _Missing(NamedTuple):
    name: str
    owner: str
    """Last part of the class or module it was looked up in; empty if there is none."""
    exact: bool = False
    """Whether the name exists but was called incorrectly."""
    variable: bool = False
    """Whether it was used without being bound, so that only what can be imported may be meant."""


@heuristic("looking for similar names", lambda run, observation: observation)
def add_suggestions(run: Run, observation: Observation) -> Observation:
    """Add the nearest documented APIs to what the observation's error may have meant."""
    error, knowledge = observation.error, run.knowledge
    missing = _missing_name(error) if error else None
    if error is None or missing is None:
        return observation
    paths = [re.split(r"[(:\s]", line, maxsplit=1)[0] for line in error.nearest]
    suggested = {indexed.path if (indexed := knowledge.lookup(path)) else path for path in paths}
    if missing.exact and suggested:
        return observation
    found = [api for api in _ranked(missing, knowledge.apis) if api.path not in suggested]
    lines = list(error.nearest)
    for api in found[:_MOST_MORE]:
        known = api.kind in ("property", "module", "constant")
        what = f" ({api.kind})" if known else api.signature[:_LONGEST_SIGNATURE]
        summary = api.summary[:_LONGEST_SUMMARY]
        lines.append(f"{api.path}{what}" + (f": {summary}" if summary else ""))
    return replace(observation, error=replace(error, nearest=tuple(lines)))


@heuristic("looking for similar names", lambda path, apis: [])
def find_similar_apis(path: str, apis: Sequence[ApiDoc]) -> list[ApiDoc]:
    """Return a few APIs with names similar to that of this path, the most similar first."""
    owner, _, name = path.rpartition(".")
    return _ranked(_Missing(name, owner.rpartition(".")[2]), apis)[:_MOST_MORE]


def _missing_name(error: ErrorInfo) -> _Missing | None:
    form = _FORMS.get(error.name)
    found = form.match(error.message) if form else None
    if not found:
        return None
    parts = [part for part in found.groups() if part]
    if error.name == "ImportError":
        parts.reverse()
    owner, _, name = ".".join(parts).rpartition(".")
    if error.name == "TypeError" and name == "__init__":
        owner, _, name = owner.rpartition(".")
    return _Missing(name, owner.rpartition(".")[2], error.name == "TypeError", error.name == "NameError")


def _ranked(missing: _Missing, apis: Sequence[ApiDoc]) -> list[ApiDoc]:
    """Sort APIs with similar names by owner, similarity of the name, deprecation and length of the path."""
    if missing.variable:
        apis = [api for api in apis if api.kind in _IMPORTABLE and _is_misspelling(missing.name, api.name)]
    names = [missing.name] if missing.exact else most_similar(missing.name, {api.name for api in apis}, _MOST_NAMES)
    rank = {name: index for index, name in enumerate(names)}
    owner = [missing.owner] if missing.owner else None
    return sorted(
        (api for api in apis if api.name in rank),
        key=lambda api: (
            api.path.split(".")[-2:-1] != owner,
            rank[api.name],
            bool(api.deprecated),
            len(api.path),
        ),
    )


def _is_misspelling(name: str, other: str) -> bool:
    """Whether two names differ in capitals and underscores only, or in one letter of several."""
    one, another = (text.replace("_", "").casefold() for text in (name, other))
    if one == another or min(len(one), len(another)) < _LEAST_MISSPELLED or name[0].isupper() != other[0].isupper():
        return one == another
    same = sum(block.size for block in SequenceMatcher(None, one, another, autojunk=False).get_matching_blocks())
    return max(len(one), len(another)) - same <= 1


# Finds APIs by what a model calls them, rather than by the words of a task.
#
# Names and phrases as a model writes them, each searched for by itself, find more of what a program needs than the
# task does (benchmarks/MEASUREMENTS.md, "What a program needs"). What was found has to be reached, too: the class of a
# method, what returns it, and what a name in the user's own code has become.

LISTED_CHARACTERS: Final = 7000
"""A library is small if a line on each of its APIs takes no more than this: then all of it fits into a prompt."""
MOST_NAMES: Final = 12
_PER_NAME: Final = 5
_MOST_WAYS: Final = 6
_WRITTEN = re.compile(r"[A-Za-z_][\w.]*")
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
        exact = (
            resolve_path(knowledge, name.removesuffix("()")) if _WRITTEN.fullmatch(name.removesuffix("()")) else None
        )
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
                mentioned = _WRITTEN.findall(api.deprecated)
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


# Answers API look-ups that a model requests while it writes code (ToolCoder, section 3).
#
# Only the run's knowledge of the libraries is searched, never the web. An answer is short and quotes text of the
# library as data; if nothing is found, it states that and suggests similar names. The time limit is ToolCoder's: if
# a search takes too long, only similar names are suggested.

_PATIENCE: Final = 0.6
"""Time limit in seconds for one answer (ToolCoder, section 3.3)."""
INLINE: Final = "inline"
"""Stands for a tool: look-ups in the middle of the code, whose answers are shorter."""
_MOST_FOUND: Final = 6
_MOST_MEMBERS: Final = 40
_LONGEST_QUERY: Final = 400
_LONGEST_LISTED: Final = 3000
_LONGEST_SOURCE: Final = 6000
_LONGEST_EXAMPLES: Final = 3000
_LONGEST_BEST: Final = 1600
"""Maximum number of characters about the first API that a search finds, not counting its example."""
_GUIDES: Final[tuple[SourceKind, ...]] = ("documentation",)
_MOST_AT_ONCE: Final = 8
"""Maximum number of calls of one reply that are answered."""

_ABOUT: Final = (400, 160, 80, 40)
"""Characters per parameter description: the largest value with which all parameters fit is used."""

_PATH = re.compile(r"[A-Za-z_][\w.]*")

TOOLS: Final = (
    Tool(SEARCH, "Search the library's APIs by what they do.", "query", "what you want to do, in a few words"),
    Tool("get_signature", "Signature, parameters and result of one API.", "path", "its import path"),
    Tool("get_source", "Source code of one API.", "path", "its import path"),
    Tool("get_examples", "Code from the documentation that uses one API.", "path", "its import path"),
)


@dataclass(slots=True)
class ApiLookups:
    """Answers the look-ups of one snippet, and counts them."""

    run: Run
    subject: str
    left: int
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    """Cache of earlier answers, shared by the drafts of one request."""
    exhausted: bool = False
    """Whether more look-ups were requested than allowed; the excess ones are not answered."""

    async def answered(self, reply: Reply, calls: Sequence[Call]) -> tuple[Message, ...]:
        """Return the messages that continue the conversation: the reply and the answers to its calls."""
        answerable = tuple(calls[:_MOST_AT_ONCE])
        answers = [await self.answer(call) for call in answerable]
        last = "Go on: write the whole code. There are no more look-ups."
        if self.left:
            last = f"Go on: write the whole code, or look up more ({self.left} left)."
        answers[-1] = f"{answers[-1]}\n{last}"
        if reply.calls:
            results = [Message("tool", text, answers=call.id) for call, text in zip(answerable, answers, strict=True)]
            return Message("assistant", reply.text, calls=answerable), *results
        return Message("assistant", reply.text), Message("user", "\n\n".join(answers))

    async def answer(self, call: Call) -> str:
        """Return the answer to one look-up, if any are left; emits `LookedUp`."""
        if not self.left:
            self.exhausted = True
            return "No more look-ups."
        self.left -= 1
        wanted = " ".join(call.argument.split())[:_LONGEST_QUERY]
        answer = self.known.get((call.tool, wanted))
        if not answer:
            why = "It takes too long to look up."
            with anyio.move_on_after(scale_limit(_PATIENCE)):
                try:
                    answer = self.known[call.tool, wanted] = await self._look_up(call.tool, wanted)
                except ExploraError:
                    why = "It cannot be looked up now."
            answer = answer or f"{why} {self._suggest_names(wanted)}"
        self.run.emit(LookedUp(self.subject, SEARCH if call.tool == INLINE else call.tool, wanted, answer))
        return answer

    @heuristic("looking up an API", lambda self, tool, wanted: "It cannot be looked up now.")
    async def _look_up(self, tool: str, wanted: str) -> str:
        if tool == SEARCH:
            return await self._search(wanted)
        if tool == INLINE:
            apis = [item.api for item in await self.run.knowledge.search(wanted, lookup_notation.MOST_FOUND)]
            self._remember(apis)
            return lookup_notation.format_answer(apis)
        if tool not in {known.name for known in TOOLS}:
            return f"There is no tool {tool!r}; there are {', '.join(known.name for known in TOOLS)}."
        path = match.group().rstrip(".") if (match := _PATH.search(wanted)) else wanted
        api = resolve_path(self.run.knowledge, path)
        if api is None:
            return f"There is no API {path!r}. {self._suggest_names(path)}"
        self._remember([api])
        if tool == "get_signature":
            return quote(_signature(api))
        if tool == "get_source":
            source = await self.run.knowledge.source(api.path)
            if source and may_share_source(source, self.run.sharing):
                return quote(shorten_code(source, _LONGEST_SOURCE))
            why = "is the user's own and not shared" if source else "cannot be read"
            return f"The source of {api.path} {why}. Its signature:\n{quote(_signature(api))}"
        found = api.examples or tuple(
            item.passage.text
            for item in await self.run.sources.search(api.path, _MOST_FOUND, among=("snippet", "documentation"))
            if item.passage.code and api.path in item.passage.apis
        )
        if not found:
            return f"There is no example of {api.path}. Its signature:\n{quote(_signature(api))}"
        return quote(shorten("\n\n".join(map(_code_block, found)), _LONGEST_EXAMPLES))

    async def _search(self, query: str) -> str:
        named = resolve_path(self.run.knowledge, query) if _PATH.fullmatch(query) else None
        found = [item.api for item in await self.run.knowledge.search(query, _MOST_FOUND)]
        apis = [*([named] if named else []), *(api for api in found if api != named)]
        if not apis:
            guide = await self._guide(query)
            return quote(guide[0]) if guide else f"Nothing is found for {query!r}. {self._suggest_names(query)}"
        first, members = apis[0], list[ApiDoc]()
        if first.kind == "class":  # whether they are documented or not
            inside = (api for api in self.run.knowledge.apis if api.path.rpartition(".")[0] == first.path)
            members = list(islice(inside, _MOST_MEMBERS))
        self._remember([*apis, *members])
        shortest = sorted((code for code in first.examples if f"{first.name}(" in code), key=len)[:1]
        best = "\n".join([_signature(first, _LONGEST_BEST), *map(_code_block, shortest)])
        listed = f"Its members:\n{api_table(members)}" if members else ""
        others = api_table([api for api in apis[1:] if api not in members])
        text = "\n\n".join(filter(None, [best, listed, others, *await self._guide(query)]))
        return f"Nearest, best first:\n{quote(text)}"

    async def _guide(self, query: str) -> list[str]:
        """Return the best passage of documents, such as the README, if there is one."""
        if "documentation" not in self.run.sources.kinds:
            return []
        found = await self.run.sources.search(query, 1, among=_GUIDES)
        return [f"From {hit.passage.origin}:\n{shorten(hit.passage.text, _LONGEST_BEST)}" for hit in found]

    def _remember(self, apis: Sequence[ApiDoc]) -> None:
        """Record what the model was shown, so that it stays documented in later prompts once it is used."""
        self.run.progress.looked_up |= {api.path: api for api in apis}

    def _suggest_names(self, wanted: str) -> str:
        """Suggest APIs whose names are similar to a word of the request."""
        words = sorted(_PATH.findall(wanted), key=lambda word: (word.count("."), len(word)))
        like = find_similar_apis(words[-1], self.run.knowledge.apis) if words else []
        return f"Of like names there are:\n{quote(api_table(like))}" if like else "Nor is there a name like it."


def _signature(api: ApiDoc, most: int = _LONGEST_LISTED) -> str:
    """Describe how the API is called, most important facts first; all parameters fit, with shorter descriptions."""
    text = ""
    for about in _ABOUT:
        lines = []
        for one in api.parameters:
            type_, default = f": {one.type}" if one.type else "", f" = {one.default}" if one.default else ""
            description = one.about if len(one.about) <= about else f"{one.about[:about]}..."
            lines.append(f"- {one.name}{type_}{default}" + (f": {description}" if one.about else ""))
        parts = (
            f"{api.path}{api.signature}" + (f" ({api.kind})" if not api.signature else ""),
            f"Deprecated: {api.deprecated}" if api.deprecated else "",
            api.summary if api.parameters else api.description,
            "\n".join(lines),
            f"Returns {api.returns}" if api.returns else "",
            "\n".join(api.notes),
            f"See also: {', '.join(api.see_also)}" if api.see_also else "",
        )
        text = "\n".join(filter(None, parts))
        if len(text) <= most:
            break
    return shorten(text, most)


def _code_block(code: str) -> str:
    return fenced(shorten_code(code, _LONGEST_BEST), "python")
