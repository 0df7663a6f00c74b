"""`--model` names a registered model, or else one at the endpoint."""

from contextlib import AsyncExitStack

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sources import Secrets, resolve
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.llm.endpoint.model import OpenAIModel
from exploracoder_jupyter.llm.offline import OfflineModel
from exploracoder_jupyter.runs.factories import choose_model, model_notices, uses_endpoint, with_resolved_model

GROUPS = {"models": "tides = explora_tides:create"}
CODE = """
import contextlib

class Tides(contextlib.AbstractAsyncContextManager):
    name, closed = "tides", False

    async def __aexit__(self, *error):
        self.closed = True

def create(context):
    assert context.endpoint.model == "tides"
    return Tides()
"""


def _settings(**endpoint):
    return resolve({"endpoint": endpoint}, environ={})


def _chosen(settings):
    async def main():
        async with AsyncExitStack() as stack:
            resolved = (
                await with_resolved_model(settings, Secrets()) if settings.endpoint.model == "tides" else settings
            )
            return await choose_model(resolved, Secrets(), None, stack, advance=lambda *_: None)

    return anyio.run(main)


def test_a_registered_model_needs_no_endpoint(register_plugin):
    register_plugin(GROUPS, CODE)
    model = _chosen(_settings(model="tides"))
    assert (model.name, model.closed) == ("tides", True)
    assert _chosen(_settings(model="tides", base_url="http://localhost:1/v1")).name == "tides"


def test_other_names_are_models_of_the_endpoint():
    assert isinstance(_chosen(_settings()), OfflineModel)
    assert isinstance(_chosen(_settings(model="offline", base_url="http://localhost:1/v1")), OfflineModel)
    model = _chosen(_settings(model="openai", base_url="http://localhost:1/v1"))
    assert isinstance(model, OpenAIModel) and model.name == "openai"


def test_the_user_learns_what_a_registered_model_receives(register_plugin):
    register_plugin(GROUPS, CODE)
    settings = _settings(model="tides", share="schema", base_url="http://localhost:1/v1")
    [notice] = model_notices(settings, Secrets())
    assert notice.text.endswith("is sent to the model 'tides' of explora-tides 0.1.")
    assert not uses_endpoint(settings)


def test_a_model_in_process_sends_nothing():
    settings = anyio.run(with_resolved_model, _settings(model="adapter:./some"), Secrets())
    assert settings.retrieval.inline_lookups and not uses_endpoint(settings)
    assert model_notices(settings, Secrets()) == []
    with pytest.raises(UsageError, match=r"no model './some'"):
        _chosen(settings)
    with pytest.raises(UsageError, match="adapter:FOLDER"):
        _chosen(_settings(model="adapter:"))


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import missing_tides", "cannot be loaded: ModuleNotFoundError"),
        ("create = len", "cannot be created: TypeError"),
    ],
)
def test_a_requested_model_that_fails_is_an_error(register_plugin, code, why):
    register_plugin(GROUPS, code)
    with pytest.raises(MissingRequirement, match=f"The model 'tides' of explora-tides 0.1 {why}"):
        _chosen(_settings(model="tides"))
