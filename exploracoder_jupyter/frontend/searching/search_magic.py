"""`%explora search`: what was typed, as a value; and the search, which the command line makes in its own process."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.options import OPTIONS, READING, Parser, add_reading_options, layer
from exploracoder_jupyter.core.settings import Layer, resolve
from exploracoder_jupyter.frontend.running.interpreter_settings import with_this_interpreter
from exploracoder_jupyter.frontend.searching.search_process import run_search
from exploracoder_jupyter.frontend.searching.search_progress import LineProgress, OutputProgress, Progress
from exploracoder_jupyter.frontend.searching.search_results import Results
from exploracoder_jupyter.frontend.tab_completion import installed_names
from exploracoder_jupyter.kernel_agent.introspection.documentation_walk import normal

_MOST = 1000
_EXAMPLE = "For example: %explora search networkx shortest path"


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """Where to search."""

    libraries: str
    """One name, or several with commas between them."""
    layer: Layer = field(default_factory=dict)
    """Settings that were given with them."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One line, read."""

    place: SearchTarget
    query: str
    k: int


class LibrarySearcher:
    """Searches for one shell, and remembers where it searched or explored last."""

    def __init__(self, *, jupyter: bool, configured: Callable[[], Layer]) -> None:
        """`jupyter`: outputs are messages, which can be updated; `configured` gives what `%config` has set."""
        self.last: SearchTarget | None = None
        self._configured = configured
        self._show: Callable[[], Progress] = OutputProgress if jupyter else LineProgress

    def search(self, line: str) -> Results:
        """What the line asks for.

        Raises:
            UsageError: the line or a setting is bad, the library is unknown, or the user interrupted.
            MissingMeans: the library, or the interpreter that would search it, cannot be used.
        """
        asked = parse_search_line(line, self.last)
        progress = self._show()
        try:
            found = _found(asked, [asked.target.layer, self._configured()], progress)
        except KeyboardInterrupt:
            progress.close()
            raise UsageError("Stopped. The search found nothing yet.") from None
        except BaseException:
            progress.close()
            raise
        progress.close(_was_read(found))
        self.last = asked.target
        return found


def parse_search_line(line: str, last: SearchTarget | None) -> SearchRequest:
    """The search that a line asks for.

    Its first word is the library where it ends with a colon, where an option says how that is read, or where nothing
    was searched before; otherwise where it is the name of something installed that does not come with Python, for
    `random walk` is a query. In double quotes it belongs to the query. Where it is no library, `last` is searched.

    Raises:
        UsageError: an option is bad, or there is no query or no library.
    """
    given = _parser().parse_intermixed_args(_words(line))
    if not 1 <= given.k <= _MOST:
        raise UsageError(f"-k takes a number from 1 to {_MOST}, not {given.k}.", remedy="Give fewer, or more.")
    settings = layer(given)
    words: list[str] = given.words
    if not words:
        raise UsageError("The query is empty.", remedy=f"Say in words what is looked for. {_EXAMPLE}")
    quoted = f'"{words[0]}"' in line
    if last and (quoted or not (settings or _names_library(words[0], last))):
        return SearchRequest(last, _query(words), given.k)
    if quoted:
        raise UsageError("No library is named, and none was searched before.", remedy=_EXAMPLE)
    name = words[0].removesuffix(":")
    if not _query(words[1:]):
        raise UsageError(_no_query(name, last), remedy=_EXAMPLE)
    known = last if last and last.libraries == name and not settings else SearchTarget(name, settings)
    return SearchRequest(known, _query(words[1:]), given.k)


def _query(words: Sequence[str]) -> str:
    """The words as one text, without the space that a question mark is given before IPython reads it."""
    return " ".join(words).strip().replace(" ?", "?")


def _no_query(name: str, last: SearchTarget | None) -> str:
    if last is None or name == last.libraries:
        return f"There is no query: what is looked for in {name}?"
    return f'There is no query for {name}; to look for that word in {last.libraries}, put it in quotes: "{name}".'


def _names_library(word: str, last: SearchTarget) -> bool:
    """Whether the word, several names with commas between them, is one of libraries as far as names can tell."""
    if word.endswith(":") or _installed(word, last):
        return True
    installed_names.cache_clear()  # it may have been installed since
    return _installed(word, last)


def _installed(word: str, last: SearchTarget) -> bool:
    known = {normal(name) for name in (*installed_names(), *last.libraries.split(","))}
    return all(normal(name.partition(".")[0]) in known for name in word.split(",") if name)


def _words(line: str) -> list[str]:
    """The words of a line; only double quotes bind, for queries have apostrophes."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UsageError("The %explora search line cannot be read.", remedy="Close every double quote.") from error


def _parser() -> Parser:
    parser = Parser(prog="%explora", add_help=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-k", type=int, default=10)
    add_reading_options(parser, place="magic")
    return parser


def _found(asked: SearchRequest, layers: Sequence[Layer], progress: Progress) -> Results:
    """What the command finds. `-P`: a file of the user's folder must not shadow a module of ours."""
    layers = with_this_interpreter(layers)
    sandbox = resolve(*layers).sandbox
    head = (sandbox.engine_python or sys.executable, "-P", "-m", "exploracoder_jupyter.cli", "search", "--json")
    options, last = ("-k", str(asked.k), *_options(layers)), ("--", asked.target.libraries, asked.query)
    return run_search((*head, *options, *last), on_progress=progress.say)


def _options(layers: Sequence[Layer]) -> Iterator[str]:
    """What is set here, as options of the command; the rest it finds in the file and in the environment by itself."""
    for option in OPTIONS:
        if option.name in READING:
            values = (given[option.field] for one in layers if option.field in (given := one.get(option.section, {})))
            yield from (f"{option.flag}={value}" for value in _listed(next(values, None)))


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    if value is None:
        return []
    return value if isinstance(value, list | tuple) else [value]


def _was_read(found: Results) -> str:
    """Which libraries were read and not taken from what is kept; a sentence, or nothing."""
    names = [f"{one.name} {one.version}".strip() for one in found.libraries if not one.cached]
    were = "was" if len(names) == 1 else "were"
    return f"{', '.join(names)} {were} read; what was found out is kept for the next search." if names else ""
