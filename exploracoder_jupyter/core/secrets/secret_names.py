"""Which names are those of secrets: of environment variables, of variables and keys in code, and of files.

Code is full of names such as `token_ids`, `pad_token`, `sort_key`, so there only the last words count, and the value
has to look like a secret too. Of environment variables any suspicious name counts: experiments need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from exploracoder_jupyter.core.secrets.secret_patterns import begins_like_key, looks_like_key, passwords_in_addresses

_VARIABLE: Final = re.compile(
    r"KEY(?!BOARD)|TOKEN(?!I[SZ])|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH(?!ORS?(?:_|$))|COOKIE|SESSION(?!_NAME)"
    r"|(?<![A-Z])PASS(?![A-Z])|_PWD(?![A-Z])",
    re.IGNORECASE,
)
_FILE: Final = re.compile(
    r"(^|[^a-z])(secrets?|credentials?|passwords?|passwd|private_?keys?|api_?keys?)([^a-z]|$)", re.IGNORECASE
)
_REPLACEABLE: Final = re.compile(r"(?=.*\d)(?!~?/)\S{12,}")
"""A value that is replaced wherever it occurs: no plain word, and no path of a file that contains the secret."""
_REPLACEABLE_PASSWORD: Final = re.compile(r"(?=.*\d)\S{8,}")

_MIN_HEADER_SECRET: Final = 8

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PASSWORDS: Final = ("password", "passwd", "passphrase")
_TOKENS: Final = frozenset(["token", "secret", "credential", "credentials", "auth", "authorization", "cookie"])
_JOINED: Final = ("apikey", "secretkey", "accesskey", "privatekey", "apitoken", "authtoken", "accesstoken")
_KEYS: Final = frozenset(
    [
        *("access", "account", "anthropic", "api", "auth", "aws", "azure", "client", "encryption", "google", "hf"),
        *("mistral", "openai", "private", "secret", "signing", "subscription"),
    ]
)
"""`key` is that of a secret after one of these words."""
_ACCOUNTS: Final = frozenset(["", "admin", "db", "email", "mail", "root", "smtp", "user"])
"""`pass` is a password after one of these words, and alone."""
_TEXT_PREFIXES: Final = frozenset(
    ["bos", "cls", "eos", "mask", "next", "pad", "prev", "sep", "special", "start", "stop", "unk", "word"]
)
"""`token` is a piece of text after one of these words."""
_MAX_LENGTH: Final = 4096
_PATHS_AND_PLACEHOLDERS: Final = ("/", "~/", "<", "[")


def is_secret_variable(name: str, value: str) -> bool:
    """Whether the name or the value of an environment variable looks like a secret."""
    return bool(_VARIABLE.search(name)) or begins_like_key(value) or looks_like_key(value)


def replaceable_values(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets in environment variables that can be replaced in any text without garbling it."""
    for name, value in environ.items():
        if is_secret_variable(name, value) and _REPLACEABLE.fullmatch(value):
            yield value
        yield from filter(_REPLACEABLE_PASSWORD.fullmatch, passwords_in_addresses(value))


def header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets in HTTP headers: of `Bearer abc...` the last word, so that it is found alone too."""
    for name, value in headers.items():
        for word in value.split():
            if len(word) >= _MIN_HEADER_SECRET and is_secret_variable(name, word):
                yield word


def is_credential(name: str, text: str) -> bool:
    """Whether this text under this name in code looks like a credential.

    This is a hint, not a scanner: it misses credentials with neither such a name nor a format that an issuer uses.
    """
    return looks_like_key(text) or (
        _min_length(name) <= len(text) < _MAX_LENGTH
        and not re.search(r"\s", text)
        and not text.startswith(_PATHS_AND_PLACEHOLDERS)
    )


def is_credential_name(name: str) -> bool:
    """Whether a variable, parameter or key with this name in code usually contains a credential."""
    return _min_length(name) < _MAX_LENGTH


def is_credential_stem(stem: str) -> bool:
    """Whether a file with this name, without its suffix, is assumed to contain credentials."""
    return bool(_FILE.search(stem))


def _min_length(name: str) -> float:
    """Return the minimum length at which a value under this name counts as a credential."""
    words = ["", "", *(word.lower() for word in _WORD.findall(name))]
    previous, last = words[-2:]
    if last.endswith(_PASSWORDS) or last == "pwd" or (last == "pass" and previous in _ACCOUNTS):
        return 4
    is_key = last.endswith(_JOINED) or (last == "key" and previous in _KEYS)
    return 12 if is_key or (last in _TOKENS and previous not in _TEXT_PREFIXES) else float("inf")
