"""Parses the sections of a docstring: parameters, result, version notes and related APIs.

griffe detects and reads the NumPy, Google and Sphinx styles. Version notes, deprecations and links, which it leaves
alone, look much the same in every style and are read here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exploracoder_jupyter.core.types import Parameter

if TYPE_CHECKING:
    import griffe  # imported where a library is read: a search in what was read must not wait for it

_SECTIONED = re.compile(
    r"^(?:-{3,}|={3,}|[ \t]*:(?:param|returns?|rtype|type|keyword)\b|[A-Z]\w+(?: \w+)?:[ \t]*$)", re.MULTILINE
)
_NO_WARNINGS: griffe.PerStyleOptions = {
    "google": {"warnings": False},
    "numpy": {"warnings": False},
    "sphinx": {"warnings": False},
}
_DEPRECATED = re.compile(
    r"^(?:(?:\.\. deprecated::|DEPRECATED[:.]|Deprecated:|:deprecated:|\.\. warning::\s+DEPRECATED)[ \t]*"
    r"(?P<marked>[^\n]*(?:\n(?:[ \t]*\n)?[ \t]+\S[^\n]*)*)"
    r"|(?P<plain>(?:Deprecated since version|This \w+ (?:is|has been|was) deprecated)[^\n]*(?:\n\S[^\n]*)*))",
    re.MULTILINE,
)
_VERSION = re.compile(
    r"^(?:\.\. version(?P<how>added|changed)::[ \t]*(?P<what>[^\n]*(?:\n[ \t]+\S[^\n]*|\n[ \t]*\n[ \t]+\S[^\n]*)*)"
    r"|(?P<plain>(?:New|Added|Changed) in version [^\n]*))",
    re.MULTILINE,
)
_SEE_NUMPY = re.compile(
    r"^See Also\n-{3,}\n(.*?)(?=^\S[^\n]*\n[-=]{3,}$|^\.\. |\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_SEE_OTHER = re.compile(
    r"^([ \t]*)(?:\.\. seealso::[ \t]*|See Also:[ \t]*\n)([^\n]*(?:\n(?:\1[ \t]+[^\n]*|[ \t]*(?=\n|\Z)))*)",
    re.MULTILINE | re.IGNORECASE,
)
_COMPILED = re.compile(r"\n[ \t]*\n?[ \t]*C\+\+ signature ?:[^\n]*(?:\n[ \t]+\S[^\n]*)*")
_COMPILED_HEAD = re.compile(r"\A\s*\w+\( ?[^\n]*\) -> [^\n]+ :[ \t]*\n")
_ROLE = re.compile(r":(?:\w+:)?\w+:`(?:[^`<]*<)?[~.!]*([\w.]+)(?:\(\))?>?`|`{1,2}([\w.]+)(?:\(\))?`{1,2}")
_NAME = re.compile(r"([A-Za-z_][\w.]*)(?:\(\))?:?")
_DESCRIPTION_SEPARATOR = re.compile(r"(?<=[\w`)])\s*:\s")
_MAX_DESCRIPTION_CHARS = 400
_MAX_RETURNS_CHARS = 300
_MAX_NOTE_CHARS = 200
_MAX_DEPRECATION_CHARS = 300
_MAX_PARAMETERS = 80
_MAX_LINKS = 12


@dataclass(frozen=True, slots=True)
class DocstringInfo:
    """What a docstring documents besides its prose and examples."""

    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    """Type and meaning, as far as they are documented."""
    notes: tuple[str, ...] = ()
    see_also: tuple[str, ...] = ()
    """Names as written."""


def strip_compiled_signatures(doc: str) -> str:
    """Return the docstring without what Boost.Python adds to it: the signatures in C++, and the first one in Python."""
    text, count = _COMPILED.subn("", doc)
    return textwrap.dedent(_COMPILED_HEAD.sub("", text, count=1)).strip() if count else doc


def parse_docstring(doc: str) -> DocstringInfo:
    """Parse a cleaned docstring of any style."""
    if not doc:
        return DocstringInfo()
    sections = _sections(doc)
    returns = []
    for one in (one for part in sections if part.kind.value in ("returns", "yields") for one in part.value):
        head = ": ".join(filter(None, (one.name, _documented_type(one))))
        returns.append(". ".join(filter(None, (head, _truncate(one.description, _MAX_RETURNS_CHARS)))))
    return DocstringInfo(
        parameters=tuple(_parameters(sections))[:_MAX_PARAMETERS],
        returns="; ".join(filter(None, returns))[:_MAX_RETURNS_CHARS],
        notes=tuple(dict.fromkeys(_notes(doc))),
        see_also=tuple(dict.fromkeys(_links(doc)))[:_MAX_LINKS],
    )


def _sections(doc: str) -> list[griffe.DocstringSection]:
    if not _SECTIONED.search(doc):
        return []
    import griffe

    try:
        return griffe.Docstring(doc).parse("auto", per_style_options=_NO_WARNINGS)
    except Exception:  # a docstring may contain anything, and the parsers raise undocumented exceptions
        return []


def _parameters(sections: Sequence[griffe.DocstringSection]) -> Iterator[Parameter]:
    for section in sections:
        for one in section.value if section.kind.value in ("parameters", "other parameters") else ():
            kind = _documented_type(one)
            choices = f"{{{kind}}}" if re.match(r"['\"\d].*, ", kind) else kind
            yield Parameter(one.name, choices, str(one.value or ""), _truncate(one.description, _MAX_DESCRIPTION_CHARS))


def _documented_type(one: griffe.DocstringParameter | griffe.DocstringReturn | griffe.DocstringYield) -> str:
    kind = _truncate(str(one.annotation or "").partition("\n\n")[0], _MAX_NOTE_CHARS)
    return re.sub(r"(?:,| \(| )optional\)?$|^optional$", "", kind).rstrip(", ")


def _notes(doc: str) -> Iterator[str]:
    for found in _VERSION.finditer(doc):
        if plain := found.group("plain"):
            yield _truncate(plain, _MAX_NOTE_CHARS)
        else:
            version, _, rest = _truncate(found.group("what"), _MAX_NOTE_CHARS).partition(" ")
            word = "Added" if found.group("how") == "added" else "Changed"
            yield f"{word} in {version.rstrip('.:')}" + (f": {rest}" if rest else "")


def _links(doc: str) -> Iterator[str]:
    for found in _SEE_NUMPY.finditer(doc):
        yield from _listed_names(found.group(1))
    for found in _SEE_OTHER.finditer(doc):
        inner = textwrap.dedent(found.group(2))
        yield from _listed_names(inner)
        yield from (first or second for first, second in _ROLE.findall(inner))


def _listed_names(text: str) -> Iterator[str]:
    """Yield the names at the start of each line in a list of links.

    A line can list several names; indented lines are descriptions.
    """
    for line in text.splitlines():
        names = _DESCRIPTION_SEPARATOR.split(line, maxsplit=1)[0] if line[:1].strip() else ""
        for name in names.split(","):
            marked, plain = _ROLE.match(name.strip()), _NAME.fullmatch(name.strip())
            if marked:
                yield marked.group(1) or marked.group(2)
            elif plain:
                yield plain.group(1)


def _truncate(text: str, max_chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 3].rstrip() + "..."


def find_deprecation(doc: str) -> str | None:
    """Return the deprecation note of a docstring on one line; None if it has none."""
    found = _DEPRECATED.search(doc)
    if not found:
        return None
    note = found.group("marked") or found.group("plain") or ""
    return " ".join(note.split())[:_MAX_DEPRECATION_CHARS] or "deprecated"
