"""Shortens the text of a long source file: its beginning as it is, then the signatures of what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from exploracoder_jupyter.repository.reading.source_file import Definition

_TITLE = "... the rest of the file, without bodies:"


def shorten_file(text: str, definitions: Iterable[Definition], most: int) -> str:
    """Return the text, or half of it and the signatures of the definitions that begin after that.

    Args:
        text: the file.
        definitions: what is defined in it, in its order.
        most: maximum number of characters.
    """
    if len(text) <= most:
        return text
    head = text[: most // 2].rpartition("\n")[0]
    room = most - len(head) - len(_TITLE) - len("...\n") - 2
    outline = "\n".join(_fitting(_outline(definitions, head.count("\n") + 1), room))
    return f"{head}\n{_TITLE}\n{outline}"


def _outline(definitions: Iterable[Definition], after: int) -> Iterator[str]:
    for item in definitions:
        if item.line > after and item.kind != "attribute":
            pad = "    " * (item.owner.count(".") + bool(item.owner))
            yield f"{pad}{item.signature}" + (f"  # {item.summary}" if item.summary else "")


def _fitting(lines: Iterable[str], most: int) -> Iterator[str]:
    """Yield lines while their characters fit."""
    lines = list(lines)
    for line, size in zip(lines, accumulate(len(line) + 1 for line in lines), strict=True):
        if size > most:
            yield "..."
            return
        yield line
