"""Removes quotations of source code from an error report unless the model wrote that code.

The report quotes source. A check or a file of the user's may contain data, so a quotation is kept only if it occurs in
the code of the cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PLACE = re.compile(r"  (?P<head>[^:]*\bline [\d,]+(?: of [^:]*)?)(?:: (?P<source>.*))?")
_FAILED = re.compile(r"    failed in: (?P<source>.*)")
_VALUE = re.compile(r"    (?P<source>.+): [\w.<>]+")
_QUOTED = re.compile(r"    (?P<source>.*?)\s*\^?")


def redact_foreign_source(report: str, code: str) -> str:
    """Return the report without quotations of other code."""
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
    """Remove layout and unify quotes, which differ when code is unparsed."""
    return "".join(source.split()).replace('"', "'")
