"""Settings: small nested models, resolved once at the entry points.

Precedence: flag > `%config` > config file > environment > preset > default. `resolve` merges plain mappings and
validates them; its errors name the option. The pipeline receives a `Settings` and never reads a file or `os.environ`.
Keys are not settings: only `Secrets` contains one; it is created in the engine's process and never written, sent or
displayed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path, user_config_path, user_state_path
from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError

from exploracoder_jupyter.core.command_options import OPTIONS
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Formulation, Sharing
from exploracoder_jupyter.core.web_settings import WEB_KEY, Web, expand_web_address, validate_web_address
from exploracoder_jupyter.core.wording import choose_wording, did_you_mean

OFFLINE = "offline"
"""Name of the built-in model, which is not a language model and costs nothing."""

_CONFIG = "EXPLORACODER_CONFIG"
KEY_VARIABLES = ("EXPLORACODER_API_KEY", "OPENAI_API_KEY")
_ENDPOINT = {
    "model": ("EXPLORACODER_MODEL", "OPENAI_MODEL"),
    "base_url": ("EXPLORACODER_BASE_URL", "OPENAI_BASE_URL"),
    "embedding_model": ("EXPLORACODER_EMBEDDING_MODEL",),
}
_PLAIN_PHRASES = {
    "should be greater than or equal to": "must be at least",
    "should be less than or equal to": "must be at most",
    "should be": "must be",
}
_KEY = "api_key"
"""Name of the API key in the config file."""
_PREFIX = "EXPLORACODER_"
VARIABLES = (
    *(name for names in _ENDPOINT.values() for name in names),
    *KEY_VARIABLES,
    WEB_KEY,
    _CONFIG,
    f"{_PREFIX}GATEWAY_TOKEN",
)
"""Environment variables that are read."""
_INTERNAL = (f"{_PREFIX}SIBLING", f"{_PREFIX}LIVE_PYTHON")
"""Environment variables set in this package's kernels and its tests."""
_FROZEN = ConfigDict(frozen=True, extra="forbid")


Preset = Literal["quick", "standard", "thorough"]

PRESETS: dict[str, dict[str, JsonValue]] = {
    "quick": {"candidates": 3, "subtasks": 5, "debug_rounds": 1, "solution_rounds": 2},
    "standard": {},
    "thorough": {"candidates": 8, "debug_rounds": 3, "solution_rounds": 5, "tests": True},
}
"""Values that each preset sets in `Exploration`; `standard` stands for the defaults."""


class Exploration(BaseModel):
    """The exploration method. Defaults are those of ExploraCoder (section 5.1) where the paper gives one."""

    model_config = _FROZEN

    preset: Preset = Field("standard", description="defaults for the exploration settings that are not set")
    candidates: int = Field(5, ge=1, le=20, description="snippets per subtask (the paper's m)")
    subtasks: int = Field(8, ge=1, le=20, description="maximum number of subtasks")
    debug_rounds: int = Field(2, ge=0, le=5, description="repair rounds when all candidates of a subtask fail")
    temperature: float = Field(0.8, ge=0, le=2, description="sampling temperature for snippets and solutions")
    top_p: float = Field(0.95, gt=0, le=1, description="nucleus sampling for snippets and solutions")
    planners: int = Field(4, ge=0, le=10, description="few-shot planners (k_D)")
    retrieved: int = Field(20, ge=1, le=100, description="APIs retrieved per subtask (k)")
    retrieved_global: int = Field(20, ge=1, le=100, description="APIs kept for the solution (k_G)")
    plan_revisions: int = Field(2, ge=0, le=10, description="maximum number of changes to the remaining plan")
    solution_rounds: int = Field(
        3,
        ge=1,
        le=20,
        description="maximum number of solutions tried, repairs included; the offline model tries up to 12 by default",
    )
    timeout: float = Field(60.0, gt=0, description="seconds for one execution")
    tests: bool = Field(False, description="whether to run the solution on generated inputs and judge its outputs")
    test_inputs: int = Field(3, ge=1, le=5, description="maximum number of generated inputs")
    test_rounds: int = Field(3, ge=0, le=10, description="maximum number of corrections from judged outputs (N_f)")
    review: bool = Field(False, description="whether the plan waits for the user's approval, in a notebook")


