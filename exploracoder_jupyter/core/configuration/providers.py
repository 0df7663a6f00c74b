"""Names for the addresses of model servers, and the environment variables that hold their keys.

A `base_url` may be the name of a server on this machine (`ollama`) or of a provider (`anthropic`); Azure and Bedrock
want the resource or the region after a colon (`azure:my-resource`). All are addresses that understand OpenAI's
requests. Light: the settings and the kernel import this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

LOCAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "llamacpp": "http://localhost:8080/v1",
        "lmstudio": "http://localhost:1234/v1",
        "ollama": "http://localhost:11434/v1",
        "vllm": "http://localhost:8000/v1",
    }
)
"""Addresses of model servers on this machine, which need no key."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: its address, and the name of its key."""

    url: str
    """With `{}` where a word of the user's belongs."""
    key_variable: str
    word: str = ""
    """What that word is; empty if the address has none."""
    list_headers: Mapping[str, str] = field(default_factory=dict)
    """Headers with which it lists its models, in place of `Authorization`; `{key}` stands for the key."""

    def has_address(self, url: str) -> bool:
        """Whether this URL is the provider's."""
        return bool(re.fullmatch(re.escape(self.url).replace(r"\{\}", r"[\w-]+"), url.rstrip("/")))


PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType(
    {
        "anthropic": Provider(
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            list_headers={"x-api-key": "{key}", "anthropic-version": "2023-06-01"},
        ),
        "azure": Provider("https://{}.openai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY", "RESOURCE"),
        "bedrock": Provider("https://bedrock-mantle.{}.api.aws/v1", "AWS_BEARER_TOKEN_BEDROCK", "REGION"),
        "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
        "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    }
)

KEY_VARIABLES: Final = ("EXPLORACODER_API_KEY", "OPENAI_API_KEY")
"""Environment variables that hold the key of an address that is not a provider's, strongest first."""


def names() -> list[str]:
    """Return what `base_url` can be in place of an address."""
    hosted = [f"{name}:{known.word}" if known.word else name for name, known in PROVIDERS.items()]
    return [*LOCAL, *hosted]


def preset_url(base_url: str) -> str | None:
    """Return the address that a name stands for; `None` if it is not a name, or lacks the word that belongs to it."""
    name, _, word = base_url.strip().lower().partition(":")
    known = PROVIDERS.get(name)
    if known is None or bool(word) != bool(known.word):
        return None if word else LOCAL.get(name)
    return known.url.format(word) if not word or re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", word) else None


def find_provider(base_url: str | None) -> Provider | None:
    """Return the provider that a `base_url` names, or whose address it is."""
    url = preset_url(base_url or "") or (base_url or "").strip()
    return next((known for known in PROVIDERS.values() if known.has_address(url)), None)


def key_variables(base_url: str | None) -> tuple[str, ...]:
    """Return the environment variables that hold the key for a `base_url`, strongest first.

    OPENAI_API_KEY is not sent to another provider that is named: it would be told the key of its competitor. It
    still counts for an address, since many programs know no other variable.
    """
    own, general = KEY_VARIABLES
    if (known := find_provider(base_url)) is None:
        return KEY_VARIABLES
    is_named = preset_url(base_url or "") is not None
    return tuple(dict.fromkeys((own, known.key_variable, *(() if is_named else (general,)))))
