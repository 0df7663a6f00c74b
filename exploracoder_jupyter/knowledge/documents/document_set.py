"""What was read from one document, and from all documents of a library."""

from __future__ import annotations

from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc, Passage
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import return_type
from exploracoder_jupyter.knowledge.extraction import api_parameters, docstring_examples, docstring_sections

_MAX_LISTED = 5
_MAX_EXAMPLE_CHARS = 60_000
"""Characters of a document that are searched for programs; the search may take quadratic time."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read. An API's `library` is empty if no document shows that its path starts with an import name."""

    apis: tuple[ApiDoc, ...] = ()
    passages: tuple[Passage, ...] = ()
    text: str = ""
    """Text of the front pages: READMEs and index pages."""
    programs: tuple[str, ...] = ()
    project: str = ""
    """Name and version, if a document contains them."""
    files: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    """Reasons for which documents were left out, with their counts."""
    too_slow: tuple[tuple[str, float], ...] = ()
    """Documents left out because reading them took too long, with their time limit in seconds."""
    reopened: bool = False
    digest: str = ""
    """Hash of everything that was read and of the format version."""

    @property
    def version(self) -> str:
        """The last word of the project, if it is a version."""
        last = self.project.rpartition(" ")[2]
        return last if last[:1].isdigit() else ""

    @property
    def left_out(self) -> str:
        """A message about what was left out, except for slow documents; empty if there is nothing."""
        if not self.skipped:
            return ""
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in self.skipped)
        return f"Documentation files that were left out: {reasons}."

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages about what was not read."""
        slow = [f"Reading {name!r} takes longer than {seconds:g} s; it is left out." for name, seconds in self.too_slow]
        more = f"{len(slow) - _MAX_LISTED:,} more documentation files take too long to read; they are left out."
        return tuple(filter(None, [self.left_out, *slow[:_MAX_LISTED], more if len(slow) > _MAX_LISTED else ""]))


def complete_api(api: ApiDoc) -> ApiDoc:
    """Fill in examples, parameters, result, version notes and deprecation from an API's description and signature."""
    documented = docstring_sections.parse_docstring(api.description)
    return replace(
        api,
        examples=api.examples
        or docstring_examples.extract_examples(f"{api.description}\n")[: docstring_examples.MAX_EXAMPLES],
        deprecated=api.deprecated or docstring_sections.find_deprecation(api.description),
        parameters=api_parameters.merge_parameters((), api.signature, (*documented.parameters, *api.parameters)),
        returns=api_parameters.merge_returns(api.returns or return_type(api.signature), documented.returns),
        notes=api.notes or documented.notes,
        see_also=api.see_also or documented.see_also,
    )


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
