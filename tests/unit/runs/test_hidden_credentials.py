"""Credentials stay hidden, wherever they turn up."""

import os

import pytest
from pydantic import SecretStr

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.runs.factories import secret_strings


def test_keys_tokens_and_passwords_are_hidden(monkeypatch):
    monkeypatch.setenv("EXPLORACODER_GATEWAY_TOKEN", "for-the-gateway")
    monkeypatch.setenv("EXPLORACODER_WEB_KEY", "for-the-web")
    endpoint = Endpoint(base_url="https://me:pass-word@host/v1?code=query-value")
    found = secret_strings(endpoint, Secrets(api_key=SecretStr("the-key")))
    assert sorted(found) == ["for-the-gateway", "for-the-web", "pass-word", "query-value", "the-key"]


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch):
    for name in os.environ:
        if name not in ("HOME", "PATH"):
            monkeypatch.delenv(name)


def test_secrets_of_other_services_are_hidden(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    monkeypatch.setenv("DB_PASSWORD", "correct-horse-42")
    monkeypatch.setenv("SOME_KEY", "documentation")
    monkeypatch.setenv("SSH_KEY", "/home/me/.ssh/id_ed25519")
    monkeypatch.setenv("API_TOKEN", "short1")
    monkeypatch.setenv("SSH_PASSPHRASE", "battery-staple-42")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:st4ple-battery@host/db")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "abcdef0123456789")
    assert secret_strings(Endpoint(), Secrets()) == [
        *("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "correct-horse-42", "battery-staple-42"),
        *("postgres://me:st4ple-battery@host/db", "st4ple-battery"),
    ]
