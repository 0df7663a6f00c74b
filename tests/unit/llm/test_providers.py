"""Providers by name, and headers and fields that the settings add to requests."""

import json
import logging

import pytest

from exploracoder_jupyter.core.configuration import providers
from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import (
    Secrets,
    as_json,
    key_variable,
    read_secrets,
    recorded_layer,
    resolve,
)
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.ipython_extension.settings_explanation import explain
from exploracoder_jupyter.llm.endpoint.connection import is_local, resolve_address
from exploracoder_jupyter.llm.endpoint.discovery import find_endpoints, probe
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from exploracoder_jupyter.runs.factories import recordable_settings, secret_strings
from tests.unit.served import KEY, URL, answers, ask, model, models, refusal, whole

TOKEN = "tok-0123456789abcdef"
HEADERS = {"X-Gateway-Token": f"Bearer {TOKEN}", "X-Title": "My notebook 2026"}


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("anthropic", "https://api.anthropic.com/v1"),
        (" Groq ", "https://api.groq.com/openai/v1"),
        ("azure:my-resource", "https://my-resource.openai.azure.com/openai/v1"),
        ("bedrock:eu-central-1", "https://bedrock-mantle.eu-central-1.api.aws/v1"),
    ],
)
def test_a_name_stands_for_an_address(base_url, url):
    assert resolve_address(base_url) == url
    assert not is_local(base_url)
    assert providers.find_provider(base_url) is providers.find_provider(url) is not None


@pytest.mark.parametrize("base_url", ["azure", "azure:", "groq:x", "ollama:x", "azure:evil.example/x", "azure:a@b"])
def test_a_wrong_word_after_a_name_is_refused(base_url):
    with pytest.raises(UsageError, match="azure:RESOURCE"):
        resolve_address(base_url)


@pytest.mark.parametrize(
    ("base_url", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY"),
        ("bedrock:us-east-1", "AWS_BEARER_TOKEN_BEDROCK"),
        ("groq", ""),
        ("https://api.groq.com/openai/v1", "OPENAI_API_KEY"),
        ("https://elsewhere.example/v1", "OPENAI_API_KEY"),
        (None, "OPENAI_API_KEY"),
    ],
)
def test_each_provider_gets_its_own_key(base_url, variable):
    environ = {name: f"of {name}" for name in ("ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "OPENAI_API_KEY")}
    assert key_variable(base_url, environ) == variable
    found = read_secrets(environ=environ, base_url=base_url).api_key
    assert (found.get_secret_value() if found else "") == (f"of {variable}" if variable else "")


async def test_anthropic_lists_models_with_its_headers():
    asked = []

    def handle(request):
        asked.append(request)
        return models(request) if request.url.path.endswith("/models") else refusal(404)

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    endpoint = Endpoint(model="m", base_url="anthropic", retries=0)
    with pytest.raises(EndpointError, match="Available: small"):
        await answers(OpenAIModel(endpoint, Secrets(api_key=KEY), http_client=client), ask())
    chat, listing = (request.headers for request in asked)
    assert chat["authorization"] == f"Bearer {KEY}" and "x-api-key" not in chat
    assert listing["x-api-key"] == KEY and listing["anthropic-version"] and "authorization" not in listing


async def test_headers_and_fields_go_with_each_request():
    sent = []

    def handle(request):
        sent.append((request.headers, json.loads(request.content)))
        return whole("x")

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    extra = {"reasoning_effort": "low", "provider": {"order": ["a"]}}
    endpoint = Endpoint(model="m", base_url=URL, headers=HEADERS, extra_body=extra)
    await answers(OpenAIModel(endpoint, Secrets(api_key=KEY), http_client=client), ask())
    headers, body = sent[0]
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert extra.items() <= body.items() and body["model"] == "m"


@pytest.mark.parametrize(
    "settings", [{"extra_body": {"model": "x"}}, {"extra_body": {"a": {1}}}, {"headers": {"a": "b\nc: d"}}]
)
async def test_what_cannot_be_sent_is_refused(settings):
    with pytest.raises(UsageError) as refused:
        model(lambda body: whole("x"), **settings)
    assert "b\nc" not in str(refused.value)


async def test_secrets_in_headers_are_in_no_record(caplog, config):
    caplog.set_level(logging.DEBUG)
    served = model(lambda body: refusal(400, f"the gateway does not know {TOKEN}"), headers=HEADERS)
    with pytest.raises(EndpointError) as refused:
        await answers(served, ask())
    settings = Settings(endpoint=Endpoint(base_url=URL, headers=HEADERS))
    written = json.dumps(recordable_settings(settings))
    config.parent.mkdir()
    config.write_text(f'[endpoint.headers]\nX-Gateway-Token = "{TOKEN}"\n')
    shown = f"{refused.value} {caplog.text} {written} {explain({}, {})}"
    assert TOKEN not in shown and "X-Gateway-Token" in written
    hidden = secret_strings(settings.endpoint, Secrets())
    assert TOKEN in hidden and not {"notebook", "Bearer", "2026"} & {*hidden}


def test_a_wrong_header_is_refused_without_its_value(config):
    config.parent.mkdir()
    config.write_text("[endpoint.headers]\nToken = 123456789\n")
    with pytest.raises(UsageError, match=r"endpoint\.headers") as refused:
        resolve(path=config)
    assert "123456789" not in str(refused.value)


def test_a_resumed_run_takes_no_recorded_headers():
    recorded = as_json(Settings(endpoint=Endpoint(headers=HEADERS, extra_body={"a": 1})))
    assert recorded_layer(recorded)["endpoint"].keys() & {"headers", "extra_body"} == {"extra_body"}


async def test_a_listed_model_may_have_a_prefix(httpserver):
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "models/flash"}]})
    found = await probe(Endpoint(model="flash", base_url=httpserver.url_for("/v1")), Secrets())
    assert found.reachable and not found.remedy


async def test_headers_go_only_to_the_configured_endpoint(httpserver):
    httpserver.expect_request("/a/models").respond_with_json({"data": [{"id": "x"}]})
    httpserver.expect_request("/b/models").respond_with_json({"data": [{"id": "y"}]})
    named = Endpoint(base_url=httpserver.url_for("/a"), headers=HEADERS)
    hosted = {httpserver.url_for("/b"): Secrets(api_key=KEY)}
    found = await find_endpoints(named, Secrets(), {}, hosted)
    assert [one.models for one in found] == [("x",), ("y",)]
    sent = {request.path: request.headers for request, _ in httpserver.log}
    assert TOKEN in sent["/a/models"]["X-Gateway-Token"] and "X-Gateway-Token" not in sent["/b/models"]
    assert KEY in sent["/b/models"]["Authorization"] and KEY not in sent["/a/models"]["Authorization"]
