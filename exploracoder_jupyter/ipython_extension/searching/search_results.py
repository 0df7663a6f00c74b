"""Search results as values for a notebook: a list of APIs that displays itself as HTML or as text.

Parsed from the object that `jupyter explora search --json` prints. Fields that an older version does not print have
their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from pydantic import TypeAdapter

from exploracoder_jupyter.core.message_formatting import one_line, plural
from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.ipython_extension.searching.search_html import hit_html, results_html
from exploracoder_jupyter.text.terminal_text import printable

_MAX_LINE = 160
_MAX_SHOWN = 50
"""How many results are displayed; the list itself contains all of them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One API that was found."""

    path: str
    """Public import path."""
    signature: str = ""
    kind: str = ""
    description: str = ""
    """First sentence of its documentation."""
    documentation: str = ""
    """The whole docstring."""
    examples: tuple[str, ...] = ()
    """Code from the documentation with the imports that it needs, the most helpful example first."""
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    notes: tuple[str, ...] = ()
    see_also: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    deprecated: str | None = None
    """The documentation's note on its deprecation; `None` if it is not deprecated."""
    origin: str = ""
    """Where it was found; empty for an installed library's own code."""
    library: str = ""
    version: str = ""
    score: float = 0.0
    """Higher is better; comparable within one search only."""

    @property
    def example(self) -> str:
        """The first example, or an empty string."""
        return next(iter(self.examples), "")

    def __str__(self) -> str:
        return printable("\n".join(filter(None, (self._head(), self.documentation, self.example))))

    def __repr__(self) -> str:
        return printable(self._head())

    def _head(self) -> str:
        return f"{self.path}{self.signature}{' (deprecated)' if self.deprecated else ''}"

    def line(self) -> str:
        """Return path, signature and first sentence, on two short lines."""
        lines = filter(None, (self._head(), self.description))
        return "\n    ".join(printable(one_line(text, _MAX_LINE)) for text in lines)

    def _repr_html_(self) -> str:
        return hit_html(self)

    def _repr_llm_(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class SearchedLibrary:
    """A library that was searched."""

    name: str
    version: str = ""
    seconds: float = 0.0
    """How long it took to read it, or to open it if `cached`."""
    cached: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Results(Sequence[Hit]):
    """The results of a search, best first: `results[0].path`."""

    query: str
    results: tuple[Hit, ...] = ()
    libraries: tuple[SearchedLibrary, ...] = ()
    apis: int = 0
    """How many APIs were searched."""
    seconds: float = 0.0
    notices: tuple[str, ...] = ()
    """Notices about the libraries, one sentence each."""

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.results[at]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    @property
    def headline(self) -> str:
        """`networkx 3.6.1: 20 of 1,242 APIs for “shortest path”, in 0.3 s`."""
        libraries = ", ".join(f"{one.name} {one.version}".strip() for one in self.libraries)
        count = f"{len(self)} of {plural(self.apis, 'API')}" if self else f"nothing in {plural(self.apis, 'API')}"
        return f"{libraries}: {count} for “{' '.join(self.query.split())}”, in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        rows = (f"{number}. {hit.line()}" for number, hit in enumerate(self.results[:_MAX_SHOWN], 1))
        return "\n".join(filter(None, [*map(printable, self._head()), *rows, self._more()]))

    def _head(self) -> list[str]:
        return [self.headline, *self.notices]

    def _more(self) -> str:
        more = len(self) - _MAX_SHOWN
        return f"{more:,} more {'is' if more == 1 else 'are'} in the list." if more > 0 else ""

    def _repr_html_(self) -> str:
        return results_html(self._head(), self.results[:_MAX_SHOWN], more=self._more())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_llm_(self) -> str:
        examples = (f"# {hit.path}\n{hit.example}" for hit in self.results[:3] if hit.example)
        return "\n\n".join([repr(self), *map(printable, examples)])


_RESULTS: TypeAdapter[Results] = TypeAdapter(Results)


def parse_results(answer: str | bytes) -> Results:
    """Parse the JSON that the search command printed. Raises pydantic.ValidationError."""
    return _RESULTS.validate_json(answer)
