import pytest

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.llm.endpoint import connection
from exploracoder_jupyter.llm.endpoint.connection import is_local
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from tests.unit.served import answers, ask, models, refusal


@pytest.mark.parametrize(
    ("base_url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000", True),
        ("http://models.localhost/v1", True),
        ("ollama", True),
        ("http://192.168.1.5:11434/v1", False),
        ("http://box.local/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://localhost@example.com/v1", False),
        (None, False),
    ],
)
def test_local_means_this_machine(base_url, local):
    assert is_local(base_url) is local


def test_presets_are_addresses_on_this_machine():
    for name, url in connection.PRESETS.items():
        assert connection.resolve_address(name) == url
        assert is_local(url) and url.endswith("/v1")


@pytest.mark.parametrize(
    "base_url", ["olama", "localhost:11434/v1", "ftp://x/v1", "http://", "http://[::1", "http://x:port/v1"]
)
def test_an_invalid_address_is_refused_with_presets_named(base_url):
    with pytest.raises(UsageError, match="ollama"):
        connection.resolve_address(base_url)


@pytest.mark.parametrize("base_url", [" http://h.example/v1", "http://h.example/v1/ \n", "\thttp://h.example/v1"])
def test_blanks_around_an_address_do_not_count(base_url):
    assert connection.resolve_address(base_url) == "http://h.example/v1"


async def test_the_query_goes_with_every_path():
    asked = []

    def handle(request):
        asked.append(str(request.url))
        return models(request) if request.url.path.endswith("/models") else refusal(404)

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    endpoint = Endpoint(model="m", base_url=" http://h.example/openai/v1/?api-version=2024-10-21&key=a%20b ")
    with pytest.raises(EndpointError, match="Available: small"):
        await answers(OpenAIModel(endpoint, Secrets(), http_client=client), ask())
    assert set(asked) == {
        "http://h.example/openai/v1/chat/completions?api-version=2024-10-21&key=a+b",
        "http://h.example/openai/v1/models?api-version=2024-10-21&key=a+b",
    }


def test_the_version_of_an_api_is_no_secret():
    address = "https://h.example/v1?api-version=2024-10-21&key=abc"
    assert connection.redact_address(address) == "https://h.example/v1?api-version=2024-10-21"
    assert connection.secret_query_values(address) == ["abc"]


def test_a_shown_address_holds_no_secret():
    assert connection.redact_address("https://me:pw@h.example:8443/v1?key=abc") == "https://h.example:8443/v1"
