"""Where the values of settings come from: the config file, which is changed here too, the environment, and
recorded runs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_state_path

from exploracoder_jupyter.core.configuration.options import OPTIONS
from exploracoder_jupyter.core.configuration.providers import KEY_VARIABLES, PROVIDERS, key_variables
from exploracoder_jupyter.core.configuration.sections import PRESETS, Exploration
from exploracoder_jupyter.core.configuration.settings import Settings, setting_fields
from exploracoder_jupyter.core.configuration.web_settings import WEB_KEY, expand_web_address, validate_web_address
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.messages import choose_wording, did_you_mean
from exploracoder_jupyter.core.validation import (
    BaseModel,
    ConfigDict,
    JsonValue,
    SecretStr,
    TypeAdapter,
    ValidationError,
)

# Reads and validates settings, once, at the entry points.
#
# Precedence: flag > `%config` > config file > environment > preset > default. `resolve` merges plain mappings and
# validates them; its errors name the option. Keys are not settings: only `Secrets` contains one; it is created in
# the engine's process and never written, sent or displayed.

_CONFIG = "EXPLORACODER_CONFIG"
_PLAIN_PHRASES = {
    "should be greater than or equal to": "must be at least",
    "should be less than or equal to": "must be at most",
    "should be": "must be",
}
_KEY = "api_key"
"""Name of the API key in the config file."""
_PREFIX = "EXPLORACODER_"
SETTING_VARIABLES = tuple(name for row in setting_fields() for name in row.setting.variables)
"""Environment variables that set a setting."""
ALL_KEY_VARIABLES = (
    *KEY_VARIABLES,
    *(one.key_variable for one in PROVIDERS.values() if one.key_variable not in KEY_VARIABLES),
)
"""Environment variables that may contain a key."""
VARIABLES = (*SETTING_VARIABLES, *ALL_KEY_VARIABLES, WEB_KEY, _CONFIG, f"{_PREFIX}GATEWAY_TOKEN")
"""Environment variables that are read."""
_INTERNAL = (f"{_PREFIX}SIBLING", f"{_PREFIX}LIVE_PYTHON")
"""Environment variables set in this package's kernels and its tests."""


class Secrets(BaseModel):
    """Values that must never leave the engine's process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_key: SecretStr | None = None


Layer = Mapping[str, Mapping[str, JsonValue]]
"""Settings from one source: `{"exploration": {"candidates": 3}}`."""

_SETTINGS = TypeAdapter(Settings)
_SECTIONS = [section.name for section in fields(Settings)]
_NAMES = [f"{row.section}.{row.name}" for row in setting_fields()]


def config_path() -> Path:
    """Return the path of the config file: `EXPLORACODER_CONFIG`, else in the user's configuration folder."""
    named = configured_path()
    return Path(named).expanduser() if named else user_config_path("exploracoder_jupyter") / "config.toml"


def configured_path() -> str:
    """Return the path in `EXPLORACODER_CONFIG`; empty if it is not set."""
    return os.environ.get(_CONFIG, "")


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Return a message and a remedy for each variable that has this package's prefix but is not read."""
    environ = os.environ if environ is None else environ
    unknown = [name for name in sorted(environ) if name.startswith(_PREFIX) and name not in (*VARIABLES, *_INTERNAL)]
    return [
        (
            f"The environment variable {name} is unknown and has no effect.",
            f"{did_you_mean(name, VARIABLES)}Supported: {', '.join(VARIABLES)}.",
        )
        for name in unknown
    ]


def snippets_path() -> Path:
    """Return the path of the file that stores code for later tasks."""
    return user_cache_path("exploracoder_jupyter") / "snippets.sqlite"


def history_path() -> Path:
    """Return the path of the history of runs."""
    return user_state_path("exploracoder_jupyter") / "history.sqlite"


