"""A summary while it is made: facts are added until it is full, and what is missing is counted."""

from __future__ import annotations

MOST = 600
"""Characters of the summary of a value, unless its family has more to say."""
_LAST_LINE = len("\n  ... 1,000 more cut")
_WORTH = 60
"""A fact that does not fit is shortened to what room there is, if it is so much at least."""


class Draft:
    """The type of a value, its first fact on the same line, and the others below, indented."""

    def __init__(self, head: str, most: int = MOST) -> None:
        self.text = head[:MOST]
        self._most = most
        self._begun = False
        self._missing = 0

    @property
    def full(self) -> bool:
        """Whether something was left out."""
        return self._missing > 0

    def add(self, fact: str | None) -> None:
        """Add a fact, or note that there is none to add here (the first line is kept for the first one)."""
        joint, text = ("\n  ", _clean(fact or "").strip("\n")) if self._begun else (": ", _clean(fact or "").strip())
        self._begun = True
        if not text:
            return
        line = joint + text.rstrip().replace("\n", "\n    ")
        room = self._most - _LAST_LINE - len(self.text)
        if self.full:
            self._missing += 1
        elif len(line) <= room:
            self.text += line
        else:
            self.text += f"{line[: room - 3]}..." if room >= _WORTH else ""
            self._missing = 1

    def ended(self, counted: bool = True) -> str:
        """The text, with how many facts are missing, if they were counted."""
        if not self.full:
            return self.text
        return f"{self.text}\n  ... {f'{min(self._missing, 1000):,} ' if counted else ''}more cut"


def with_note(text: str, note: str) -> str:
    """The text with one more line, which may take it beyond its size by that."""
    return f"{text}\n  ({_clean(note)[:100]})"


def _clean(text: str) -> str:
    """The text without what no message could hold, or no terminal should be shown."""
    if text.isprintable() and text.isascii():
        return text
    kept = text[: 10 * MOST].encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() or letter == "\n" else _escaped(letter) for letter in kept)


def _escaped(letter: str) -> str:
    return "    " if letter == "\t" else ascii(letter)[1:-1]
