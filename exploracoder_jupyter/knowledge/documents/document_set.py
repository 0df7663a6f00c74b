"""What was read of documents, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from exploracoder_jupyter.core.types import ApiDoc, Passage
from exploracoder_jupyter.knowledge.documents.readers.written_signatures import returned
from exploracoder_jupyter.knowledge.extraction import api_parameters, docstring_examples, docstring_sections

_MOST_NAMED = 5
"""Documents that take too long and are named."""


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read. An API's `library` is empty where no document says that its path begins with an import name."""

    apis: tuple[ApiDoc, ...] = ()
    passages: tuple[Passage, ...] = ()
    text: str = ""
    """Of the front pages: READMEs and indexes."""
    programs: tuple[str, ...] = ()
    project: str = ""
    """Name and version, where a document says so."""
    files: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    """Why documents were left out, and how many."""
    too_slow: tuple[tuple[str, float], ...] = ()
    """Documents that were left out because reading them took too long, with the seconds that they had."""
    reopened: bool = False
    """Whether it was read before."""
    digest: str = ""
    """Of everything that was read, and of how it is read."""

    @property
    def version(self) -> str:
        """The last word of the project, if it is a version."""
        last = self.project.rpartition(" ")[2]
        return last if last[:1].isdigit() else ""

    @property
    def left_out(self) -> str:
        """A sentence on what was not read, but for what took too long; empty where that is nothing."""
        if not self.skipped:
            return ""
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in self.skipped)
        return f"Files of the documentation that were left out: {reasons}."

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences on what was not read."""
        slow = [f"Reading {name!r} takes longer than {seconds:g} s: it is left out." for name, seconds in self.too_slow]
        more = f"{len(slow) - _MOST_NAMED:,} more files of the documentation take too long: they are left out."
        return tuple(filter(None, [self.left_out, *slow[:_MOST_NAMED], more if len(slow) > _MOST_NAMED else ""]))


def completed(api: ApiDoc) -> ApiDoc:
    """An API with what its description and signature say of examples, parameters, result, versions and deprecation."""
    said = docstring_sections.read(api.description)
    return replace(
        api,
        examples=api.examples
        or docstring_examples.examples(f"{api.description}\n")[: docstring_examples.MOST_EXAMPLES],
        deprecated=api.deprecated or docstring_examples.deprecation(api.description),
        parameters=api_parameters.parameters((), api.signature, (*said.parameters, *api.parameters)),
        returns=api_parameters.returns(api.returns or returned(api.signature), said.returns),
        notes=api.notes or said.notes,
        see_also=api.see_also or said.see_also,
    )
