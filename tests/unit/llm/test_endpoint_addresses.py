import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.llm.endpoint import endpoint_addresses
from exploracoder_jupyter.llm.endpoint.endpoint_addresses import is_local


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
    for name, url in endpoint_addresses.PRESETS.items():
        assert endpoint_addresses.resolve_address(name) == url
        assert is_local(url) and url.endswith("/v1")


@pytest.mark.parametrize(
    "base_url", ["olama", "localhost:11434/v1", "ftp://x/v1", "http://", "http://[::1", "http://x:port/v1"]
)
def test_what_is_no_address_is_refused_with_the_presets_named(base_url):
    with pytest.raises(UsageError, match="ollama"):
        endpoint_addresses.resolve_address(base_url)


def test_what_is_shown_of_an_address_holds_no_secret():
    assert endpoint_addresses.redact_address("https://me:pw@h.example:8443/v1?key=abc") == "https://h.example:8443/v1"