class Retrieval(BaseModel):
    """Which sources are searched for help, and how often."""

    model_config = _FROZEN

    rounds: int = Field(
        2, ge=0, le=10, description="maximum number of new searches after all candidates of a subtask failed"
    )
    formulation: Formulation = Field("explained", description="what the query of such a search is made from")
    context_tokens: int = Field(4000, ge=500, le=50_000, description="maximum tokens of search results in one prompt")
    lookups: int = Field(3, ge=0, le=10, description="maximum API lookups by the model while it writes one snippet")
    snippets: bool = Field(True, description="whether code that ran is stored and offered to later tasks")
    docs: tuple[str, ...] = Field(
        (), description="documentation in addition to the library's own: files, folders, archives"
    )
    workspace: bool = Field(False, description="whether to search the notebook and the files next to it too")
    web: Web = Field(
        "off", description="how to search the web; an address or a folder sets this and `web_address` together"
    )
    web_address: str | None = Field(
        None, description="URL of the SearXNG server, URL template with `{query}`, or folder of saved pages"
    )
    embedding_folder: str | None = Field(
        None,
        description="folder of a sentence-transformers or model2vec model; none: the endpoint's embeddings, or "
        "built-in word vectors",
    )


class Budget(BaseModel):
    """Limits after which a run stops."""

    model_config = _FROZEN

    tokens: int = Field(200_000, ge=1, description="prompt and completion tokens")
    seconds: float = Field(900.0, gt=0, description="wall-clock time of the run")
    executions: int = Field(400, ge=1, description="executions of snippets and solutions")


class Endpoint(BaseModel):
    """The model endpoint. Without `model` and `base_url` the built-in offline model is used."""

    model_config = _FROZEN

    model: str | None = Field(None, description="model name at the endpoint, or `offline`")
    base_url: str | None = Field(None, description="OpenAI-compatible endpoint, e.g. http://localhost:11434/v1")
    embedding_model: str | None = Field(
        None, description="embedding model at the same endpoint; none: built-in word vectors"
    )
    timeout: float = Field(
        120.0, gt=0, description="seconds without any data; a request for n replies ends after n + 1 times that"
    )
    retries: int = Field(3, ge=0, le=10, description="maximum retries of a failed request within that time")
    share: Sharing = Field("values", description="how much of the candidates' output is sent to the endpoint")


class Sandbox(BaseModel):
    """Limits of every sibling."""

    model_config = _FROZEN

    memory_mb: int = Field(4096, ge=256, description="memory of one sibling, on top of what it was forked with")
    cpu_seconds: int = Field(600, ge=1, description="CPU seconds of one sibling")
    processes: int = Field(256, ge=1, description="processes and threads of one sibling")
    open_files: int = Field(4096, ge=64, description="open files per process of a sibling")
    file_mb: int = Field(512, ge=1, description="maximum size of one written file")
    output_kb: int = Field(1024, ge=1, description="maximum stored output of one execution")
    copy_mb: int = Field(200, ge=0, description="largest working directory to copy where it cannot be overlaid")
    network: bool = Field(False, description="whether siblings can access the network")
    allow_read: tuple[str, ...] = Field((), description="paths in the home folder that siblings may also read")
    kernel: str | None = Field(None, description="kernelspec to explore in; none: the caller's interpreter")
    python: str | None = Field(None, description="interpreter to explore in, if no kernelspec is set")
    state: Literal["auto", "live", "fresh"] = Field(
        "auto", description="where experiments start: the caller's live kernel, or a fresh one"
    )
    branching: Literal["auto", "fork", "rerun"] = Field("auto", description="how kernel states are branched")
    isolation: Literal["best", "require"] = Field("best", description="`require`: refuse to run without full isolation")
    pickle: bool = Field(False, description="whether variables may be sent to a fresh kernel as pickles")
    gateway: str | None = Field(None, description="URL of a Jupyter Server or Kernel Gateway that runs the siblings")
    engine_python: str | None = Field(None, description="interpreter that runs the engine; none: the caller's")


class View(BaseModel):
    """What to show and where to write it."""

    model_config = _FROZEN

    show: Literal["all", "selected", "none"] = "all"
    keep_files: bool = Field(False, description="keep the files that the solution wrote, next to the trace")
    prompts: bool = Field(True, description="whether the trace contains the prompts")
    out: str | None = Field(None, description="path of the trace notebook; none: in explorations/ next to the notebook")


class History(BaseModel):
    """The user's private history of runs."""

    model_config = _FROZEN

    keep: bool = Field(True, description="whether to add a run to the history")
    days: int = Field(180, ge=1, description="days to keep a run in the history")
    runs: int = Field(1000, ge=1, description="maximum number of runs in the history")


