"""Leaves out of an error's report what is not of the code that the model wrote.

The report quotes source. What a check or a file of the user's holds may be data, so a quotation stays only where the
code of the cell has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PLACE = re.compile(r"  (?P<head>[^:]*\bline [\d,]+(?: of [^:]*)?)(?:: (?P<source>.*))?")
_FAILED = re.compile(r"    failed in: (?P<source>.*)")
_VALUE = re.compile(r"    (?P<source>.+): [\w.<>]+")
_QUOTED = re.compile(r"    (?P<source>.*?)\s*\^?")


def redact_foreign_source(report: str, code: str) -> str:
    """The report without quotations of other code."""
    return "\n".join(_lines(report, _squeezed(code)))


def _lines(report: str, code: str) -> Iterator[str]:
    for line in report.splitlines():
        if place := _PLACE.fullmatch(line):
            source = place["source"] or ""
            yield line if _squeezed(source) in code else f"  {place['head']}"
        elif quoted := _FAILED.fullmatch(line) or _VALUE.fullmatch(line) or _QUOTED.fullmatch(line):
            if _squeezed(quoted["source"]) in code:
                yield line
        else:
            yield line


def _squeezed(source: str) -> str:
    """Without layout and the choice of quotes, which differ when code is written anew."""
    return "".join(source.split()).replace('"', "'")
