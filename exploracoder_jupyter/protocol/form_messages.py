"""Requests of a page that refer to no run (names of libraries, settings, models), and their answers.

Part of the protocol in `browser_messages`.
"""

from __future__ import annotations

from typing import Literal

from exploracoder_jupyter.core.validation import BaseModel, ConfigDict, SecretStr


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ListLibraries(_Message):
    """The page completes the name of a library. Answered by `LibraryNames`."""

    type: Literal["list_libraries"] = "list_libraries"
    request: int = 0


class LibraryNames(_Message):
    """Answer to `ListLibraries`: names that can be explored in this kernel, each list sorted."""

    type: Literal["library_names"] = "library_names"
    request: int
    imported: list[str] = []
    """Top-level names of the packages that the user's variables come from."""
    installed: list[str] = []
    """Import and distribution names of installed packages, and the modules of the standard library."""


class SettingView(_Message):
    """One setting that the page can change."""

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


class ReadSettings(_Message):
    """The page shows the settings. Answered by `SettingsView`."""

    type: Literal["read_settings"] = "read_settings"
    request: int = 0


class SaveSettings(_Message):
    """Write these settings to the config file; nothing is written if one is invalid. Answered by `SettingsView`."""

    type: Literal["save_settings"] = "save_settings"
    request: int = 0
    values: dict[str, str] = {}
    """By name, as text; an empty text removes the setting from the file."""
    key: SecretStr | None = None
    """A new key, or an empty text to remove it from the file; `None` leaves it as it is."""


class SettingsView(_Message):
    """The settings as they are in the config file now. Never contains the key."""

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


class FindModels(_Message):
    """The page lists the models that can be used. Answered by `FoundModels`, within a minute."""

    type: Literal["find_models"] = "find_models"
    request: int = 0
    base_url: str = ""
    """The endpoint to ask; empty: the configured one and those on this machine."""
    key: SecretStr | None = None
    """A key that was entered and is not saved; without it the configured one is used."""


class EndpointView(_Message):
    """An endpoint, and what it answered."""

    base_url: str
    """As it is written in the configuration; empty if it contains a secret."""
    url: str
    """Without secrets."""
    local: bool = False
    models: list[str] = []
    status: str = ""
    """One sentence."""


class FoundModels(_Message):
    """Answer to `FindModels`."""

    type: Literal["found_models"] = "found_models"
    request: int
    endpoints: list[EndpointView] = []
    problem: str = ""


class TryModel(_Message):
    """The page tests an endpoint with a tiny request; nothing is saved. Answered by `TriedModel`, within minutes."""

    type: Literal["try_model"] = "try_model"
    request: int = 0
    base_url: str = ""
    """Empty: the configured one."""
    model: str
    key: SecretStr | None = None
    """As in `FindModels`."""


class TriedModel(_Message):
    """Answer to `TryModel`."""

    type: Literal["tried_model"] = "tried_model"
    request: int
    seconds: float = 0
    problem: str = ""
    """The endpoint's own error, and what to do; empty if the model answered."""


FormRequest = ListLibraries | ReadSettings | SaveSettings | FindModels | TryModel
"""A request that refers to no run."""
FormAnswer = LibraryNames | SettingsView | FoundModels | TriedModel
