"""A summary under construction: facts are added until it is full, and omitted facts are counted."""

from __future__ import annotations

MAX_LENGTH = 600
"""Maximum characters in the summary of a value, unless its type family allows more."""
_LAST_LINE_LENGTH = len("\n  ... 1,000 more cut")
_MIN_SHORTENED = 60
"""A fact that does not fit is shortened to the remaining space if at least this many characters remain."""


class Draft:
    """The type of a value, its first fact on the same line, and the other facts below, indented."""

    def __init__(self, head: str, limit: int = MAX_LENGTH) -> None:
        self.text = head[:MAX_LENGTH]
        self._limit = limit
        self._started = False
        self._omitted = 0

    @property
    def full(self) -> bool:
        """Whether a fact was omitted."""
        return self._omitted > 0

    def add(self, fact: str | None) -> None:
        """Add a fact. An empty first fact leaves the first line to the type alone."""
        separator, text = (
            ("\n  ", _clean(fact or "").strip("\n")) if self._started else (": ", _clean(fact or "").strip())
        )
        self._started = True
        if not text:
            return
        line = separator + text.rstrip().replace("\n", "\n    ")
        available = self._limit - _LAST_LINE_LENGTH - len(self.text)
        if self.full:
            self._omitted += 1
        elif len(line) <= available:
            self.text += line
        else:
            self.text += f"{line[: available - 3]}..." if available >= _MIN_SHORTENED else ""
            self._omitted = 1

    def finish(self, counted: bool = True) -> str:
        """Return the text, with the number of omitted facts if `counted`."""
        if not self.full:
            return self.text
        return f"{self.text}\n  ... {f'{min(self._omitted, 1000):,} ' if counted else ''}more cut"


def with_note(text: str, note: str) -> str:
    """Append a note line to the text; the note may exceed the text's size limit."""
    return f"{text}\n  ({_clean(note)[:100]})"


def _clean(text: str) -> str:
    """Replace characters that cannot be encoded, or that a terminal should not be sent."""
    if text.isprintable() and text.isascii():
        return text
    text = text[: 10 * MAX_LENGTH].encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)


def _escape(char: str) -> str:
    return "    " if char == "\t" else ascii(char)[1:-1]
