"""Answers the requests of pages that refer to no run."""

from __future__ import annotations

import sys
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.core.configuration.settings_sources import Layer, config_path, resolve
from exploracoder_jupyter.ipython_extension.browser.library_names import library_names
from exploracoder_jupyter.ipython_extension.browser.model_choices import find_models, try_model
from exploracoder_jupyter.ipython_extension.browser.page_settings import save_settings, view_settings
from exploracoder_jupyter.protocol.form_messages import (
    FindModels,
    FormAnswer,
    FormRequest,
    ListLibraries,
    ReadSettings,
    SaveSettings,
    TryModel,
)


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
