"""Answers API look-ups that a model requests while it writes code (ToolCoder, section 3).

Only the run's knowledge of the libraries is searched, never the web. An answer is short and quotes text of the library
as data; if nothing is found, it states that and suggests similar names. The time limit is ToolCoder's: if a search
takes too long, only similar names are suggested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import anyio

from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.events import LookedUp
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import ApiDoc, Call, Message, SourceKind
from exploracoder_jupyter.pipeline.guarded_heuristics import heuristic
from exploracoder_jupyter.pipeline.ports import Reply, Tool
from exploracoder_jupyter.pipeline.prompting import inline_lookups
from exploracoder_jupyter.pipeline.prompting.passage_packing import api_table
from exploracoder_jupyter.pipeline.prompting.privacy_filter import may_share_source
from exploracoder_jupyter.pipeline.prompting.quoting import quote
from exploracoder_jupyter.pipeline.prompting.similar_apis import find_similar_apis
from exploracoder_jupyter.pipeline.prompting.text_shortening import shorten, shorten_code
from exploracoder_jupyter.pipeline.prompting.tool_call_text import SEARCH
from exploracoder_jupyter.pipeline.retrieval.named_apis import resolve_path
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.text.markup_escaping import fenced

_PATIENCE: Final = 0.6
"""Time limit in seconds for one answer (ToolCoder, section 3.3)."""
INLINE: Final = "inline"
"""Stands for a tool: look-ups in the middle of the code, whose answers are shorter."""
_MOST_FOUND: Final = 6
_MOST_MEMBERS: Final = 40
_LONGEST_QUERY: Final = 400
_LONGEST_SIGNATURE: Final = 3000
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
            apis = [item.api for item in await self.run.knowledge.search(wanted, inline_lookups.MOST_FOUND)]
            self._remember(apis)
            return inline_lookups.format_answer(apis)
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


def _signature(api: ApiDoc, most: int = _LONGEST_SIGNATURE) -> str:
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
