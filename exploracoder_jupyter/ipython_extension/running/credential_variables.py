"""Finds variables that look like credentials: experiments in a fork have them too, and could print them.

Only exact `str` and `bytes` are inspected, also within top-level dicts; no other value is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from exploracoder_jupyter.core.secrets.secret_names import is_credential

_MAX_LENGTH = 8192
_MAX_ENTRIES = 1000
_HISTORY = re.compile(r"_+(?:i+|\d+|i\d+|ih|oh|dh|exit_code)?")
"""IPython's own variables: input and output history."""


def find_credential_variables(namespace: Mapping[str, object]) -> list[str]:
    """Return the names of the variables that look like credentials, in namespace order."""
    return [name for name, value in list(namespace.items()) if type(name) is str and _has_credential(name, value)]


def _has_credential(name: str, value: object) -> bool:
    if _HISTORY.fullmatch(name):
        return False
    texts = _texts(value) if type(value) is dict else [(name, _text(value))]
    return any(text is not None and is_credential(key or name, text) for key, text in texts)


def _texts(values: dict[object, object]) -> Iterator[tuple[str, str | None]]:
    """Yield keys and values of a dict as text; keys that are not strings become empty."""
    for key, value in list(values.items())[:_MAX_ENTRIES]:
        yield (key if type(key) is str else ""), _text(value)


def _text(value: object) -> str | None:
    if type(value) is str:
        return value[:_MAX_LENGTH]
    return value[:_MAX_LENGTH].decode("latin-1") if type(value) is bytes else None
