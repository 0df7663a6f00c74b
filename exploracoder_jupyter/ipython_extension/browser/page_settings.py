"""The settings that the page shows and changes: those of the config file, without the key.

A key that the user enters passes through this kernel on its way to the file, or to the process that tries a model. It
is not stored here, and no answer contains it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import get_args

from exploracoder_jupyter.core.configuration.config_file_writer import Value, write_config
from exploracoder_jupyter.core.configuration.settings import SettingField, Settings, setting_fields
from exploracoder_jupyter.core.configuration.settings_sources import (
    KEY_VARIABLES,
    Layer,
    config_path,
    read_secrets,
    resolve,
)
from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.secrets.secret_patterns import mask_address
from exploracoder_jupyter.protocol.form_messages import SaveSettings, SettingsView, SettingView

_NAMES = (
    "endpoint.base_url",
    "endpoint.model",
    "exploration.effort",
    "exploration.candidates",
    "budget.tokens",
    "budget.cost",
    "endpoint.share",
)
_ROWS = {f"{row.section}.{row.name}": row for row in setting_fields()}
_SECRET_ADDRESS = (
    "The address contains a password or a query, which is not written to a file. Set it as EXPLORACODER_BASE_URL in "
    "the environment."
)


def view_settings(request: int, configured: Layer, problems: Mapping[str, str] | None = None) -> SettingsView:
    """Return the settings; `configured` is what `%config` has set."""
    path = config_path()
    try:
        resolve(path=path)
        without_file = resolve(path=path.parent / "no such file")
        content = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
        variable = next((name for name in KEY_VARIABLES if os.environ.get(name)), "")
        in_file = read_secrets(path, environ={}).api_key is not None
    except (ExploraError, OSError, ValueError) as error:
        return SettingsView(request=request, path=str(path), problem=str(error), problems=dict(problems or {}))
    return SettingsView(
        request=request,
        path=str(path),
        settings=[_view(name, content, configured, without_file) for name in _NAMES],
        key="environment" if variable else "file" if in_file else "none",
        key_variable=variable,
        problems=dict(problems or {}),
    )


def save_settings(message: SaveSettings, configured: Layer) -> SettingsView:
    """Write the settings, unless one is invalid, and return them as they are then."""
    problems = {name: problem for name, text in message.values.items() if (problem := _problem(name, text))}
    if not problems:
        try:
            _write(message)
        except UsageError as error:
            return view_settings(message.request, configured).model_copy(update={"problem": str(error)})
    return view_settings(message.request, configured, problems)


def _write(message: SaveSettings) -> None:
    sections: dict[str, dict[str, Value]] = {}
    for name, text in message.values.items():
        section, _, field = name.partition(".")
        sections.setdefault(section, {})[field] = _parse(_ROWS[name], text)
    for section, values in sections.items():
        write_config(values, section=section)
    if message.key is not None:
        write_config({"api_key": message.key.get_secret_value().strip() or None})


def _view(name: str, content: Mapping[str, object], configured: Layer, without_file: Settings) -> SettingView:
    row = _ROWS[name]
    section = content.get(row.section)
    here = configured.get(row.section, {}).get(row.name)
    choices = [choice for choice in get_args(row.type) if isinstance(choice, str)]
    return SettingView(
        name=name,
        kind={int: "whole", float: "number"}.get(row.type) or ("choice" if choices else "text"),
        choices=choices,
        meaning=row.setting.meaning,
        value=_text(section.get(row.name)) if isinstance(section, dict) else "",
        default=_text(getattr(getattr(without_file, row.section), row.name)),
        overridden=_text(here),
    )


def _text(value: object) -> str:
    return "" if value is None else mask_address(f"{value:g}" if isinstance(value, float) else str(value))


def _problem(name: str, text: str) -> str:
    if name not in _NAMES:
        return "The page cannot change this setting."
    row = _ROWS[name]
    if name == "endpoint.base_url" and text.strip() != mask_address(text.strip()):
        return _SECRET_ADDRESS
    try:
        value = _parse(row, text)
        if value is not None:
            resolve({row.section: {row.name: value}}, path=config_path())
    except ValueError:
        return "Enter a whole number." if row.type is int else "Enter a number."
    except UsageError as error:
        return error.message
    return ""


def _parse(row: SettingField, text: str) -> Value:
    """Return the value of the text, None if it is empty; raises ValueError if it has to be a number and is none."""
    stripped = text.strip()
    if not stripped:
        return None
    return int(stripped) if row.type is int else float(stripped) if row.type is float else stripped
