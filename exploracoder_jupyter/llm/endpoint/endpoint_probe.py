"""Checks whether an endpoint answers, and with which models: for users who set one up."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.configuration.endpoint_settings import Endpoint
from exploracoder_jupyter.core.configuration.settings_sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.llm.endpoint import endpoint_addresses
from exploracoder_jupyter.llm.endpoint.endpoint_connection import Connection
from exploracoder_jupyter.llm.endpoint.fault_messages import Fault, explain, join_names


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
        return Probe(endpoint.base_url or endpoint_addresses.OPENAI, False, False, (), error.message, error.remedy)
    found = Probe(target.url, True, endpoint_addresses.is_local(endpoint.base_url), (), f"{target.url} answers.")
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
    if model and model not in names:
        remedy = f"Set model to one that it lists: {join_names(names)}."
        return replace(found, sentence=f"{found.url} answers, but does not list {model!r}.", remedy=remedy)
    return replace(found, sentence=f"{found.url} answers and lists {join_names(names)}.")
