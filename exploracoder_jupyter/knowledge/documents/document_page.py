"""What a reader makes of one document: the APIs that it describes, its sections, the programs in it."""

from __future__ import annotations

from dataclasses import dataclass

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.extraction import docstring_examples

_EXAMPLES_IN = 60_000
"""Characters of a document in which programs are looked for; the work may grow with their square."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document under one heading."""

    title: str
    text: str
    place: str = ""
    """Within the document: an anchor, `line 12`, `cell 3`."""
    code: bool = False
    """Whether it is Python code and nothing else."""


@dataclass(frozen=True, slots=True)
class Page:
    """One document, read.

    In an API's `origin` is its place within the document; its `library` is empty where the document does not say that
    its path begins with an import name.
    """

    title: str = ""
    sections: tuple[Section, ...] = ()
    apis: tuple[ApiDoc, ...] = ()
    programs: tuple[str, ...] = ()
    project: str = ""
    """What is documented, with its version after a space, where the document says so."""

    def __bool__(self) -> bool:
        return bool(self.sections or self.apis or self.programs)


def sound(text: str) -> str:
    """A text without halves of characters, as names of files and escapes in JSON may hold them."""
    return text.encode("utf-8", "replace").decode()


def programs(text: str) -> tuple[str, ...]:
    """The runnable code of a document."""
    return docstring_examples.examples(f"{text[:_EXAMPLES_IN]}\n")
