"""Whether libraries are installed, checked before a run: no process is started here."""

import json
import os
import subprocess
import sys

import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.required_libraries import check_libraries, check_trace_folder


@pytest.fixture(autouse=True)
def no_process(monkeypatch):
    def started(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", started)


def checked(*libraries, workdir, **sections):
    check_libraries(libraries, resolve(sections), workdir=workdir)


def test_a_misspelled_library_gets_an_installed_suggestion(tmp_path):
    """Issue 14, item 24: it took 9 s, for kernels were started before anybody looked."""
    with pytest.raises(UsageError) as refused:
        checked("json", "netwrkx", workdir=tmp_path)
    assert "'netwrkx'" in refused.value.message
    assert "'networkx'" in refused.value.remedy


@pytest.mark.parametrize("name", ["networkx", "networkx.algorithms", "scikit-learn", "PyYAML", "os.path", "_json"])
def test_modules_and_distributions_are_known_by_either_name(tmp_path, name):
    checked(name, workdir=tmp_path)


def test_a_module_in_the_working_directory_counts(tmp_path):
    (tmp_path / "my_own_library.py").touch()
    checked("my_own_library", workdir=tmp_path)
    with pytest.raises(UsageError):
        checked("my_own_library", workdir=tmp_path / "elsewhere")


def test_newly_installed_libraries_are_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError):
        checked("brand-new", workdir=tmp_path / "elsewhere")
    (tmp_path / "brand_new_code.py").touch()
    info = tmp_path / "brand_new-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brand-new\nVersion: 1.0\n")
    (info / "RECORD").write_text("brand_new_code.py,,\n")
    checked("brand-new", workdir=tmp_path / "elsewhere")


@pytest.mark.parametrize(
    "sections",
    [
        {"sandbox": {"kernel": "python3"}},
        {"sandbox": {"python": "/another/python"}},
        {"sandbox": {"engine_python": "/another/python"}},
        {"sandbox": {"gateway": "http://example.org"}},
        {"retrieval": {"docs": ["docs"]}},
    ],
)
def test_what_cannot_be_decided_is_not_refused(tmp_path, sections):
    checked("netwrkx", workdir=tmp_path, **sections)
    with pytest.raises(UsageError):
        checked("netwrkx", workdir=tmp_path, sandbox={"python": sys.executable})


@pytest.mark.parametrize(
    "command",
    [
        ["run", "-t", "task", "--library", "netwrkx", "--json"],
        ["index", "netwrkx", "--json"],
        ["search", "netwrkx", "graph", "--json"],
    ],
)
def test_commands_refuse_it_before_the_slow_imports(command, capsys, monkeypatch):
    """Issue 14, item 24: likewise on the command line."""
    monkeypatch.setitem(sys.modules, "exploracoder_jupyter.runs", None)  # an import of it fails
    assert main(command) == 2
    assert "networkx" in json.dumps(json.loads(capsys.readouterr().out))


@pytest.fixture
def ordinary_user(monkeypatch):
    """Root may write everywhere; here a folder's mode decides, as for anybody else."""
    monkeypatch.setattr(os, "access", lambda path, mode: bool(path.stat().st_mode & 0o200))


@pytest.mark.parametrize(
    ("out", "beside", "is_refused"),
    [
        (None, "closed", True),
        (None, "closed/notebook.ipynb", True),
        (None, "open", False),
        ("closed/new/trace.ipynb", "open", True),
        ("../open/trace.ipynb", "closed", False),
    ],
)
def test_a_trace_that_cannot_be_written_is_refused(tmp_path, ordinary_user, out, beside, is_refused):
    for name, mode in (("open", 0o755), ("closed", 0o555)):
        (tmp_path / name).mkdir(mode=mode)
    out = str(tmp_path / out) if out and not out.startswith("..") else out
    settings = resolve({"view": {"out": out}})
    if not is_refused:
        return check_trace_folder(settings, tmp_path / beside)
    with pytest.raises(UsageError, match=f"{tmp_path / 'closed'}' is read-only"):
        check_trace_folder(settings, tmp_path / beside)


def test_a_read_only_folder_starts_no_run(tmp_path, ordinary_user, monkeypatch, capsys):
    tmp_path.chmod(0o555)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-t", "x", "--library", "statistics", "--model", "offline"]) == 2
    assert "is read-only for you. Name another path with --out." in capsys.readouterr().err
    tmp_path.chmod(0o755)
