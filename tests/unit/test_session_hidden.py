"""What nobody is told, wherever it turns up."""

from pydantic import SecretStr

from exploracoder_jupyter.config import Endpoint, Secrets
from exploracoder_jupyter.session.parts import hidden_strings


def test_keys_tokens_and_passwords_are_hidden(monkeypatch):
    monkeypatch.setenv("EXPLORACODER_GATEWAY_TOKEN", "for-the-gateway")
    monkeypatch.setenv("EXPLORACODER_WEB_KEY", "for-the-web")
    endpoint = Endpoint(base_url="https://me:pass-word@host/v1?code=query-value")
    found = hidden_strings(endpoint, Secrets(api_key=SecretStr("the-key")))
    assert sorted(found) == ["for-the-gateway", "for-the-web", "pass-word", "query-value", "the-key"]


def test_nothing_is_hidden_where_there_is_nothing(monkeypatch):
    monkeypatch.delenv("EXPLORACODER_GATEWAY_TOKEN", raising=False)
    assert hidden_strings(Endpoint(), Secrets()) == []
