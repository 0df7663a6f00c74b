"""Checks and describes what a run uses according to its settings: the model, the endpoint and the libraries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import JsonValue

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE, Endpoint
from exploracoder_jupyter.core.configuration.exploration_settings import Exploration
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import Layer, Secrets, as_json, merge_sources
from exploracoder_jupyter.core.configuration.web_settings import web_key
from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.events import Notice
from exploracoder_jupyter.core.message_formatting import choose_wording
from exploracoder_jupyter.core.required_libraries import check_libraries, is_checked_here
from exploracoder_jupyter.core.secrets.secret_names import replaceable_values
from exploracoder_jupyter.kernels import gateway_token
from exploracoder_jupyter.kernels.agent_programs import local_inspector
from exploracoder_jupyter.knowledge.extraction.library_name_cache import LibraryNameCache
from exploracoder_jupyter.knowledge.extraction.library_surface import find_libraries
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache
from exploracoder_jupyter.llm.endpoint.endpoint_addresses import is_local, redact_address, secret_query_values
from exploracoder_jupyter.llm.endpoint.endpoint_probe import probe, resolve_model
from exploracoder_jupyter.runs.construction.knowledge_factory import cache_folder, environment_key
from exploracoder_jupyter.runs.construction.model_factory import ADAPTER, is_offline, model_plugin

_OFFLINE_SOLUTION_ROUNDS = 20
"""Maximum rounds for the offline model: solutions cost it no tokens, so it may try more of them."""


def uses_endpoint(settings: Settings) -> bool:
    """Whether anything is sent to the endpoint: model requests, or texts to embed."""
    embeds = settings.endpoint.embedding_model and not settings.retrieval.embedding_folder
    return not (is_offline(settings.endpoint) or model_plugin(settings.endpoint)) or bool(embeds)


async def check_libraries_at_target(libraries: Sequence[str], settings: Settings, *, folder: Path) -> None:
    """Check that the libraries are installed for the interpreter that the run uses, before its kernels are started.

    Skips the check if documents may replace a library, or if the interpreter is behind a gateway.

    Raises:
        UsageError: a library is not installed.
        MissingRequirement, KernelError: the interpreter cannot be used.
    """
    if is_checked_here(settings):
        check_libraries(libraries, settings, workdir=folder)
    elif not (settings.sandbox.gateway or settings.retrieval.docs):
        environment = environment_key(settings.sandbox, folder)
        remembered = LibraryNameCache(KnowledgeCache(cache_folder()), environment) if environment else None
        await find_libraries(
            libraries, inspect=local_inspector(settings.sandbox, workdir=folder), remembered=remembered
        )


async def with_resolved_model(settings: Settings, keys: Secrets) -> Settings:
    """Return the settings with the endpoint's model resolved, so that a wrong configuration fails at once.

    This sends one request to the endpoint, or loads the plugin that provides the model.

    Raises:
        MissingRequirement: the plugin cannot be loaded.
        EndpointError: the endpoint cannot be reached, refuses the key, or lists not exactly one model where none is
            named.
    """
    if is_offline(settings.endpoint):
        return settings
    if plugin := model_plugin(settings.endpoint):
        plugins.load(plugin)
        inline = settings.retrieval.inline_lookups or plugin.name == ADAPTER
        return replace(settings, retrieval=replace(settings.retrieval, inline_lookups=inline))
    if settings.endpoint.model is None:
        return replace(settings, endpoint=await resolve_model(settings.endpoint, keys))
    found = await probe(settings.endpoint, keys)
    if not (found.reachable or found.passing):
        raise EndpointError(found.sentence, remedy=found.remedy)
    return settings


def recordable_settings(settings: Settings) -> dict[str, JsonValue]:
    """Return the settings as recorded in the trace, without secrets in the endpoint's address."""
    endpoint = settings.endpoint
    if endpoint.base_url:
        endpoint = replace(endpoint, base_url=redact_address(endpoint.base_url))
    return as_json(replace(settings, endpoint=endpoint))


def secret_strings(endpoint: Endpoint, keys: Secrets) -> list[str]:
    """Return all strings to redact.

    These are the keys and the token, the password and query values of the endpoint's address, and the secrets in
    environment variables.
    """
    parts = urlsplit(endpoint.base_url or "")
    credentials = (keys.api_key, gateway_token())
    found = [*(secret.get_secret_value() for secret in credentials if secret), parts.password, web_key()]
    query = secret_query_values(endpoint.base_url)
    return list(dict.fromkeys(text for text in (*found, *query, *replaceable_values(os.environ)) if text))


def exploration_settings(settings: Settings, layers: Sequence[Layer]) -> Exploration:
    """Return the exploration settings, with more solution rounds for the offline model unless set."""
    method = settings.exploration
    if not is_offline(settings.endpoint) or "solution_rounds" in merge_sources(*layers).get("exploration", {}):
        return method
    return replace(method, solution_rounds=_OFFLINE_SOLUTION_ROUNDS)


def model_notices(settings: Settings, keys: Secrets) -> list[Notice]:
    """Return what the user should know about the model before it is called."""
    endpoint = settings.endpoint
    if endpoint.model == OFFLINE:
        return [Notice("The offline model is not a language model: it adapts documented examples mechanically.")]
    if is_offline(endpoint):
        setup = choose_wording(terminal="`jupyter explora setup`", notebook="`%explora setup`")
        text = (
            "No language model is configured: the embedded offline model splits the task, finds documented examples"
            f" and adapts them mechanically. {setup} finds a language model and configures it."
        )
        if keys.api_key and not endpoint.model:
            text += " A key is set, but no model is named: name one with --model."
        return [Notice(text)]
    plugin = model_plugin(endpoint)
    if plugin.built_in if plugin else is_local(endpoint.base_url):
        return []
    receiver = f"the model {plugin.name!r} of {plugin.origin}" if plugin else redact_address(endpoint.base_url)
    return [Notice(f"{_SENT_DATA[endpoint.share]} is sent to {receiver}. {_SHARE_LESS_HINTS[endpoint.share]}".strip())]


_SENT_DATA = {
    "values": "The task, the code, and what candidates print (values of your data included)",
    "schema": "The task, the code, and names, types and kinds of errors, but no values",
    "none": "The task, the code, and whether it ran",
}
_SHARE_LESS_HINTS = {"values": "`--share schema` or `--share none` sends less.", "schema": "", "none": ""}
