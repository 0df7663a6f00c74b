"""Finds out whether a program sets the variable in which the task wants its result."""

from __future__ import annotations

import re
from typing import Final

_STORES: Final = re.compile(
    r"\b(?:stor|sav|put|keep|assign)\w*\b[^.;]*\b(?:in|into|as|to)\s+(?:[\w-]+\s+){0,3}`([^\W\d]\w*)`", re.IGNORECASE
)
"""`store the sum in the dict `totals``; of several names in a sentence, the last."""
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


def missing_result(task: str, code: str) -> str:
    """Return the name in which the task wants a result and that does not occur in the code; empty if there is none."""
    mentioned = set(_IDENTIFIER.findall(code))
    return next((name for name in _STORES.findall(task) if name not in mentioned), "")
