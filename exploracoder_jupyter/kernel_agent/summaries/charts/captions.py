"""Titles, labels and entries of legends in charts. They are data: an f-string may have put any value into them."""

from __future__ import annotations

import re
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, cut

_QUOTED = re.compile(r',? "[^"]*"')


def quoted(text: Any, most: int = 40) -> str:
    """A title or label in double quotes, with none within it, so that `bare` finds its end."""
    return '"' + cut(str(text), most).replace('"', "'") + '"'


def bare(line: str) -> str:
    """The line without what is `quoted` in it: `line: 2 points` for `line "north": 2 points`."""
    return _QUOTED.sub("", line)


def captioned(line: str) -> Fact:
    """A line whose quoted words are left out where only the schema is shared."""
    without = bare(line)
    return Fact(line, shows=without != line, schema=without)


def entries(title: str, labels: list[str], most: int, indent: str = "") -> Fact:
    """What a legend says; of its schema is only how many entries it has."""
    more = f", {len(labels) - most} more" if len(labels) > most else ""
    told = ", ".join(quoted(label, 30) for label in labels[:most])
    heading = f" {quoted(title)}" if title else ""
    return Fact(f"{indent}legend{heading}: {told}{more}", shows=True, schema=f"{indent}legend of {len(labels)}")