def resolve(*layers: Layer, path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Merge the layers (strongest first) over the config file, the environment, the preset and the defaults."""
    try:
        settings = _SETTINGS.validate_python(merge_sources(*layers, path=path, environ=environ))
    except ValidationError as error:
        raise _invalid_setting(error) from error
    validate_web_address(settings.retrieval.web, settings.retrieval.web_address)
    return settings


def merge_sources(*layers: Layer, path: Path | None = None, environ: Mapping[str, str] | None = None) -> Layer:
    """Return what `resolve` validates: every setting that is not left at its default."""
    file_layer, _ = _read_file(path)
    _check_names(file_layer, path or config_path())
    merged: dict[str, dict[str, JsonValue]] = {}
    for layer in reversed([*layers, file_layer, _environment_layer(os.environ if environ is None else environ)]):
        for section, values in layer.items():
            merged.setdefault(section, {}).update(values)
    if (given := merged.get("endpoint")) is not None:
        merged["endpoint"] = {name: _stripped(value) for name, value in given.items()}
    if (given := merged.get("retrieval")) is not None:
        merged["retrieval"] = expand_web_address(given)
    if (given := merged.get("exploration")) is not None:
        merged["exploration"] = {**PRESETS.get(str(given.get("preset")), {}), **given}
    return merged


def as_json(settings: Settings) -> dict[str, JsonValue]:
    """Return the settings as JSON."""
    found: dict[str, JsonValue] = _SETTINGS.dump_python(settings, mode="json")
    return found


def read_secrets(
    path: Path | None = None, environ: Mapping[str, str] | None = None, *, base_url: str | None = None
) -> Secrets:
    """Read the API key for this `base_url` from its environment variables, else from the config file."""
    variable = key_variable(base_url, environ)
    environ = os.environ if environ is None else environ
    key = (environ[variable] if variable else None) or _read_file(path)[1]
    return Secrets(api_key=SecretStr(key) if key else None)


def key_variable(base_url: str | None = None, environ: Mapping[str, str] | None = None) -> str:
    """Return the environment variable from which the key for this `base_url` is taken; empty if none is set."""
    environ = os.environ if environ is None else environ
    return next((name for name in key_variables(base_url) if environ.get(name)), "")


def _read_file(path: Path | None) -> tuple[dict[str, dict[str, JsonValue]], str | None]:
    """Read this config file, or the default one; return its settings layer and, separately, its API key."""
    is_configured, path = path is None and bool(configured_path()), path or config_path()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if is_configured:
            raise UsageError(
                f"The config file {path}, set by {_CONFIG}, does not exist.",
                remedy="Create it, correct the variable, or unset it.",
            ) from None
        return {}, None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"The config file {path} cannot be read: {why}.", remedy="Fix or remove it.") from error
    key = content.pop(_KEY, None)
    return content, key if isinstance(key, str) else None


def _check_names(file_layer: Mapping[str, object], path: Path) -> None:
    """Raise UsageError for names in the config file that are not settings. Values are not shown: one may be a key."""
    for section, values in file_layer.items():
        if section not in _SECTIONS:
            meant = did_you_mean(section, [_KEY, *_SECTIONS])
            raise UsageError(f"There is no setting {section!r} (in {path}).", remedy=f"{meant}{_see_help()}")
        if not isinstance(values, Mapping):
            raise UsageError(f"{section!r} must be a table in {path}.", remedy=f"Write [{section}] above its settings.")
        for name in values:
            if f"{section}.{name}" not in _NAMES:
                raise _unknown_setting(f"{section}.{name}", path)


def _unknown_setting(option: str, path: Path | None = None) -> UsageError:
    section, _, name = option.partition(".")
    same_name = [known for known in _NAMES if known.endswith(f".{name}")]
    candidates = same_name or [known for known in _NAMES if known.startswith(f"{section}.")]
    where = f" (in {path})" if path else ""
    return UsageError(
        f"There is no setting {option!r}{where}.", remedy=f"{did_you_mean(option, candidates)}{_see_help()}"
    )


def _invalid_setting(error: ValidationError) -> UsageError:
    first = error.errors()[0]
    option = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unexpected_keyword_argument":
        return _unknown_setting(option)
    if first["type"] == "missing":
        return UsageError(f"The setting {option!r} is missing.", remedy=_see_help())
    message = first["msg"].removeprefix("Input ").partition(", unable")[0]
    for phrase, plain in _PLAIN_PHRASES.items():
        message = message.replace(phrase, plain)
    # a header may hold a key
    given = "" if option.startswith("endpoint.headers") else f", not {first['input']!r}"
    return UsageError(f"The setting {option!r}{_flag_of(option)} {message}{given}.", remedy=_see_help())


def _flag_of(option: str) -> str:
    flag = next((known.flag for known in OPTIONS if known.places and f"{known.section}.{known.field}" == option), "")
    return f" ({flag})" if flag else ""


def _see_help() -> str:
    return choose_wording(terminal="See `jupyter explora run --help`.", notebook="See `%%explora?`.")


def _stripped(value: JsonValue) -> JsonValue:
    """Return a name or an address without blanks around it, which are easily copied along; `None` for blanks alone."""
    return (value.strip() or None) if isinstance(value, str) and value else value


def _environment_layer(environ: Mapping[str, str]) -> dict[str, dict[str, JsonValue]]:
    found: dict[str, dict[str, JsonValue]] = {}
    for row in setting_fields():
        if value := next(filter(None, map(environ.get, row.setting.variables)), None):
            found.setdefault(row.section, {})[row.name] = value
    return found


# Changes single values of the config file: atomically, and without touching its comments or its other values.

Value = str | int | float | None
"""A value to set; `None` removes it."""


def write_config(values: Mapping[str, Value], *, section: str = "") -> Path:
    """Set these values in a section of the config file, or at its top, and return the file's path.

    The file is created if it does not exist. Only its owner can read it.
    """
    try:
        import tomlkit  # needed only here
    except ImportError:
        raise UsageError(
            f"The config file {config_path()} cannot be changed from this kernel, whose environment lacks tomlkit.",
            remedy="Edit it yourself, use another kernel, or run `jupyter explora setup` in a terminal.",
        ) from None

    path = config_path().resolve()  # the file itself where the path is a link
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig") if path.exists() else "")
        given = {name: value for name, value in values.items() if value is not None}
        if section and given and section not in document:
            document[section] = tomlkit.table()
        table: Any = document.get(section, {}) if section else document
        if not isinstance(table, MutableMapping):
            raise ValueError(f"{section!r} is not a table")
        for name in values.keys() - given.keys():
            table.pop(name, None)
        table.update(given)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, tomlkit.dumps(document).encode(), mode=0o600)
    except (OSError, ValueError) as error:  # errors of tomlkit and a UnicodeDecodeError are ValueErrors
        raise UsageError(
            f"The config file {path} cannot be changed: {error}.", remedy="Correct it, remove it, or edit it yourself."
        ) from error
    return path


# Converts the settings of a recorded run to a layer for a run that resumes or replays it.

_RUN_SPECIFIC = {
    "view": {"out"},
    "sandbox": {"engine_python"},
    "history": {"keep", "days", "runs"},
    "endpoint": {"headers"},
    "prices": {"currency", "models"},
}
"""Settings that apply only to the recorded run."""

_PRESET_SETTINGS = {"preset", *(name for values in PRESETS.values() for name in values)}
_SOLUTION_ROUNDS = "solution_rounds"
_WEB_SETTINGS = {"web", "web_address"}


def recorded_layer(recorded: Mapping[str, JsonValue], stronger: Sequence[Layer] = ()) -> Layer:
    """Return the recorded settings that this version knows and that no stronger layer sets.

    If a stronger layer sets a preset, the values that presets determine are left out too.
    """
    found: dict[str, dict[str, JsonValue]] = {}
    for row in setting_fields():
        values = recorded.get(row.section)
        left_out = _RUN_SPECIFIC.get(row.section, set()) | _names_set_by(row.section, stronger)
        if isinstance(values, Mapping) and row.name in values and row.name not in left_out:
            found.setdefault(row.section, {})[row.name] = values[row.name]
    if found.get("sandbox", {}).get("state") == "live":
        found["sandbox"].pop("state")  # only the user may decide to fork a kernel despite known hazards
    exploration = found.get("exploration", {})
    if exploration.get(_SOLUTION_ROUNDS) == Exploration().solution_rounds:
        exploration.pop(_SOLUTION_ROUNDS)  # not set explicitly: the offline model then allows more rounds
    if any("preset" in layer.get("exploration", {}) for layer in stronger):
        found["exploration"] = {name: value for name, value in exploration.items() if name not in _PRESET_SETTINGS}
    return found


def _names_set_by(section: str, layers: Sequence[Layer]) -> set[str]:
    """Return the names that these layers set in a section; `web` and `web_address` count as one setting."""
    names = {name for layer in layers for name in layer.get(section, {})}
    return names | _WEB_SETTINGS if names & _WEB_SETTINGS else names
