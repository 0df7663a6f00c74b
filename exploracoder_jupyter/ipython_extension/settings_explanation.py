"""Explains where settings and keys come from without ever showing a key, and sets a key from a notebook.

The key is entered in a password field and written to the config file, readable only by its owner: it is never in a
cell, an output or the history.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.configuration.providers import KEY_VARIABLES
from exploracoder_jupyter.core.configuration.sources import (
    SETTING_VARIABLES,
    Layer,
    config_path,
    configured_path,
    key_variable,
    read_secrets,
    resolve,
    snippets_path,
    unknown_variables,
    write_config,
)
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.secrets.secret_patterns import mask_address


def explain(configured: Layer, environ: Mapping[str, str] | None = None) -> str:
    """Describe the settings of the next run and all their sources."""
    environ = os.environ if environ is None else environ
    path = config_path()
    status = "exists" if path.is_file() else "does not exist yet"
    if configured_path() and not path.is_file():
        status += "; EXPLORACODER_CONFIG names it, so runs need it to start"
    variables = ", ".join(name for name in SETTING_VARIABLES if environ.get(name)) or "none set"
    set_here = ", ".join(sorted(name for values in configured.values() for name in values)) or "nothing set"
    lines = [
        "Settings come from, strongest first:",
        "  1. options of the %%explora line",
        f"  2. %config ExploraMagics.NAME = VALUE ({set_here})",
        f"  3. the file {path} ({status})",
        f"  4. the environment: {', '.join(SETTING_VARIABLES)} ({variables})",
        "  5. defaults",
        *_model_lines(configured, environ),
        f"Code that ran is stored for later tasks in {snippets_path()}; manage it with `jupyter explora snippets`.",
        "Settings of the next run:",
    ]
    found = resolve(configured, path=config_path(), environ=environ)
    settings = asdict(replace(found, endpoint=found.endpoint.with_hidden_headers()))
    lines += [
        f"  {section}.{name} = {mask_address(str(value))}"
        for section, values in settings.items()
        for name, value in values.items()
    ]
    lines += [f"{what} {remedy}" for what, remedy in unknown_variables(environ)]
    return "\n".join(lines)


def _model_lines(configured: Layer, environ: Mapping[str, str]) -> list[str]:
    endpoint = resolve(configured, path=config_path(), environ=environ).endpoint
    if endpoint.base_url is None and endpoint.model in (None, "offline"):
        model = "Model: the embedded offline model, because no endpoint is configured. It is not a language model; "
        model += "%explora setup finds one and configures it."
    elif (plugin := plugins.find("models", endpoint.model)) and not plugin.built_in:
        model = f"Model: {plugin.name}, of {plugin.origin}"
    else:
        address = mask_address(endpoint.base_url or "the default OpenAI endpoint")
        model = f"Model: {endpoint.model or 'not named'} at {address}"
    variable = key_variable(endpoint.base_url, environ)
    key = f"taken from the environment variable {variable}" if variable else ""
    if not key and read_secrets(config_path(), environ={}).api_key:
        key = "taken from that file"
    return [
        model,
        f"Key: {key or 'none is set; local endpoints do not need one'}",
        '  To set one: %explora config key (prompts for it), or a line api_key = "..." at the top of that file, or the '
        f"environment variable {KEY_VARIABLES[0]} before Jupyter starts. Never type a key into a cell.",
    ]


def save_key(key: str) -> Path:
    """Write the key to the config file, which only its owner can read, and return the file's path."""
    if not key.strip():
        raise UsageError("No key was entered; nothing was changed.")
    return write_config({"api_key": key.strip()})
