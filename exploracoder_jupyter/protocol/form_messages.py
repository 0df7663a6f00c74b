"""Requests of a page that refer to no run (names of libraries, settings, models), and their answers.

Part of the protocol in `browser_messages`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, SecretStr

_MESSAGE = ConfigDict(frozen=True, extra="ignore")


class ListLibraries(BaseModel):
    """The page completes the name of a library. Answered by `LibraryNames`."""

    model_config = _MESSAGE
    type: Literal["list_libraries"] = "list_libraries"
    request: int = 0


class LibraryNames(BaseModel):
    """Answer to `ListLibraries`: names that can be explored in this kernel, each list sorted."""

    model_config = _MESSAGE
    type: Literal["library_names"] = "library_names"
    request: int
    imported: list[str] = []
    """Top-level names of the packages that the user's variables come from."""
    installed: list[str] = []
    """Import and distribution names of installed packages, and the modules of the standard library."""


class SettingView(BaseModel):
    """One setting that the page can change."""

    model_config = _MESSAGE
    name: str
    """With its section: `endpoint.model`."""
    kind: Literal["text", "whole", "number", "choice"]
    choices: list[str] = []
    meaning: str = ""
    value: str = ""
    """As text; empty if the config file does not set it."""
    default: str = ""
    """What applies if the config file does not set it, as text."""
    overridden: str = ""
    """The value of `%config` in this kernel, which takes precedence; empty if there is none."""


class ReadSettings(BaseModel):
    """The page shows the settings. Answered by `SettingsView`."""

    model_config = _MESSAGE
    type: Literal["read_settings"] = "read_settings"
    request: int = 0


class SaveSettings(BaseModel):
    """Write these settings to the config file; nothing is written if one is invalid. Answered by `SettingsView`."""

    model_config = _MESSAGE
    type: Literal["save_settings"] = "save_settings"
    request: int = 0
    values: dict[str, str] = {}
    """By name, as text; an empty text removes the setting from the file."""
    key: SecretStr | None = None
    """A new key, or an empty text to remove it from the file; `None` leaves it as it is."""


class SettingsView(BaseModel):
    """The settings as they are in the config file now. Never contains the key."""

    model_config = _MESSAGE
    type: Literal["settings"] = "settings"
    request: int
    path: str = ""
    """The config file."""
    settings: list[SettingView] = []
    key: Literal["none", "file", "environment"] = "none"
    """Where a key is set."""
    key_variable: str = ""
    """The environment variable that contains the key, if one does."""
    problem: str = ""
    """Why the file cannot be read or written; empty if it can."""
    problems: dict[str, str] = {}
    """By name of a setting, or `key`, why its value was rejected."""


class FindModels(BaseModel):
    """The page lists the models that can be used. Answered by `FoundModels`, within a minute."""

    model_config = _MESSAGE
    type: Literal["find_models"] = "find_models"
    request: int = 0
    base_url: str = ""
    """The endpoint to ask; empty: the configured one and those on this machine."""
    key: SecretStr | None = None
    """A key that was entered and is not saved; without it the configured one is used."""


class EndpointView(BaseModel):
    """An endpoint, and what it answered."""

    model_config = _MESSAGE
    base_url: str
    """As it is written in the configuration; empty if it contains a secret."""
    url: str
    """Without secrets."""
    local: bool = False
    models: list[str] = []
    status: str = ""
    """One sentence."""


class FoundModels(BaseModel):
    """Answer to `FindModels`."""

    model_config = _MESSAGE
    type: Literal["found_models"] = "found_models"
    request: int
    endpoints: list[EndpointView] = []
    problem: str = ""


class TryModel(BaseModel):
    """The page tests an endpoint with a tiny request; nothing is saved. Answered by `TriedModel`, within minutes."""

    model_config = _MESSAGE
    type: Literal["try_model"] = "try_model"
    request: int = 0
    base_url: str = ""
    """Empty: the configured one."""
    model: str
    key: SecretStr | None = None
    """As in `FindModels`."""


class TriedModel(BaseModel):
    """Answer to `TryModel`."""

    model_config = _MESSAGE
    type: Literal["tried_model"] = "tried_model"
    request: int
    seconds: float = 0
    problem: str = ""
    """The endpoint's own error, and what to do; empty if the model answered."""


FormRequest = ListLibraries | ReadSettings | SaveSettings | FindModels | TryModel
"""A request that refers to no run."""
FormAnswer = LibraryNames | SettingsView | FoundModels | TriedModel
