r"""Patterns of keys, tokens and passwords, which are secrets whatever their name is.

Each has a literal that is searched first, because regular expressions are slow on megabytes. `redact_patterns` replaces
what certainly is a secret; `looks_like_key` also finds what could be something else in a long text, such as the names
`sk-...` in style sheets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import SplitResult, unquote

REDACTED: Final = "[redacted]"
"""Replaces a secret."""

BREAKS: Final = (r"\\[abfnrtv]", *(rf"[\[;]{digits}m" for digits in ("", r"\d", r"\d\d", r"\d\d\d")))
"""Line breaks and terminal colors as they are escaped within a string: a word may begin after them."""

_PRIVATE: Final = "[A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----"
_TOKEN: Final = r" *(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{16,}"
_KEYS: Final = (
    ("k-", "[srp]k-", r"(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{16,}"),
    ("earer ", "[Bb]earer ", _TOKEN),
    ("EARER ", "BEARER ", _TOKEN),
    ("asic ", "[Bb]asic ", r" *(?=[A-Za-z+/=]*\d)[A-Za-z0-9+/]{16,}={0,2}"),
    *((f"gh{kind}_", f"gh{kind}_", "[A-Za-z0-9]{20,}") for kind in "pousr"),
    ("github_pat_", "github_pat_", "[A-Za-z0-9_]{20,}"),
    ("glpat-", "glpat-", "[A-Za-z0-9_-]{16,}"),
    ("hf_", "hf_", "[A-Za-z0-9]{20,}"),
    ("xox", "xox[abeprs]-", "[A-Za-z0-9-]{10,}"),
    ("xapp-", "xapp-", "[A-Za-z0-9-]{20,}"),
    ("AIza", "AIza", "[A-Za-z0-9_-]{30,}"),
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
"""Patterns of common keys: the literal; the pattern of the beginning, which has a fixed length; that of the rest."""


def _key_pattern(begin: str, rest: str) -> str:
    """Return the pattern of a key that begins a word, or follows an escaped line break or terminal color."""
    after_break = "|".join(f"(?<={before}{begin})" for before in BREAKS)
    return rf"{begin}(?:(?<!\w{begin})|{after_break}){rest}"


_USER: Final = r"[^\s/:@'\"<>{}]*"
_PASSWORD: Final = r"(?!\$\w*@|\*+@)[^\s/'\"<>{}]+(?=@)"
"""A password in an address, which may contain `@`; not a placeholder such as `$PASSWORD` or `***`."""

_PATTERNS: Final = tuple(
    (hint, re.compile(shape, re.DOTALL))
    for hint, shape in (
        *((hint, _key_pattern(begin, rest)) for hint, begin, rest in _KEYS),
        ("hooks.slack.com/", r"(?<=hooks\.slack\.com/)services/[A-Za-z0-9/]{20,}"),
        ("AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{40,}={0,2}"),
        ("://", rf"(?<=://)(?:{_USER}:{_PASSWORD}|(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{{16,}}(?=@))"),
        ("PRIVATE KEY", rf"-----BEGIN {_PRIVATE}.*?(?:-----END {_PRIVATE}|\Z)"),
    )
)
_AMBIGUOUS: Final = re.compile(r"\bsk-[\w-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY|[a-z]://[^/\s:@]*:[^/\s:@]+@")
_BEGINNING: Final = re.compile(r"(sk|ghp|gho|glpat|hf|xox[bp])[-_]\w{8,}|-----BEGIN")
_PASSWORD_IN_ADDRESS: Final = re.compile(rf"(?<=://){_USER}:({_PASSWORD})")
_USER_INFO: Final = re.compile(r"(?<=//)[^/?#\s]*@")
_QUERY_VALUE: Final = re.compile(r"(?<=[?&])([^=&#\s]+)=(?!\{)[^&#\s]+")


def redact_patterns(text: str) -> str:
    """Replace everything that has the format of a key, token or password."""
    for hint, shape in _PATTERNS:
        text = shape.sub(REDACTED, text) if hint in text else text
    return text


def looks_like_key(text: str) -> bool:
    """Whether the text contains something that looks like a key, token or password."""
    return bool(_AMBIGUOUS.search(text)) or any(hint in text and shape.search(text) for hint, shape in _PATTERNS)


def begins_like_key(text: str) -> bool:
    """Whether the text begins like a key, however short: suspicious only where the text is one value."""
    return bool(_BEGINNING.match(text))


def passwords_in_addresses(text: str) -> Iterator[str]:
    """Yield the passwords in the addresses of a text, as written and without percent-encoding."""
    for password in _PASSWORD_IN_ADDRESS.findall(text):
        yield from dict.fromkeys((password, unquote(password)))


def replace_user_info(text: str, replacement: str = "") -> str:
    """Replace user names and passwords in the addresses of a text, up to and including the `@`."""
    return _USER_INFO.sub(replacement, text)


def mask_address(text: str) -> str:
    """Mask user name, password and the values of the query in the addresses of a text; `{placeholders}` stay."""
    return _QUERY_VALUE.sub(r"\1=***", replace_user_info(text, "***@")) if "://" in text else text


def has_user_info(parts: SplitResult) -> bool:
    """Whether an address contains a user name or a password."""
    return parts.username is not None or parts.password is not None
