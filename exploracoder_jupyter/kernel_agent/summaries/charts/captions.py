"""Titles, labels and legend entries of charts. They count as data: an f-string may have put any value into them."""

from __future__ import annotations

import re
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, truncate

_QUOTED = re.compile(r',? "[^"]*"')


def quote(text: Any, limit: int = 40) -> str:
    """Return a title or label in double quotes, with none within it, so that `strip_quoted` finds its end."""
    return '"' + truncate(str(text), limit).replace('"', "'") + '"'


def strip_quoted(line: str) -> str:
    """Return the line without its quoted parts: `line: 2 points` for `line "north": 2 points`."""
    return _QUOTED.sub("", line)


def caption_fact(line: str) -> Fact:
    """Create a fact whose schema omits the quoted parts."""
    schema = strip_quoted(line)
    return Fact(line, shows=schema != line, schema=schema)


def legend_fact(title: str, labels: list[str], limit: int, indent: str = "") -> Fact:
    """Create a fact with a legend's entries; its schema has only their number."""
    more = f", {len(labels) - limit} more" if len(labels) > limit else ""
    entries = ", ".join(quote(label, 30) for label in labels[:limit])
    heading = f" {quote(title)}" if title else ""
    return Fact(f"{indent}legend{heading}: {entries}{more}", shows=True, schema=f"{indent}legend of {len(labels)}")
