"""Settings: small nested values, resolved once at the edge.

Precedence: flag > `%config` > config file > environment > preset > default. `resolve` merges plain mappings, checks
them, and names the option in its error; a preset gives what no layer does. The core receives a `Settings` and never
reads a file or `os.environ`. Keys are not settings: only `Secrets` holds one, it is made in the engine's process and is
never written, sent or shown.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path, user_config_path, user_state_path
from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.options import OPTIONS
from exploracoder_jupyter.core.types import Formulation, Sharing
from exploracoder_jupyter.core.web_settings import WEB_KEY, Web, check_place, spelled_out
from exploracoder_jupyter.core.wording import by_front_end, did_you_mean

OFFLINE = "offline"
"""Name of the embedded model, which is no language model and costs nothing."""

_CONFIG = "EXPLORACODER_CONFIG"
_KEYS = ("EXPLORACODER_API_KEY", "OPENAI_API_KEY")
_ENDPOINT = {
    "model": ("EXPLORACODER_MODEL", "OPENAI_MODEL"),
    "base_url": ("EXPLORACODER_BASE_URL", "OPENAI_BASE_URL"),
    "embedding_model": ("EXPLORACODER_EMBEDDING_MODEL",),
}
_PLAINLY = {
    "should be greater than or equal to": "must be at least",
    "should be less than or equal to": "must be at most",
    "should be": "must be",
}
_KEY = "api_key"
"""Its name in the config file."""
_PREFIX = "EXPLORACODER_"
VARIABLES = (
    *(name for names in _ENDPOINT.values() for name in names),
    *_KEYS,
    WEB_KEY,
    _CONFIG,
    f"{_PREFIX}GATEWAY_TOKEN",
)
"""Variables of the environment that are read."""
_INTERNAL = (f"{_PREFIX}SIBLING", f"{_PREFIX}LIVE_PYTHON")
"""Variables that kernels of this package and its tests have."""
_FROZEN = ConfigDict(frozen=True, extra="forbid")


Preset = Literal["quick", "standard", "thorough"]

PRESETS: dict[str, dict[str, JsonValue]] = {
    "quick": {"candidates": 3, "subtasks": 5, "debug_rounds": 1, "solution_rounds": 2},
    "standard": {},
    "thorough": {"candidates": 8, "debug_rounds": 3, "solution_rounds": 5, "tests": True},
}
"""What each preset sets in `Exploration`; `standard` is the defaults."""


class Exploration(BaseModel):
    """The method. Defaults are ExploraCoder's (section 5.1) where the paper has one."""

    model_config = _FROZEN

    preset: Preset = Field("standard", description="what is not set otherwise is as in this preset")
    candidates: int = Field(5, ge=1, le=20, description="snippets per subtask (the paper's m)")
    subtasks: int = Field(8, ge=1, le=20, description="subtasks at most")
    debug_rounds: int = Field(2, ge=0, le=5, description="repair rounds when all candidates of a subtask fail")
    temperature: float = Field(0.8, ge=0, le=2, description="sampling of snippets and solutions")
    top_p: float = Field(0.95, gt=0, le=1, description="sampling of snippets and solutions")
    planners: int = Field(4, ge=0, le=10, description="few-shot planners (k_D)")
    retrieved: int = Field(20, ge=1, le=100, description="APIs retrieved per subtask (k)")
    retrieved_global: int = Field(20, ge=1, le=100, description="APIs kept for the solution (k_G)")
    plan_revisions: int = Field(2, ge=0, le=10, description="how often the remaining plan may change")
    solution_rounds: int = Field(
        3,
        ge=1,
        le=20,
        description="solutions that a language model tries at most, repairs included; the offline model tries up to 12",
    )
    timeout: float = Field(60.0, gt=0, description="seconds for one execution")
    tests: bool = Field(False, description="whether a solution is tried on generated inputs and its outputs are judged")
    test_inputs: int = Field(3, ge=1, le=5, description="generated inputs at most")
    test_rounds: int = Field(3, ge=0, le=10, description="corrections from judged outputs at most (N_f)")
    review: bool = Field(False, description="whether the plan waits for the user's word, where there is a notebook")


class Retrieval(BaseModel):
    """What is searched for help, and how often."""

    model_config = _FROZEN

    rounds: int = Field(2, ge=0, le=10, description="searches anew, at most, after all candidates of a subtask failed")
    formulation: Formulation = Field("explained", description="what the query of such a search is made of")
    context_tokens: int = Field(4000, ge=500, le=50_000, description="tokens of what was found in one prompt")
    lookups: int = Field(3, ge=0, le=10, description="APIs that the model may look up while it writes one snippet")
    snippets: bool = Field(True, description="whether code that ran is kept and offered to later tasks")
    docs: tuple[str, ...] = Field((), description="documentation beside the library's own: files, folders, archives")
    workspace: bool = Field(False, description="whether the notebook and the files beside it are searched too")
    web: Web = Field(
        "off", description="how the web is searched; an address or a folder in place of a word says both settings"
    )
    web_address: str | None = Field(
        None, description="of the SearXNG server, the template with `{query}`, or the folder of saved pages"
    )
    embedding_folder: str | None = Field(
        None,
        description="folder of a sentence-transformers or model2vec model; none: the endpoint's, or built-in words",
    )


