"""Finds the endpoints that can be used here, and tries a model of one: for `jupyter explora setup`.

Model servers on this machine are recognized by their usual ports. Whatever listens there is sent no key: it may be
anything, also if the user has chosen it. A key is sent only to another endpoint that the user has named or configured,
or to OpenAI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import anyio

from exploracoder_jupyter.core.configuration.endpoint_settings import Endpoint
from exploracoder_jupyter.core.configuration.settings_sources import Secrets
from exploracoder_jupyter.core.types import Message, Sampling
from exploracoder_jupyter.llm.endpoint.endpoint_addresses import OPENAI, PRESETS, redact_address, resolve_address
from exploracoder_jupyter.llm.endpoint.endpoint_probe import Probe, probe
from exploracoder_jupyter.llm.endpoint.openai_model import OpenAIModel
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import IntroduceInputs

_NO_CHAT = re.compile(r"embed|rerank|whisper|tts|transcribe|audio|realtime|dall-e|image|sora|moderation|\bbge-", re.I)
_CODE = re.compile(r"code|coding", re.I)
_TASK = "Reply with the word: ready"
_MAX_REPLY_TOKENS = 16


@dataclass(frozen=True, slots=True)
class FoundEndpoint:
    """An endpoint that may be used, and what it answered."""

    base_url: str
    """As it is written in the configuration: the name of a preset, or a URL."""
    probe: Probe
    key: bool
    """Whether it may be sent the key."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that write text, those made for code first."""
        names = [name for name in self.probe.models if not _NO_CHAT.search(name)]
        return tuple(sorted(names, key=lambda name: not _CODE.search(name)))

    @property
    def url(self) -> str:
        """The address without secrets."""
        return redact_address(self.base_url)

    @property
    def has_secret_address(self) -> bool:
        """Whether the address contains a password or a query, which must not be written to a file."""
        return self.url != resolve_address(self.base_url)


async def find_endpoints(
    configured: Endpoint, secrets: Secrets, presets: Mapping[str, str] = PRESETS
) -> list[FoundEndpoint]:
    """Request the list of models from every endpoint that may be usable, all at once.

    Args:
        configured: the endpoint of the settings; its `base_url` comes first, if there is one.
        secrets: the key, sent to that endpoint unless it is one of `presets`, or to OpenAI if none is configured.
        presets: addresses on this machine to look at, by name; those that do not answer as a model server are left out.
    """
    main = configured.base_url or (OPENAI if secrets.api_key else None)
    address = resolve_address(presets.get(main, main)) if main else ""
    candidates = [(main, address not in presets.values())] if main else []
    candidates += [(name, False) for name, url in presets.items() if address != url]
    found: list[FoundEndpoint | None] = [None] * len(candidates)

    async def look_at(number: int, base_url: str, key: bool) -> None:
        endpoint = replace(configured, model=None, base_url=presets.get(base_url, base_url))
        found[number] = FoundEndpoint(base_url, await probe(endpoint, secrets if key else Secrets()), key)

    async with anyio.create_task_group() as tasks:
        for number, (base_url, key) in enumerate(candidates):
            tasks.start_soon(look_at, number, base_url, key)
    return [one for one in found if one and (one.base_url == main or one.probe.models)]


async def try_model(endpoint: Endpoint, secrets: Secrets) -> float:
    """Send a tiny request, and return the seconds until the reply. Raises EndpointError if the endpoint refused the
    request, or did not answer.
    """
    request = ModelRequest(
        "introduce", IntroduceInputs((), ""), (Message("user", _TASK),), Sampling(max_tokens=_MAX_REPLY_TOKENS)
    )
    started = anyio.current_time()
    async with OpenAIModel(endpoint, secrets) as model:
        async for _ in model.complete(request):
            pass
    return anyio.current_time() - started
