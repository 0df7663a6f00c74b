"""Removes secrets, home folders and values that JSON cannot represent from records.

A `Redactor` knows the run's own secrets and the patterns of common keys. It processes every string of a record before
anything is written, except enumerated event fields, and images that contain no secrets. The result can always be
loaded again.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal, get_origin, get_type_hints
from urllib.parse import quote

from exploracoder_jupyter.core.events import Record, load
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.trace.sanitizing.path_redaction import BREAKS, Homes

REDACTED = "[redacted]"

_PRIVATE = "[A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----"
_TOKEN = r" *(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,}"
_KEYS = (
    ("k-", "[srp]k-", r"(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{16,}"),
    ("earer ", "[Bb]earer ", _TOKEN),
    ("EARER ", "BEARER ", _TOKEN),
    ("asic ", "[Bb]asic ", r" *(?=[A-Za-z+/=]*\d)[A-Za-z0-9+/]{16,}={0,2}"),
    *((f"gh{kind}_", f"gh{kind}_", "[A-Za-z0-9]{20,}") for kind in "pousr"),
    ("github_pat_", "github_pat_", "[A-Za-z0-9_]{20,}"),
    ("glpat-", "glpat-", "[A-Za-z0-9_-]{20,}"),
    ("hf_", "hf_", "[A-Za-z0-9]{30,}"),
    ("xox", "xox[abeprs]-", "[A-Za-z0-9-]{10,}"),
    ("xapp-", "xapp-", "[A-Za-z0-9-]{20,}"),
    ("AIza", "AIza", "[A-Za-z0-9_-]{35}"),
    ("GOCSPX-", "GOCSPX-", "[A-Za-z0-9_-]{20,}"),
    ("AKIA", "AKIA", r"[A-Z0-9]{16}\b"),
    ("ASIA", "ASIA", r"[A-Z0-9]{16}\b"),
    ("eyJ", "eyJ", r"(?<!-eyJ)[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    ("pypi-", "pypi-", "[A-Za-z0-9_-]{32,}"),
    ("npm_", "npm_", "[A-Za-z0-9]{30,}"),
    ("gsk_", "gsk_", "[A-Za-z0-9]{20,}"),
    ("r8_", "r8_", "[A-Za-z0-9]{37,}"),
    ("xai-", "xai-", "[A-Za-z0-9]{20,}"),
    ("pplx-", "pplx-", "[A-Za-z0-9]{30,}"),
    ("tvly-", "tvly-", "[A-Za-z0-9-]{20,}"),
    ("nvapi-", "nvapi-", "[A-Za-z0-9_-]{20,}"),
    ("ya29.", r"ya29\.", "[A-Za-z0-9_-]{20,}"),
    ("dapi", "dapi", "[0-9a-f]{32}"),
    ("dop_v1_", "dop_v1_", "[0-9a-f]{40,}"),
    ("hvs.", r"hvs\.", "[A-Za-z0-9_-]{20,}"),
    ("SG.", r"SG\.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}"),
    ("k_live_", "[srp]k_live_", "[A-Za-z0-9]{10,}"),
)
"""Patterns of common keys: a literal that is searched first, because regular expressions are slow on megabytes; the
pattern of the beginning, which has a fixed length; and the pattern of the rest."""


def _key_pattern(begin: str, rest: str) -> str:
    """Return the pattern of a key that begins a word, or follows an escaped line break or terminal color."""
    after_break = "|".join(f"(?<={before}{begin})" for before in BREAKS)
    return rf"{begin}(?:(?<!\w{begin})|{after_break}){rest}"


_PATTERNS = tuple(
    (hint, re.compile(shape, re.DOTALL))
    for hint, shape in (
        *((hint, _key_pattern(begin, rest)) for hint, begin, rest in _KEYS),
        ("hooks.slack.com/", r"(?<=hooks\.slack\.com/)services/[A-Za-z0-9/]{20,}"),
        ("AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{40,}={0,2}"),
        ("://", r"(?<=://)[^\s/:@'\"<>{}$*]+:[^\s/:@'\"<>{}$*]+(?=@)"),
        ("PRIVATE KEY", rf"-----BEGIN {_PRIVATE}.*?(?:-----END {_PRIVATE}|\Z)"),
    )
)

_FILE_SIGNATURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF", b"BM", b"%PDF")
"""Signatures of the files that outputs contain in base64."""

_MIN_LENGTH = 6
"""Shorter secrets (`x`, `EMPTY`: placeholders for local servers) would be replaced in ordinary text."""

_MAX_DEPTH = 100
"""Maximum nesting, because JSON readers fail at some depth; deeper output is of no use."""

_KINDS_OF_OUTPUT = frozenset({"stream", "display_data", "execute_result", "error"})


class Redactor:
    """Replaces secrets in records by `[redacted]`. Idempotent.

    Args:
        secrets: strings that must not be written.
        homes: home folders to replace by `~`. By default paths stay, as in the user's own notebook, where code has to
            run.
    """

    def __init__(self, secrets: Iterable[str] = (), *, homes: Homes | None = None) -> None:
        self._homes = homes
        long_enough = (secret for secret in secrets if len(secret) >= _MIN_LENGTH)
        self._known = sorted({form for secret in long_enough for form in _escaped_forms(secret)}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """Redact a text and make it encodable as UTF-8."""
        text = encodable(text)
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        for hint, shape in _PATTERNS:
            text = shape.sub(REDACTED, text) if hint in text else text
        return self._homes.redact(text) if self._homes else text

    def record(self, record: Record) -> Record:
        """Redact a record. `events.dump` can always write the result."""
        return load(json.dumps(self._value(record, 0), ensure_ascii=False))

    def _value(self, value: object, depth: int) -> object:
        if depth > _MAX_DEPTH:
            return "[too deeply nested]"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            enumerated = _literal_fields(type(value))
            fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
            return {
                name: item if name in enumerated else self._value(_finite(item), depth + 1) for name, item in fields
            }
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            return [self._value(item, depth + 1) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return self.text(value) if isinstance(value, str) else value

    def _mapping(self, value: Mapping[str, object], depth: int) -> dict[str, object]:
        """Redact keys and values; keys that become equal are made distinct."""
        redacted: dict[str, object] = {}
        for key, item in value.items():
            name = self.text(key)
            while name in redacted:
                name += "'"
            redacted[name] = self._item(key, item, depth)
        return redacted

    def _item(self, key: str, item: object, depth: int) -> object:
        if not isinstance(item, str):
            return self._value(item, depth + 1)
        if key == "output_type" and item in _KINDS_OF_OUTPUT:
            return item
        content = _decode_file(item) if key.startswith(("image/", "application/pdf")) else None
        if content is None:
            return self.text(item)
        return item if self.text(content) == content else REDACTED


def _finite(value: object) -> object:
    """Replace a non-finite number, such as the score of a zero-length embedding, by 0."""
    return 0.0 if isinstance(value, float) and not math.isfinite(value) else value


def _escaped_forms(secret: str) -> set[str]:
    """Return the secret itself and its escaped forms in code, JSON and URLs."""
    secret = encodable(secret)
    strings = (repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False))
    return {secret, quote(secret, safe=""), *(string[1:-1] for string in strings)}


def _decode_file(text: str) -> str | None:
    """Decode a base64 file to its bytes, one character each; `None` for any other text.

    The decoded bytes are searched for secrets, because the base64 letters themselves can match by chance.
    """
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    return content.decode("latin-1") if content.startswith(_FILE_SIGNATURES) else None


@cache
def _literal_fields(kind: type) -> frozenset[str]:
    """Return the fields of a dataclass that have a fixed set of values (`Literal`)."""
    return frozenset(name for name, hint in get_type_hints(kind).items() if get_origin(hint) is Literal)