class Budget(BaseModel):
    """When to stop."""

    model_config = _FROZEN

    tokens: int = Field(200_000, ge=1, description="prompt and completion tokens")
    seconds: float = Field(900.0, gt=0, description="wall-clock time of the run")
    executions: int = Field(400, ge=1, description="snippets and solutions that are run")


class Endpoint(BaseModel):
    """Which model answers. Without `model` and `base_url` the embedded offline model does."""

    model_config = _FROZEN

    model: str | None = Field(None, description="model name at the endpoint, or `offline`")
    base_url: str | None = Field(None, description="OpenAI-compatible endpoint, e.g. http://localhost:11434/v1")
    embedding_model: str | None = Field(None, description="embedding model at the same endpoint; none: built-in words")
    timeout: float = Field(
        120.0, gt=0, description="seconds that it may send nothing; n replies end after n + 1 times that"
    )
    retries: int = Field(3, ge=0, le=10, description="how often a failed request is repeated within that time")
    share: Sharing = Field("values", description="how much of what candidates print is sent")


class Sandbox(BaseModel):
    """Limits of every sibling."""

    model_config = _FROZEN

    memory_mb: int = Field(4096, ge=256, description="memory of one sibling, beyond what it was forked with")
    cpu_seconds: int = Field(600, ge=1, description="CPU seconds of one sibling")
    processes: int = Field(256, ge=1, description="processes and threads of one sibling")
    open_files: int = Field(4096, ge=64, description="files that one process of a sibling has open")
    file_mb: int = Field(512, ge=1, description="size of one written file")
    output_kb: int = Field(1024, ge=1, description="output of one execution that is kept")
    copy_mb: int = Field(200, ge=0, description="largest working directory that is copied where it cannot be overlaid")
    network: bool = Field(False, description="whether siblings reach the network")
    allow_read: tuple[str, ...] = Field((), description="paths in the home folder that siblings may read, too")
    kernel: str | None = Field(None, description="kernelspec to explore in; none: the interpreter of the caller")
    python: str | None = Field(None, description="interpreter to explore in, where no kernelspec is named")
    state: Literal["auto", "live", "fresh"] = Field(
        "auto", description="where experiments start: the caller's live kernel, or a fresh one"
    )
    branching: Literal["auto", "fork", "rerun"] = Field("auto", description="how states are branched")
    isolation: Literal["best", "require"] = Field("best", description="`require`: refuse to run below the full level")
    pickle: bool = Field(False, description="whether variables may be sent to a fresh kernel as pickles")
    gateway: str | None = Field(None, description="URL of a Jupyter Server or Kernel Gateway that runs the siblings")
    engine_python: str | None = Field(None, description="interpreter that runs the engine; none: the caller's")


class View(BaseModel):
    """What is shown and where it is written."""

    model_config = _FROZEN

    show: Literal["all", "selected", "none"] = "all"
    keep_files: bool = Field(False, description="keep the files that the solution wrote, beside the trace")
    prompts: bool = Field(True, description="whether the trace holds what the model was asked")
    out: str | None = Field(None, description="path of the trace notebook; none: explorations/ beside the notebook")


class History(BaseModel):
    """What is noted of each run, for this user alone."""

    model_config = _FROZEN

    keep: bool = Field(True, description="whether a run leaves a line in the history")
    days: int = Field(180, ge=1, description="days that a line is kept")
    runs: int = Field(1000, ge=1, description="lines that are kept at most")


class Settings(BaseModel):
    """All settings of a run. JSON in and out; holds no secret."""

    model_config = _FROZEN

    exploration: Exploration = Exploration()
    retrieval: Retrieval = Retrieval()
    budget: Budget = Budget()
    endpoint: Endpoint = Endpoint()
    sandbox: Sandbox = Sandbox()
    view: View = View()
    history: History = History()


class Secrets(BaseModel):
    """What must never leave the engine's process."""

    model_config = _FROZEN

    api_key: SecretStr | None = None


Layer = Mapping[str, Mapping[str, JsonValue]]
"""Settings as given in one place: `{"exploration": {"candidates": 3}}`."""


def config_path() -> Path:
    """Where the config file is looked for: `EXPLORACODER_CONFIG`, else the user's configuration folder."""
    named = named_config()
    return Path(named).expanduser() if named else user_config_path("exploracoder_jupyter") / "config.toml"


