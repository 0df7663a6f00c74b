"""Keeping secrets, home folders, and what no JSON file can hold, out of records.

A `Redactor` knows the run's own secrets and the shapes of common keys. It works on every string of a record before
anything is written; words that the events themselves are made of stay. The result always loads again.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable

from exploracoder_jupyter.events import Record, load
from exploracoder_jupyter.notebook.homes import Homes
from exploracoder_jupyter.notebook.text import encodable

REDACTED = "[redacted]"

_SHAPES = tuple(
    (hint, re.compile(shape, re.DOTALL))
    for hint, shape in (
        ("k-", r"\b[srp]k-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}"),
        ("earer ", r"\b[Bb]earer +(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,}"),
        ("EARER ", r"\bBEARER +(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,}"),
        *((f"gh{kind}_", rf"\bgh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),
        ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
        ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("hf_", r"\bhf_[A-Za-z0-9]{30,}"),
        ("xox", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
        ("AIza", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),
        ("ASIA", r"\bASIA[A-Z0-9]{16}\b"),
        ("eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
        ("pypi-", r"\bpypi-[A-Za-z0-9_-]{32,}"),
        ("npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
        ("gsk_", r"\bgsk_[A-Za-z0-9]{20,}"),
        ("xai-", r"\bxai-[A-Za-z0-9]{20,}"),
        ("nvapi-", r"\bnvapi-[A-Za-z0-9_-]{20,}"),
        ("ya29.", r"\bya29\.[A-Za-z0-9_-]{20,}"),
        ("k_live_", r"\b[srp]k_live_[A-Za-z0-9]{10,}"),
        ("://", r"(?<=://)[^\s/:@'\"<>{}$*]+:[^\s/:@'\"<>{}$*]+(?=@)"),
        ("PRIVATE KEY", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    )
)
"""Shapes of common keys, each with a piece of text that is looked for first: the expressions are slow on megabytes."""

_SHORTEST = 6
"""Shorter secrets (`x`, `EMPTY`: placeholders for local servers) would tear ordinary text apart."""

_DEEPEST = 100
"""Readers of JSON give up at some depth; deeper output is of no use to anyone."""

_OWN_WORDS = frozenset({"kind", "status", "step", "role", "level", "outcome", "output_type", "ruling"})


class Redactor:
    """Replaces secrets in records by `[redacted]`. Applying it twice changes nothing more.

    Args:
        secrets: strings that must not be written.
        homes: whose home folders are replaced by `~`; none: paths are left as they are, as in the user's own notebook,
            where code has to run.
    """

    def __init__(self, secrets: Iterable[str] = (), *, homes: Homes | None = None) -> None:
        self._homes = homes
        self._known = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without secrets, encodable as UTF-8."""
        text = encodable(text)
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        for hint, shape in _SHAPES:
            text = shape.sub(REDACTED, text) if hint in text else text
        return self._homes.hidden(text) if self._homes else text

    def record(self, record: Record) -> Record:
        """The record without secrets, in a form that `events.dump` can always write."""
        return load(json.dumps(self._value(record, 0), ensure_ascii=False))

    def _value(self, value: object, depth: int) -> object:
        if depth > _DEEPEST:
            return "[too deeply nested]"
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            return {name: self._item(name, getattr(value, name), depth) for name in names}
        if isinstance(value, dict):
            return {self.text(key): self._item(key, item, depth) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(item, depth + 1) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return self.text(value) if isinstance(value, str) else value

    def _item(self, key: str, value: object, depth: int) -> object:
        return value if key in _OWN_WORDS and isinstance(value, str) else self._value(value, depth + 1)
