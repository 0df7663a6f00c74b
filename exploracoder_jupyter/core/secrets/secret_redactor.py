"""Removes secrets from text: those that are known by their value, and everything that has the format of one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED, redact_patterns

_MIN_LENGTH: Final = 6
"""Shorter secrets (`x`, `EMPTY`: placeholders for local servers) would be replaced in ordinary text."""


class SecretRedactor:
    """Replaces secrets by `[redacted]`. Idempotent.

    Args:
        secrets: strings that must not occur in a redacted text, also in the forms in which code, JSON and URLs write
            them.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = known_forms(secret for secret in secrets if len(secret) >= _MIN_LENGTH)

    def redact(self, text: str) -> str:
        """Redact a text and make it encodable as UTF-8."""
        text = _encodable(text)
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        return redact_patterns(text)


def known_forms(secrets: Iterable[str]) -> list[str]:
    """Return the secrets and their escaped forms in code, JSON and URLs, longest first."""
    return sorted({form for secret in secrets for form in _escaped_forms(_encodable(secret))}, key=len, reverse=True)


def _escaped_forms(secret: str) -> set[str]:
    strings = (repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False))
    return {secret, quote(secret, safe=""), *(string[1:-1] for string in strings)}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
