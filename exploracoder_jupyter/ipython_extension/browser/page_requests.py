"""Answers the requests of pages that refer to no run: names of libraries, settings, earlier explorations."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, get_args
from urllib.parse import quote

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from exploracoder_jupyter.core.configuration.providers import KEY_VARIABLES
from exploracoder_jupyter.core.configuration.settings import SettingField, Settings, setting_fields
from exploracoder_jupyter.core.configuration.sources import (
    Layer,
    Value,
    config_path,
    history_path,
    key_variable,
    read_secrets,
    resolve,
    write_config,
)
from exploracoder_jupyter.core.errors import ExploraError, UsageError
from exploracoder_jupyter.core.history import CUT_OFF, HistoryStore, PastRun, TraceSummary, list_traces, path_exists
from exploracoder_jupyter.core.secrets.secret_patterns import mask_address
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach
from exploracoder_jupyter.ipython_extension.running.engine import run_command
from exploracoder_jupyter.ipython_extension.tab_completion import installed_names
from exploracoder_jupyter.protocol.browser_messages import TraceView
from exploracoder_jupyter.protocol.form_messages import (
    EndpointView,
    FindModels,
    FormAnswer,
    FormRequest,
    FoundModels,
    LibraryNames,
    ListLibraries,
    ReadSettings,
    SaveSettings,
    SettingsView,
    SettingView,
    TriedModel,
    TryModel,
)
from exploracoder_jupyter.text.characters import escape_html, without_controls

# Earlier explorations: the traces of a folder and the user's history in one list, newest first, without duplicates.

_LINE = "var(--jp-border-color2, rgba(128,128,128,.4))"
_BOX = (
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);"
    "color:var(--jp-ui-font-color1, inherit);overflow-x:auto"
)
_CELL = f"text-align:left;vertical-align:top;padding:4px 12px 4px 0;border-top:1px solid {_LINE}"
_HEADS = ("Began", "Ended as", "Task", "Libraries", "Cost", "Trace")
_COLUMNS = (
    "white-space:nowrap",
    "white-space:nowrap",
    "min-width:12em;overflow-wrap:anywhere",
    "min-width:6em",
    "min-width:8em",
    "min-width:12em;overflow-wrap:anywhere",
)
"""Paths may break anywhere, so that the words in other columns need not."""
_DEFAULT_LIMIT = 20
"""How many `%explora history` shows if no number is given."""
_PAGE_LIMIT = 200
"""How many, the newest ones, are sent to a page."""
_CAPTION = "Explored before, newest first"


ListedRun = PastRun | TraceSummary
"""A run in the history, or a trace that the history does not contain."""


def list_runs(
    folder: Path | None, *, excluded_traces: Collection[str] = (), excluded_runs: Collection[str] = ()
) -> list[ListedRun]:
    """List earlier explorations, also of traces in this folder, newest first, without what is shown elsewhere."""
    traces = list_traces(folder) if folder else []
    history = HistoryStore(history_path()).all(traces)
    ids = {run.id for run in history}
    names = {trace.path.name for trace in traces}
    recorded = {os.path.realpath(run.trace) for run in history if Path(run.trace).name in names}
    runs: list[ListedRun] = [run for run in history if run.id not in excluded_runs and run.trace not in excluded_traces]
    unknown = [trace for trace in traces if trace.run not in ids and os.path.realpath(trace.path) not in recorded]
    runs += [trace for trace in unknown if str(trace.path) not in excluded_traces]
    return sorted(
        runs, key=lambda one: one.started or (one.updated if isinstance(one, PastRun) else one.changed), reverse=True
    )


def trace_views(runs: Sequence[ListedRun], reach: Reach, limit: int = _PAGE_LIMIT) -> list[TraceView]:
    """Convert the newest runs to what is sent to a page, with their links looked up."""
    return [_run_view(run, reach) if isinstance(run, PastRun) else _trace_view(run, reach) for run in runs[:limit]]


def parse_history_limit(argument: str) -> int:
    """Parse the argument of `%explora history`: how many runs are shown."""
    if match := re.fullmatch(r"(?:-n\s*([1-9][0-9]{0,8}))?", argument):
        return int(match[1] or _DEFAULT_LIMIT)
    raise UsageError("%explora history takes no arguments other than `-n N`: how many runs are shown.")


def show_runs(before: Sequence[ListedRun], limit: int, reach: Reach) -> None:
    """Display the newest runs: as a table in a front end that renders HTML, otherwise as lines."""
    rest = len(before) - limit
    more = f"{rest:,} more: %explora history -n {len(before)}" if rest > 0 else ""
    views = trace_views(before, reach, limit)
    display(  # type: ignore[no-untyped-call]
        {"text/plain": as_text(views, more=more), "text/html": as_html(views, more=more)}, raw=True
    )


def as_text(views: Sequence[TraceView], *, more: str = "") -> str:
    """Format each run as a line; `more` reports what is left out."""
    rows = [(_when(one), one.outcome, one.task, one.libraries, one.cost, *_location(one)) for one in views]
    return without_controls("\n".join([*("  ".join(filter(None, row)) for row in rows), *([more] if more else [])]))


def as_html(views: Sequence[TraceView], *, more: str = "") -> str:
    """Format the runs as a table with links, in the colours of JupyterLab's theme."""
    heads = "".join(f'<th scope="col" style="{_CELL};border-top:none">{head}</th>' for head in _HEADS)
    rows = "".join(f"<tr>{''.join(_cells(one))}</tr>" for one in views)
    table = (
        f'<table style="border-collapse:collapse"><caption style="text-align:left">{_CAPTION}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    return f'<div class="jp-Explora-past" style="{_BOX}">{table}{f"<p>{escape_html(more)}</p>" if more else ""}</div>'


def _run_view(run: PastRun, reach: Reach) -> TraceView:
    return TraceView(
        path=run.trace,
        link=reach.link(run.trace) if run.trace and path_exists(run.trace) else "",
        changed=run.updated,
        started=run.started,
        task=run.task,
        outcome=run.status,
        libraries=run.named,
        cost=run.totals,
        gone=run.gone,
        resume=run.resumable,
    )


def _trace_view(trace: TraceSummary, reach: Reach) -> TraceView:
    path = str(trace.path)
    return TraceView(
        path=path,
        link=reach.link(path),
        changed=trace.changed,
        started=trace.started,
        task=trace.task,
        outcome=trace.outcome,
    )


def _when(view: TraceView) -> str:
    return datetime.fromtimestamp(view.started or view.changed).strftime("%Y-%m-%d %H:%M")


def _location(view: TraceView) -> Iterator[str]:
    yield view.path
    if view.gone:
        yield "(its trace is gone)"
    if view.outcome == CUT_OFF and not view.path:
        yield "(no trace to resume)"
    if view.resume:
        yield f"(to resume: %%explora {view.resume})"


def _cells(view: TraceView) -> Iterator[str]:
    path = f"<code>{escape_html(view.path)}</code>" if view.path and not view.resume else ""
    if view.link:
        path = f'<a href="{quote(view.link)}">{escape_html(view.link)}</a>'
    _, *notes = _location(view)
    place = "<br>".join(filter(None, [path, *map(escape_html, notes)]))
    texts = (_when(view), *map(escape_html, (view.outcome, view.task, view.libraries, view.cost)), place)
    yield from (f'<td style="{_CELL};{style}">{text}</td>' for style, text in zip(_COLUMNS, texts, strict=True))


# The settings that the page shows and changes: those of the config file, without the key.
#
# A key that the user enters passes through this kernel on its way to the file, or to the process that tries a
# model. It is not stored here, and no answer contains it.

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
        found = resolve(path=path)
        without_file = resolve(path=path.parent / "no such file")
        content = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
        variable = key_variable(found.endpoint.base_url)
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


# Answers the requests of pages that refer to no run: names of libraries, settings, models.
#
# Models are found and tried in a process of `jupyter explora setup`, which reads the configured key itself. A key
# that was entered and not saved is passed to that process in its environment.

_IMPORTABLE = (type, FunctionType, BuiltinFunctionType)
_NOT_LIBRARIES = frozenset({"__main__", "builtins", "IPython", "exploracoder_jupyter"})


class FormRequests:
    """The requests to one shell."""

    def __init__(self, shell: InteractiveShell, configured: Callable[[], Layer]) -> None:
        """`configured` returns what `%config` has set."""
        self._shell = shell
        self._configured = configured

    def answer(self, message: FormRequest) -> FormAnswer:
        """Answer a request; called in a thread of its own, and may take a while."""
        match message:
            case ListLibraries():
                return library_names(message.request, self._shell.user_ns)
            case ReadSettings():
                return view_settings(message.request, self._configured())
            case SaveSettings():
                return save_settings(message, self._configured())
            case FindModels():
                return find_models(message, self.engine_python())
            case TryModel():
                return try_model(message, self.engine_python())

    def engine_python(self) -> str | None:
        """Return the interpreter that is set for the engine."""
        return resolve(self._configured(), path=config_path()).sandbox.engine_python


def library_names(request: int, namespace: Mapping[str, object]) -> LibraryNames:
    """Return the libraries that these variables come from, and those that are installed."""
    imported = {name for value in list(namespace.values()) for name in _origin(value)} - _NOT_LIBRARIES
    standard = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    return LibraryNames(
        request=request,
        imported=sorted(imported, key=str.lower),
        installed=sorted({*installed_names(), *standard}, key=str.lower),
    )


def _origin(value: object) -> Iterator[str]:
    """Yield the top-level package of a module, class or function, without running code of the user's objects."""
    if isinstance(value, ModuleType):
        name = object.__getattribute__(value, "__dict__").get("__name__")
    elif type(value) in _IMPORTABLE:
        name = value.__module__
    else:
        return
    root = name.partition(".")[0] if isinstance(name, str) else ""
    if root and not root.startswith("_"):
        yield root


def find_models(message: FindModels, python: str | None) -> FoundModels:
    """Ask the endpoints which models they have."""
    try:
        found = _run_setup(message, python)["endpoints"]
    except ExploraError as error:
        return FoundModels(request=message.request, problem=str(error))
    endpoints = [EndpointView.model_validate({**one, "base_url": one["base_url"] or ""}) for one in found]
    return FoundModels(request=message.request, endpoints=endpoints)


def try_model(message: TryModel, python: str | None) -> TriedModel:
    """Send a tiny request to the model."""
    try:
        tried = _run_setup(message, python, f"--model={message.model}", "--dry-run")["tried"]
    except ExploraError as error:
        return TriedModel(request=message.request, problem=str(error))
    return TriedModel(request=message.request, seconds=tried["seconds"])


def _run_setup(message: FindModels | TryModel, python: str | None, *options: str) -> dict[str, Any]:
    where = [f"--base-url={message.base_url}"] if message.base_url else []
    entered = message.key.get_secret_value().strip() if message.key else ""
    environ = {**os.environ, KEY_VARIABLES[0]: entered} if entered else None
    return run_command("setup", *where, *options, python=python, environ=environ)
