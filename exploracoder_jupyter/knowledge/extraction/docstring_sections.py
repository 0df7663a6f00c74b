"""What a docstring says of an API, section by section: parameters, result, versions, what else to see.

griffe reads the styles of NumPy, Google and Sphinx and finds out which one it is; what it leaves alone (versions,
deprecation, links) has the same few forms everywhere and is read here.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import griffe

from exploracoder_jupyter.core.types import Parameter

_SECTIONED = re.compile(
    r"^(?:-{3,}|={3,}|[ \t]*:(?:param|returns?|rtype|type|keyword)\b|[A-Z]\w+(?: \w+)?:[ \t]*$)", re.MULTILINE
)
_QUIET: griffe.PerStyleOptions = {
    "google": {"warnings": False},
    "numpy": {"warnings": False},
    "sphinx": {"warnings": False},
}
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
_ROLE = re.compile(r":(?:\w+:)?\w+:`(?:[^`<]*<)?[~.!]*([\w.]+)(?:\(\))?>?`|`{1,2}([\w.]+)(?:\(\))?`{1,2}")
_NAME = re.compile(r"([A-Za-z_][\w.]*)(?:\(\))?:?")
_SAYS = re.compile(r"(?<=[\w`)])\s*:\s")
_LONGEST_ABOUT = 400
_LONGEST_RETURNS = 300
_LONGEST_NOTE = 200
_MOST_PARAMETERS = 80
_MOST_LINKS = 12


@dataclass(frozen=True, slots=True)
class Said:
    """What a docstring says beside its prose and examples."""

    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    """Type and meaning, as far as they are told."""
    notes: tuple[str, ...] = ()
    see_also: tuple[str, ...] = ()
    """Names as they are written."""


def read(doc: str) -> Said:
    """Read one cleaned docstring of any style."""
    if not doc:
        return Said()
    sections = _sections(doc)
    return Said(
        parameters=tuple(_parameters(sections))[:_MOST_PARAMETERS],
        returns=_returns(sections),
        notes=tuple(dict.fromkeys(_notes(doc))),
        see_also=tuple(dict.fromkeys(_links(doc)))[:_MOST_LINKS],
    )


def _sections(doc: str) -> list[griffe.DocstringSection]:
    if not _SECTIONED.search(doc):
        return []
    try:
        return griffe.Docstring(doc).parse("auto", per_style_options=_QUIET)
    except Exception:  # a docstring may be anything, and the parsers raise what they please
        return []


def _parameters(sections: Sequence[griffe.DocstringSection]) -> Iterator[Parameter]:
    kinds = (griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.other_parameters)
    for section in sections:
        for one in section.value if section.kind in kinds else ():
            kind = _kind(one)
            choices = f"{{{kind}}}" if re.match(r"['\"\d].*, ", kind) else kind
            yield Parameter(one.name, choices, str(one.value or ""), _one_line(one.description, _LONGEST_ABOUT))


def _returns(sections: Sequence[griffe.DocstringSection]) -> str:
    kinds = (griffe.DocstringSectionKind.returns, griffe.DocstringSectionKind.yields)
    found = [one for section in sections if section.kind in kinds for one in section.value]
    return "; ".join(filter(None, map(_returned, found)))[:_LONGEST_RETURNS]


def _returned(one: griffe.DocstringReturn | griffe.DocstringYield) -> str:
    """`out: ndarray. The result`, of whatever parts there are."""
    head = ": ".join(filter(None, (one.name, _kind(one))))
    return ". ".join(filter(None, (head, _one_line(one.description, _LONGEST_RETURNS))))


def _kind(one: griffe.DocstringParameter | griffe.DocstringReturn | griffe.DocstringYield) -> str:
    """Its type; what comes after an empty line does not belong to it."""
    kind = _one_line(str(one.annotation or "").partition("\n\n")[0], _LONGEST_NOTE)
    return re.sub(r"(?:,| \(| )optional\)?$|^optional$", "", kind).rstrip(", ")


def _notes(doc: str) -> Iterator[str]:
    for found in _VERSION.finditer(doc):
        if plain := found.group("plain"):
            yield _one_line(plain, _LONGEST_NOTE)
        else:
            version, _, rest = _one_line(found.group("what"), _LONGEST_NOTE).partition(" ")
            word = "Added" if found.group("how") == "added" else "Changed"
            yield f"{word} in {version.rstrip('.:')}" + (f": {rest}" if rest else "")


def _links(doc: str) -> Iterator[str]:
    for found in _SEE_NUMPY.finditer(doc):
        yield from _listed(found.group(1))
    for found in _SEE_OTHER.finditer(doc):
        inner = textwrap.dedent(found.group(2))
        yield from _listed(inner)
        yield from (first or second for first, second in _ROLE.findall(inner))


def _listed(text: str) -> Iterator[str]:
    """The names that begin the lines of a list of links, several to a line; what is indented says more of them."""
    for line in text.splitlines():
        names = _SAYS.split(line, maxsplit=1)[0] if line[:1].strip() else ""
        for name in names.split(","):
            marked, plain = _ROLE.match(name.strip()), _NAME.fullmatch(name.strip())
            if marked:
                yield marked.group(1) or marked.group(2)
            elif plain:
                yield plain.group(1)


def _one_line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."
