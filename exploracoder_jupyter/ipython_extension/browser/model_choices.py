"""Lists and tries models for the page, in a process of `jupyter explora setup`, which reads the configured key itself.

A key that was entered and not saved is passed to that process in its environment.
"""

from __future__ import annotations

import os

from pydantic import SecretStr

from exploracoder_jupyter.core.configuration.settings_sources import KEY_VARIABLES
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.ipython_extension.model_setup import run_setup
from exploracoder_jupyter.protocol.form_messages import EndpointView, FindModels, FoundModels, TriedModel, TryModel


def find_models(message: FindModels, python: str) -> FoundModels:
    """Ask the endpoints which models they have."""
    options = [f"--base-url={message.base_url}"] if message.base_url else []
    try:
        found = run_setup(python, options, environ=_environment(message.key))["endpoints"]
    except ExploraError as error:
        return FoundModels(request=message.request, problem=str(error))
    endpoints = [EndpointView.model_validate({**one, "base_url": one["base_url"] or ""}) for one in found]
    return FoundModels(request=message.request, endpoints=endpoints)


def try_model(message: TryModel, python: str) -> TriedModel:
    """Send a tiny request to the model."""
    where = [f"--base-url={message.base_url}"] if message.base_url else []
    try:
        options = [*where, f"--model={message.model}", "--dry-run"]
        tried = run_setup(python, options, environ=_environment(message.key))["tried"]
    except ExploraError as error:
        return TriedModel(request=message.request, problem=str(error))
    return TriedModel(request=message.request, seconds=tried["seconds"])


def _environment(key: SecretStr | None) -> dict[str, str]:
    entered = key.get_secret_value().strip() if key else ""
    return {**os.environ, KEY_VARIABLES[0]: entered} if entered else dict(os.environ)
