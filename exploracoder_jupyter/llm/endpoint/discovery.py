"""Finds the endpoints that can be used here, and which models they have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import MappingProxyType

import anyio

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.types import Message, Sampling
from exploracoder_jupyter.llm.endpoint import connection as addresses
from exploracoder_jupyter.llm.endpoint.connection import OPENAI, PRESETS, Connection, redact_address, resolve_address
from exploracoder_jupyter.llm.endpoint.faults import Fault, explain, join_names
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from exploracoder_jupyter.pipeline.ports import ModelRequest
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import IntroduceInputs

# Checks whether an endpoint answers, and with which models: for users who set one up.


@dataclass(frozen=True, slots=True)
class Probe:
    """What a probe of an endpoint found."""

    url: str
    reachable: bool
    """Whether it answers and accepts the key."""
    local: bool
    """Whether it is on this machine."""
    models: tuple[str, ...]
    """The models that it lists; some endpoints list none."""
    sentence: str
    remedy: str = ""
    passing: bool = False
    """Whether the fault may be temporary: too many requests, or an error of the server."""


async def probe(endpoint: Endpoint, secrets: Secrets) -> Probe:
    """Request the endpoint's list of models once, with a short timeout. Faults are part of the result, never raised."""
    try:
        async with aclosing(Connection(endpoint, secrets, model=endpoint.model or "")) as connection:
            listed = await connection.models()
            target = connection.target
    except (EndpointError, UsageError) as error:
        return Probe(endpoint.base_url or addresses.OPENAI, False, False, (), error.message, error.remedy)
    found = Probe(target.url, True, addresses.is_local(endpoint.base_url), (), f"{target.url} answers.")
    if not isinstance(listed, Fault):
        return _with_models(found, endpoint.model, listed)
    if listed.status in (404, 405, 501):
        return replace(found, sentence=f"{target.url} answers, but does not list its models.")
    refusal = explain(listed, target)
    slow = listed.kind in ("silent", "stalled", "unfinished")  # the endpoint's timeout does not apply to the probe
    remedy = "Check that the server is not busy or hanging, then try again." if slow else refusal.remedy
    passing = listed.status == 429 or listed.status >= 500
    return replace(found, reachable=False, sentence=refusal.message, remedy=remedy, passing=passing)


async def resolve_model(endpoint: Endpoint, secrets: Secrets) -> Endpoint:
    """Return the endpoint with its model set: the configured one, else the only one that it lists. Raises EndpointError
    if no model is set, and the endpoint does not list exactly one.
    """
    if endpoint.model:
        return endpoint
    found = await probe(endpoint, secrets)
    if len(found.models) == 1:
        return replace(endpoint, model=found.models[0])
    if not found.reachable:
        raise EndpointError(found.sentence, remedy=found.remedy)
    names = f" Available: {join_names(found.models)}." if found.models else ""
    raise EndpointError(f"No model is set for {found.url}.", remedy=f"Add --model NAME.{names}")


def _with_models(found: Probe, model: str | None, names: tuple[str, ...]) -> Probe:
    found = replace(found, models=names)
    if not names:
        return replace(found, sentence=f"{found.url} answers, but has no model.", remedy="Load a model there.")
    if model and not {model, f"models/{model}"} & {*names}:  # Gemini lists `models/NAME`, and takes both
        remedy = f"Set model to one that it lists: {join_names(names)}."
        return replace(found, sentence=f"{found.url} answers, but does not list {model!r}.", remedy=remedy)
    return replace(found, sentence=f"{found.url} answers and lists {join_names(names)}.")


# Finds the endpoints that can be used here, and tries a model of one: for `jupyter explora setup`.
#
# Model servers on this machine are recognized by their usual ports. Whatever listens there is sent no key: it may
# be anything, also if the user has chosen it. A key is sent only to another endpoint that the user has named or
# configured, to OpenAI, or to the provider after which its environment variable is named.

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
    secrets: Secrets
    """The key that it may be sent."""

    @property
    def key(self) -> bool:
        """Whether it may be sent a key."""
        return self.secrets.api_key is not None

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
    configured: Endpoint,
    secrets: Secrets,
    presets: Mapping[str, str] = PRESETS,
    hosted: Mapping[str, Secrets] = MappingProxyType({}),
) -> list[FoundEndpoint]:
    """Request the list of models from every endpoint that may be usable, all at once.

    Args:
        configured: the endpoint of the settings; its `base_url` comes first, if there is one.
        secrets: the key, sent to that endpoint unless it is one of `presets`, or to OpenAI if none is configured.
        presets: addresses on this machine to look at, by name; those that do not answer as a model server are left out.
        hosted: names of providers elsewhere, each with its own key, which no other address is sent.
    """
    main = configured.base_url or (OPENAI if secrets.api_key else None)
    address = resolve_address(presets.get(main, main)) if main else ""
    candidates = [(main, Secrets() if address in presets.values() else secrets)] if main else []
    candidates += [(name, Secrets()) for name, url in presets.items() if address != url]
    candidates += [(name, own) for name, own in hosted.items() if address != resolve_address(name)]
    found: list[FoundEndpoint | None] = [None] * len(candidates)

    async def look_at(number: int, base_url: str, own: Secrets) -> None:
        endpoint = replace(configured, model=None, base_url=presets.get(base_url, base_url))
        if base_url != main:  # headers may hold a key of the configured endpoint
            endpoint = replace(endpoint, headers={}, extra_body={})
        found[number] = FoundEndpoint(base_url, await probe(endpoint, own), own)

    async with anyio.create_task_group() as tasks:
        for number, (base_url, own) in enumerate(candidates):
            tasks.start_soon(look_at, number, base_url, own)
    return [one for one in found if one and (one.base_url == main or one.base_url in hosted or one.probe.models)]


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
