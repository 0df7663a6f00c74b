"""What a search is doing, shown while it lasts: an output that is updated, or a line that a terminal overwrites."""

from __future__ import annotations

import sys
from html import escape
from typing import Protocol, cast

from IPython.display import DisplayHandle, display

_QUIET = (
    "color:var(--jp-ui-font-color2, inherit);font-family:var(--jp-ui-font-family, sans-serif);"
    "font-size:var(--jp-ui-font-size1, 13px)"
)
_MOST = 120


class Progress(Protocol):
    """Shows one search."""

    def say(self, what: str) -> None:
        """Show this instead of what was shown before."""
        ...

    def close(self, what: str = "") -> None:
        """Leave this, or nothing; shows nothing where nothing was said before."""
        ...


class OutputProgress:
    """An output of the cell, made when there is something to say."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def say(self, what: str) -> None:
        """Show this instead of what was shown before."""
        bundle = _bundle(f"{what[:_MOST]} …")
        if self._handle:
            self._handle.update(bundle, raw=True)  # type: ignore[no-untyped-call]
        else:
            self._handle = cast(DisplayHandle, display(bundle, raw=True, display_id=True))  # type: ignore[no-untyped-call]

    def close(self, what: str = "") -> None:
        """Leave this, or nothing."""
        if self._handle:
            self._handle.update(_bundle(what), raw=True)  # type: ignore[no-untyped-call]


class LineProgress:
    """One line of a terminal; silent where standard output is none."""

    def __init__(self) -> None:
        self._width = 0

    def say(self, what: str) -> None:
        """Show this instead of what was shown before."""
        self._write(f"{''.join(filter(str.isprintable, what))[: _MOST - 40]} ...")

    def close(self, what: str = "") -> None:
        """Take the line away."""
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        if sys.stdout.isatty():
            sys.stdout.write(f"\r{text:<{self._width}}{'' if text else chr(13)}")
            sys.stdout.flush()
            self._width = len(text)


def _bundle(text: str) -> dict[str, str]:
    html = f'<div style="{_QUIET}">{escape(text)}</div>' if text else ""
    return {"text/plain": text, "text/html": html}
