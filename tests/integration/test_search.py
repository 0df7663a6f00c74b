"""`%explora search` with the real command in a process of its own: what a person types, and what comes of it."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import exploracoder_jupyter


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    exploracoder_jupyter.load_ipython_extension(shell)
    yield shell
    exploracoder_jupyter.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()


def test_a_library_is_searched_and_then_searched_again(shell, capsys):
    assert shell.run_cell("hits = %explora search -k 5 statistics: what's the arithmetic mean of data?").success
    hits = shell.user_ns["hits"]
    assert "statistics.mean" in [hit.path for hit in hits]
    assert (len(hits), hits.query, hits.libraries[0].name) == (5, "what's the arithmetic mean of data?", "statistics")
    mean = next(hit for hit in hits if hit.path == "statistics.mean")
    assert mean.signature == "(data)"
    exec(mean.example, {})
    capsys.readouterr()
    assert shell.run_cell("%explora search middle value, the median?").success
    shown = capsys.readouterr().out
    assert "for “middle value, the median?”" in shown
    assert ". statistics.median(data)" in shown
    assert not shell.run_cell("%explora search no_such_libary: mean").success
    assert "Library 'no_such_libary' is not installed in this kernel's environment." in capsys.readouterr().err
