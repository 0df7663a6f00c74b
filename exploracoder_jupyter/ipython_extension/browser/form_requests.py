"""Answers the requests of pages that refer to no run: names of libraries, settings, models.

Models are found and tried in a process of `jupyter explora setup`, which reads the configured key itself. A key that
was entered and not saved is passed to that process in its environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.configuration.settings_sources import KEY_VARIABLES, Layer, config_path, resolve
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.ipython_extension.browser.page_settings import save_settings, view_settings
from exploracoder_jupyter.ipython_extension.running.command_process import run_command
from exploracoder_jupyter.ipython_extension.tab_completion import installed_names
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
    TriedModel,
    TryModel,
)

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

    def engine_python(self) -> str:
        """Return the interpreter that runs the engine."""
        return resolve(self._configured(), path=config_path()).sandbox.engine_python or sys.executable


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


def find_models(message: FindModels, python: str) -> FoundModels:
    """Ask the endpoints which models they have."""
    try:
        found = _run_setup(message, python)["endpoints"]
    except ExploraError as error:
        return FoundModels(request=message.request, problem=str(error))
    endpoints = [EndpointView.model_validate({**one, "base_url": one["base_url"] or ""}) for one in found]
    return FoundModels(request=message.request, endpoints=endpoints)


def try_model(message: TryModel, python: str) -> TriedModel:
    """Send a tiny request to the model."""
    try:
        tried = _run_setup(message, python, f"--model={message.model}", "--dry-run")["tried"]
    except ExploraError as error:
        return TriedModel(request=message.request, problem=str(error))
    return TriedModel(request=message.request, seconds=tried["seconds"])


def _run_setup(message: FindModels | TryModel, python: str, *options: str) -> dict[str, Any]:
    where = [f"--base-url={message.base_url}"] if message.base_url else []
    entered = message.key.get_secret_value().strip() if message.key else ""
    environ = {**os.environ, KEY_VARIABLES[0]: entered} if entered else None
    return run_command("setup", *where, *options, python=python, environ=environ)
