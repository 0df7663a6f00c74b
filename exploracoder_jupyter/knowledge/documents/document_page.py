"""The parsed content of one document: the APIs it describes, its sections, and its programs."""

from __future__ import annotations

from dataclasses import dataclass

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.extraction import docstring_examples

_MAX_EXAMPLE_CHARS = 60_000
"""Characters of a document that are searched for programs; the search may take quadratic time."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading."""

    title: str
    text: str
    place: str = ""
    """Position in the document: an anchor, `line 12`, `cell 3`."""
    code: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One parsed document.

    An API's `origin` is its position in the document. Its `library` is empty if the document does not show that its
    path starts with an import name.
    """

    title: str = ""
    sections: tuple[Section, ...] = ()
    apis: tuple[ApiDoc, ...] = ()
    programs: tuple[str, ...] = ()
    project: str = ""
    """What is documented, followed by a space and the version, if the document says so."""

    def __bool__(self) -> bool:
        return bool(self.sections or self.apis or self.programs)


def find_programs(text: str) -> tuple[str, ...]:
    """Return the runnable code of a document."""
    return docstring_examples.extract_examples(f"{text[:_MAX_EXAMPLE_CHARS]}\n")
