"""Finds variables that look like credentials: experiments in a fork have them too, and could print them.

Only exact `str` and `bytes` are inspected, also within top-level dicts; no other value is touched. Names are matched by
their last words (`hf_token`, `clientSecret`; not `token_ids`, `tokenizer`, `pad_token`), values by the prefixes that
issuers use. This is a hint for people, not a scanner: it misses credentials with neither such a name nor such a prefix.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_LENGTH = 8192
_MAX_ENTRIES = 1000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PASSWORDS = {"password", "passwd", "passphrase", "pwd"}
_TOKENS = {"token", "secret", "credential", "credentials", "apikey", "apitoken", "authtoken"}
_KEYS = {
    *("access", "account", "anthropic", "api", "auth", "aws", "azure", "client", "encryption", "google", "hf"),
    *("mistral", "openai", "private", "secret", "signing", "subscription"),
}
_TEXT_PREFIXES = {
    *("bos", "cls", "eos", "mask", "next", "pad", "prev", "sep", "special", "start", "stop", "unk", "word"),
}
_CREDENTIAL_PATTERN = re.compile(
    r"\bsk-[\w-]{16,}|\bgh[opsru]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bxox[abeprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bAIza[\w-]{30,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|[a-z]://[^/\s:@]*:[^/\s:@]+@"
)


def find_credential_variables(namespace: Mapping[str, object]) -> list[str]:
    """Return the names of the variables that look like credentials, in namespace order."""
    return [name for name, value in list(namespace.items()) if type(name) is str and _is_credential(name, value)]


def _is_credential(name: str, value: object) -> bool:
    if name.startswith("_"):  # IPython's own: input and output history
        return False
    if type(value) is dict:
        return any(_looks_secret(key or name, text) for key, text in _texts(value))
    text = _text(value)
    return text is not None and _looks_secret(name, text)


def _texts(values: dict[object, object]) -> Iterator[tuple[str, str]]:
    """Yield keys and values of a dict as text; keys that are not strings become empty."""
    for key, value in list(values.items())[:_MAX_ENTRIES]:
        text = _text(value)
        if text is not None:
            yield (key if type(key) is str else ""), text


def _text(value: object) -> str | None:
    if type(value) is str:
        return value[:_MAX_LENGTH]
    return value[:_MAX_LENGTH].decode("latin-1") if type(value) is bytes else None


def _looks_secret(name: str, text: str) -> bool:
    return bool(_CREDENTIAL_PATTERN.search(text)) or _could_be_credential(_min_length(name), text)


def _min_length(name: str) -> float:
    """Return the minimum length at which a value under this name counts as a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    last, previous = (words[-1] if words else ""), (words[-2] if len(words) > 1 else "")
    if last in _PASSWORDS:
        return 4
    if (last in _TOKENS and previous not in _TEXT_PREFIXES) or (last == "key" and previous in _KEYS):
        return 12
    return float("inf")


def _could_be_credential(min_length: float, text: str) -> bool:
    """Return whether the text could be a credential: one word, not a path, not too long."""
    return min_length <= len(text) < 4096 and not re.search(r"\s", text) and not text.startswith(("/", "~", "<", "["))