def named_config() -> str:
    """The path in `EXPLORACODER_CONFIG`; empty where it is not set."""
    return os.environ.get(_CONFIG, "")


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """What is wrong with each variable that has this package's prefix and is not read, and the remedy."""
    environ = os.environ if environ is None else environ
    unknown = [name for name in sorted(environ) if name.startswith(_PREFIX) and name not in (*VARIABLES, *_INTERNAL)]
    return [
        (
            f"The environment variable {name} is unknown and has no effect.",
            f"{did_you_mean(name, VARIABLES)}docs/configuration.md lists those that are read.",
        )
        for name in unknown
    ]


def snippets_path() -> Path:
    """Where code that ran is kept for later tasks."""
    return user_cache_path("exploracoder_jupyter") / "snippets.sqlite"


def history_path() -> Path:
    """Where it is noted what was explored."""
    return user_state_path("exploracoder_jupyter") / "history.sqlite"


def resolve(*layers: Layer, path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Merge the layers (strongest first) over the config file, the environment, the preset and the defaults.

    Raises:
        UsageError: an option is unknown or has a bad value, or the file is not valid TOML, or is missing although
            `EXPLORACODER_CONFIG` names it.
    """
    file_layer, _ = _read_file(path)
    _check_names(file_layer, path or config_path())
    merged: dict[str, dict[str, JsonValue]] = {}
    for layer in reversed([*layers, file_layer, _environment_layer(os.environ if environ is None else environ)]):
        for section, values in layer.items():
            merged.setdefault(section, {}).update(values)
    if (given := merged.get("retrieval")) is not None:
        merged["retrieval"] = spelled_out(given)
    if (given := merged.get("exploration")) is not None:
        merged["exploration"] = {**PRESETS.get(str(given.get("preset")), {}), **given}
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise _unknown(option) from error
        what = first["msg"].removeprefix("Input ").partition(", unable")[0]
        for stiff, plain in _PLAINLY.items():
            what = what.replace(stiff, plain)
        raise UsageError(
            f"The setting {option!r}{_flag_of(option)} {what}, not {first['input']!r}.", remedy=_options()
        ) from error
    check_place(settings.retrieval.web, settings.retrieval.web_address)
    return settings


def secrets(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Secrets:
    """The key from the environment (`EXPLORACODER_API_KEY`, then `OPENAI_API_KEY`), else from the config file."""
    environ = os.environ if environ is None else environ
    key = next((environ[name] for name in _KEYS if environ.get(name)), None) or _read_file(path)[1]
    return Secrets(api_key=SecretStr(key) if key else None)


def _read_file(path: Path | None) -> tuple[dict[str, dict[str, JsonValue]], str | None]:
    """The layer of this file, or of the one that is configured; and the key apart from it."""
    is_named, path = path is None and bool(named_config()), path or config_path()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if is_named:
            raise UsageError(
                f"The config file {path}, which {_CONFIG} names, does not exist.",
                remedy="Create it, correct the variable, or unset it.",
            ) from None
        return {}, None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"The config file {path} cannot be read: {why}.", remedy="Mend it or remove it.") from error
    key = content.pop(_KEY, None)
    return content, key if isinstance(key, str) else None


def _check_names(file_layer: Mapping[str, object], path: Path) -> None:
    """Refuse what the config file holds that is no setting. A value is not shown: it may be a key."""
    for section, values in file_layer.items():
        if section not in Settings.model_fields:
            meant = did_you_mean(section, [_KEY, *Settings.model_fields])
            raise UsageError(f"There is no setting {section!r} (in {path}).", remedy=f"{meant}{_options()}")
        if not isinstance(values, Mapping):
            raise UsageError(f"{section!r} must be a table in {path}.", remedy=f"Write [{section}] above its settings.")
        for name in values:
            if f"{section}.{name}" not in _names():
                raise _unknown(f"{section}.{name}", path)


def _unknown(option: str, path: Path | None = None) -> UsageError:
    section, _, name = option.partition(".")
    elsewhere = [known for known in _names() if known.endswith(f".{name}")]
    likely = elsewhere or [known for known in _names() if known.startswith(f"{section}.")]
    where = f" (in {path})" if path else ""
    return UsageError(f"There is no setting {option!r}{where}.", remedy=f"{did_you_mean(option, likely)}{_options()}")


def _names() -> list[str]:
    """All settings, as `section.field`."""
    return [f"{section}.{name}" for section, values in Settings() for name in type(values).model_fields]


def _flag_of(option: str) -> str:
    """The flag that sets this, in brackets; nothing where there is none."""
    flag = next((known.flag for known in OPTIONS if f"{known.section}.{known.field}" == option), "")
    return f" ({flag})" if flag else ""


def _options() -> str:
    return by_front_end(terminal="See `jupyter explora run --help`.", notebook="See `%%explora?`.")


def _environment_layer(environ: Mapping[str, str]) -> dict[str, dict[str, JsonValue]]:
    found = {
        field: next((environ[name] for name in given if environ.get(name)), None) for field, given in _ENDPOINT.items()
    }
    endpoint: dict[str, JsonValue] = {field: value for field, value in found.items() if value}
    return {"endpoint": endpoint} if endpoint else {}
