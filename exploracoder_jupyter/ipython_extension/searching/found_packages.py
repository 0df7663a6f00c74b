"""The packages that `find` found, as values for a notebook: a list that displays itself as HTML or as text.

Parsed from the object that `jupyter explora find --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from exploracoder_jupyter.core.messages import one_line, plural
from exploracoder_jupyter.core.validation import TypeAdapter
from exploracoder_jupyter.text.characters import escape_html, printable

_MAX_LINE = 160
_STYLE = (
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);line-height:1.45;"
    "color:var(--jp-ui-font-color1, inherit);max-width:60em;overflow-wrap:anywhere"
)
_QUIET = "color:var(--jp-ui-font-color2, inherit)"
_CODE = "font-family:var(--jp-code-font-family, monospace);background:none;padding:0;color:inherit"
_LIST = "list-style:none;margin:2px 0 8px;padding:0 0 0 1.3em"


@dataclass(frozen=True, slots=True)
class MatchingApi:
    """One API of a package, or a section of a guide that the package ships."""

    path: str
    """Public import path; of a guide, its file."""
    kind: str = ""
    signature: str = ""
    description: str = ""
    """The sentence of its documentation that shows best why it was found."""
    score: float = 0.0

    def __repr__(self) -> str:
        return printable(f"{self.path}{self.signature}")


@dataclass(frozen=True, slots=True)
class MatchingPackage:
    """One installed package with its best APIs."""

    name: str
    version: str = ""
    module: str = ""
    """The name by which it is imported."""
    summary: str = ""
    """What it says of itself."""
    score: float = 0.0
    """Higher is better; comparable within one search only."""
    apis: tuple[MatchingApi, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{self.name} {self.version}: {self.summary}"]
        for api in self.apis:
            lines += [f"    {api!r}", *([f"        {api.description}"] if api.description else [])]
        return "\n".join(printable(one_line_kept(line)) for line in lines)


@dataclass(frozen=True, slots=True, repr=False)
class FoundPackages(Sequence[MatchingPackage]):
    """The packages that match a query, best first: `found[0].module`."""

    query: str
    packages: tuple[MatchingPackage, ...] = ()
    installed: int = 0
    """How many packages there are in the environment."""
    read: int = 0
    """How many of them were searched."""
    newly_read: int = 0
    apis: int = 0
    """How many APIs were searched."""
    notices: tuple[str, ...] = ()
    """What is missing, one sentence each."""
    seconds: float = 0.0

    @overload
    def __getitem__(self, at: int) -> MatchingPackage: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[MatchingPackage, ...]: ...
    def __getitem__(self, at: int | slice) -> MatchingPackage | tuple[MatchingPackage, ...]:
        return self.packages[at]

    def __len__(self) -> int:
        return len(self.packages)

    def __iter__(self) -> Iterator[MatchingPackage]:
        return iter(self.packages)

    @property
    def headline(self) -> str:
        """`217 packages with 92,129 APIs searched for “shortest path”, in 0.3 s`."""
        what = f"{plural(self.read, 'package')} with {plural(self.apis, 'API')}"
        return f"{what} searched for “{' '.join(self.query.split())}”, in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        found = [f"{number}. {package!r}" for number, package in enumerate(self.packages, 1)]
        return "\n".join([*map(printable, (self.headline, *self.notices)), *(found or ["Nothing was found."])])

    def _repr_html_(self) -> str:
        head = "".join(f'<div style="{_QUIET}">{escape_html(line)}</div>' for line in (self.headline, *self.notices))
        items = "".join(map(_package_html, self.packages)) or "Nothing was found."
        return f'<div class="jp-Explora-search" style="{_STYLE}">{head}{items}</div>'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_llm_(self) -> str:
        return repr(self)


_FOUND: TypeAdapter[FoundPackages] = TypeAdapter(FoundPackages)


def parse_found(answer: str | bytes) -> FoundPackages:
    """Parse the JSON that the command printed. Raises ValidationError."""
    return _FOUND.validate_json(answer)


def one_line_kept(line: str) -> str:
    """Return a line cut to its limit, with its indentation."""
    text = line.lstrip(" ")
    return line[: len(line) - len(text)] + one_line(text, _MAX_LINE)


def _package_html(package: MatchingPackage) -> str:
    imported = f" · import {escape_html(package.module)}" if package.module else ""
    head = f'<b>{escape_html(package.name)}</b> <span style="{_QUIET}">{escape_html(package.version)}{imported}</span>'
    rows = "".join(
        f'<li><code style="{_CODE}"><b>{escape_html(api.path)}</b>{escape_html(one_line(api.signature, 80))}</code>'
        f"<div>{escape_html(one_line(api.description, _MAX_LINE))}</div></li>"
        for api in package.apis
    )
    about = escape_html(one_line(package.summary, _MAX_LINE))
    return f'<div style="margin-top:6px">{head}<div>{about}</div><ul style="{_LIST}">{rows}</ul></div>'
