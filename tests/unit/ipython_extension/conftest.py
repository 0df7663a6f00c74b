"""A shell with the extension."""

import atexit

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import exploracoder_jupyter


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    quiet = {"HistoryManager": {"enabled": False}, "IPCompleter": {"use_jedi": False}}
    shell = InteractiveShell.instance(config=Config(quiet))
    exploracoder_jupyter.load_ipython_extension(shell)
    yield shell
    exploracoder_jupyter.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()
    atexit.unregister(shell.atexit_operations)  # it would collect garbage once for each shell
