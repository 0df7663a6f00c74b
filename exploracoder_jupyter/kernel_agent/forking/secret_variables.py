"""Which variables look like credentials: experiments in a fork hold them too, and could print them.

Only exact `str` and `bytes` are looked at, and those in dicts at the top level; no other value is touched. A name
counts by how it ends (`hf_token`, `clientSecret`; not `token_ids`, `tokenizer`, `pad_token`), a value by the marks that
issuers give to theirs. It is a hint for people, not a scanner: what is neither named nor marked is not seen.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONGEST = 8192
_MOST_ENTRIES = 1000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PASSWORDS = {"password", "passwd", "passphrase", "pwd"}
_TOKENS = {"token", "secret", "credential", "credentials", "apikey", "apitoken", "authtoken"}
_KEYS = {
    *("access", "account", "anthropic", "api", "auth", "aws", "azure", "client", "encryption", "google", "hf"),
    *("mistral", "openai", "private", "secret", "signing", "subscription"),
}
_TEXT_MARKS = {
    *("bos", "cls", "eos", "mask", "next", "pad", "prev", "sep", "special", "start", "stop", "unk", "word"),
}
_MARKED = re.compile(
    r"\bsk-[\w-]{16,}|\bgh[opsru]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bxox[abeprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bAIza[\w-]{30,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|[a-z]://[^/\s:@]*:[^/\s:@]+@"
)


def secretive(namespace: Mapping[str, object]) -> list[str]:
    """Names of the variables that look like credentials, in the order of the namespace."""
    return [name for name, value in list(namespace.items()) if type(name) is str and _is_secretive(name, value)]


def _is_secretive(name: str, value: object) -> bool:
    if name.startswith("_"):  # IPython's own: what was typed and shown before
        return False
    if type(value) is dict:
        return any(_looks_secret(key or name, text) for key, text in _texts(value))
    text = _text(value)
    return text is not None and _looks_secret(name, text)


def _texts(values: dict[object, object]) -> Iterator[tuple[str, str]]:
    """Keys and values of a dict as text, a key that is none as empty."""
    for key, value in list(values.items())[:_MOST_ENTRIES]:
        text = _text(value)
        if text is not None:
            yield (key if type(key) is str else ""), text


def _text(value: object) -> str | None:
    if type(value) is str:
        return value[:_LONGEST]
    return value[:_LONGEST].decode("latin-1") if type(value) is bytes else None


def _looks_secret(name: str, text: str) -> bool:
    return bool(_MARKED.search(text)) or _fits(_shortest(name), text)


def _shortest(name: str) -> float:
    """How long a value under this name must be to be a credential."""
    words = [word.lower() for word in _WORD.findall(name)]
    last, before = (words[-1] if words else ""), (words[-2] if len(words) > 1 else "")
    if last in _PASSWORDS:
        return 4
    if (last in _TOKENS and before not in _TEXT_MARKS) or (last == "key" and before in _KEYS):
        return 12
    return float("inf")


def _fits(shortest: float, text: str) -> bool:
    """Whether it could be typed as a credential: one word, no path, not too long."""
    return shortest <= len(text) < 4096 and not re.search(r"\s", text) and not text.startswith(("/", "~", "<", "["))