class Settings(BaseModel):
    """All settings of a run, serializable as JSON; contains no secrets."""

    model_config = _FROZEN

    exploration: Exploration = Exploration()
    retrieval: Retrieval = Retrieval()
    budget: Budget = Budget()
    endpoint: Endpoint = Endpoint()
    sandbox: Sandbox = Sandbox()
    view: View = View()
    history: History = History()


class Secrets(BaseModel):
    """Values that must never leave the engine's process."""

    model_config = _FROZEN

    api_key: SecretStr | None = None


Layer = Mapping[str, Mapping[str, JsonValue]]
"""Settings from one source: `{"exploration": {"candidates": 3}}`."""


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
            f"{did_you_mean(name, VARIABLES)}See docs/configuration.md for the supported variables.",
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
    """Merge the layers (strongest first) over the config file, the environment, the preset and the defaults.

    Raises:
        UsageError: an option is unknown or has an invalid value; the config file is not valid TOML; or
            `EXPLORACODER_CONFIG` names a missing file.
    """
    file_layer, _ = _read_file(path)
    _check_names(file_layer, path or config_path())
    merged: dict[str, dict[str, JsonValue]] = {}
    for layer in reversed([*layers, file_layer, _environment_layer(os.environ if environ is None else environ)]):
        for section, values in layer.items():
            merged.setdefault(section, {}).update(values)
    if (given := merged.get("retrieval")) is not None:
        merged["retrieval"] = expand_web_address(given)
    if (given := merged.get("exploration")) is not None:
        merged["exploration"] = {**PRESETS.get(str(given.get("preset")), {}), **given}
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        option = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise _unknown_setting(option) from error
        message = first["msg"].removeprefix("Input ").partition(", unable")[0]
        for phrase, plain in _PLAIN_PHRASES.items():
            message = message.replace(phrase, plain)
        raise UsageError(
            f"The setting {option!r}{_flag_of(option)} {message}, not {first['input']!r}.", remedy=_see_help()
        ) from error
    validate_web_address(settings.retrieval.web, settings.retrieval.web_address)
    return settings


def read_secrets(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Secrets:
    """Read the API key from `EXPLORACODER_API_KEY` or `OPENAI_API_KEY`, else from the config file."""
    environ = os.environ if environ is None else environ
    key = next((environ[name] for name in KEY_VARIABLES if environ.get(name)), None) or _read_file(path)[1]
    return Secrets(api_key=SecretStr(key) if key else None)


def _read_file(path: Path | None) -> tuple[dict[str, dict[str, JsonValue]], str | None]:
    """Read this config file, or the default one; return its settings layer and, separately, its API key."""
    is_configured, path = path is None and bool(configured_path()), path or config_path()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
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
        if section not in Settings.model_fields:
            meant = did_you_mean(section, [_KEY, *Settings.model_fields])
            raise UsageError(f"There is no setting {section!r} (in {path}).", remedy=f"{meant}{_see_help()}")
        if not isinstance(values, Mapping):
            raise UsageError(f"{section!r} must be a table in {path}.", remedy=f"Write [{section}] above its settings.")
        for name in values:
            if f"{section}.{name}" not in _setting_names():
                raise _unknown_setting(f"{section}.{name}", path)


def _unknown_setting(option: str, path: Path | None = None) -> UsageError:
    section, _, name = option.partition(".")
    same_name = [known for known in _setting_names() if known.endswith(f".{name}")]
    candidates = same_name or [known for known in _setting_names() if known.startswith(f"{section}.")]
    where = f" (in {path})" if path else ""
    return UsageError(
        f"There is no setting {option!r}{where}.", remedy=f"{did_you_mean(option, candidates)}{_see_help()}"
    )


def _setting_names() -> list[str]:
    """Return the names of all settings, as `section.field`."""
    return [f"{section}.{name}" for section, values in Settings() for name in type(values).model_fields]


def _flag_of(option: str) -> str:
    """Return the flag that sets this option, in parentheses; empty if there is none."""
    flag = next((known.flag for known in OPTIONS if f"{known.section}.{known.field}" == option), "")
    return f" ({flag})" if flag else ""


def _see_help() -> str:
    return choose_wording(terminal="See `jupyter explora run --help`.", notebook="See `%%explora?`.")


def _environment_layer(environ: Mapping[str, str]) -> dict[str, dict[str, JsonValue]]:
    found = {
        field: next((environ[name] for name in given if environ.get(name)), None) for field, given in _ENDPOINT.items()
    }
    endpoint: dict[str, JsonValue] = {field: value for field, value in found.items() if value}
    return {"endpoint": endpoint} if endpoint else {}
