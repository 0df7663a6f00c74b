"""Finds variables that look like credentials: experiments in a fork have them too, and could print them.

Only exact `str` and `bytes` are inspected, also within top-level dicts; no other value is touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
    entries = list(value.items())[:_MAX_ENTRIES] if type(value) is dict else [(name, value)]
    texts = ((key if type(key) is str else name, _text(one)) for key, one in entries)
    return any(text is not None and is_credential(key or name, text) for key, text in texts)


def _text(value: object) -> str | None:
    if type(value) is str:
        return value[:_MAX_LENGTH]
    return value[:_MAX_LENGTH].decode("latin-1") if type(value) is bytes else None
