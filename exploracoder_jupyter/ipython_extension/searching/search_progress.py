"""Shows the progress of a search: as an output that is updated, or as a line that a terminal overwrites."""

from __future__ import annotations

import sys
from html import escape
from typing import cast

from IPython.display import DisplayHandle, display

_QUIET = (
    "color:var(--jp-ui-font-color2, inherit);font-family:var(--jp-ui-font-family, sans-serif);"
    "font-size:var(--jp-ui-font-size1, 13px)"
)
_MAX_LENGTH = 120


class OutputProgress:
    """An output of the cell, created at the first update."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def update(self, text: str) -> None:
        """Replace the text that was shown before."""
        bundle = _bundle(f"{text[:_MAX_LENGTH]} …")
        if self._handle:
            self._handle.update(bundle, raw=True)  # type: ignore[no-untyped-call]
        else:
            self._handle = cast(DisplayHandle, display(bundle, raw=True, display_id=True))  # type: ignore[no-untyped-call]

    def close(self, text: str = "") -> None:
        """Replace the text by a final one, or remove it."""
        if self._handle:
            self._handle.update(_bundle(text), raw=True)  # type: ignore[no-untyped-call]


class LineProgress:
    """One line of a terminal; silent if standard output is not a terminal."""

    def __init__(self) -> None:
        self._width = 0

    def update(self, text: str) -> None:
        """Replace the text that was shown before."""
        self._write(f"{''.join(filter(str.isprintable, text))[: _MAX_LENGTH - 40]} ...")

    def close(self, text: str = "") -> None:
        """Remove the line."""
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
