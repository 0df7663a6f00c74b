"""The models that a page lists and tries: in a process of `jupyter explora setup`, with a key that is not saved.

What that command answers is tested with the command; here, that its answers and the key come and go.
"""

import json
import sys

import pytest
from werkzeug import Response

from exploracoder_jupyter.ipython_extension.browser.page_requests import find_models, try_model
from exploracoder_jupyter.protocol.form_messages import FindModels, TryModel

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def config(tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(path))
    return path


@pytest.fixture
def url(httpserver):
    """The address of an endpoint that lists two models, of which the first answers whoever has the key."""

    def answer(request):
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return Response(json.dumps({"error": {"message": "this key is wrong"}}), 401)
        body = {"choices": [{"index": 0, "message": {"content": "ready"}, "finish_reason": "stop"}]}
        return Response(json.dumps(body), content_type="application/json")

    listed = {"data": [{"id": "qwen3-coder"}, {"id": "nomic-embed"}]}
    httpserver.expect_request("/v1/models").respond_with_json(listed)
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return httpserver.url_for("/v1")


def test_models_are_tried_with_an_unsaved_key(config, url):
    found = find_models(FindModels(request=1, base_url=url, key=KEY), sys.executable)
    assert [(one.url, one.models) for one in found.endpoints] == [(url, ["qwen3-coder"])]
    tried = try_model(TryModel(request=1, base_url=url, model="qwen3-coder", key=KEY), sys.executable)
    assert tried.problem == "" and tried.seconds > 0
    assert not config.exists()


def test_an_error_of_endpoint_or_address_is_answered(config, url):
    tried = try_model(TryModel(request=1, base_url=url, model="qwen3-coder", key="wrong"), sys.executable)
    assert "refused the key" in tried.problem
    nowhere = find_models(FindModels(request=1, base_url="nowhere"), sys.executable)
    assert "is not an address" in (nowhere.problem or nowhere.endpoints[0].status)
    assert not config.exists()
