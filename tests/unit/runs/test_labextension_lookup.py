"""What the doctor says of JupyterLab's extension, from the folders that JupyterLab reads."""

import json

import pytest

from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.runs import doctor_report
from exploracoder_jupyter.runs.doctor_report import NAME, find_labextension


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Strongest first."""
    monkeypatch.setattr(doctor_report, "jupyter_path", lambda name: [str(tmp_path / "a" / name), str(tmp_path / name)])
    monkeypatch.setattr(doctor_report, "jupyter_config_path", lambda: [str(tmp_path / "user"), str(tmp_path / "env")])
    monkeypatch.setattr(doctor_report, "find_spec", lambda name: name == "notebook")
    return tmp_path


def install(folder, version=__version__):
    package = folder / "labextensions" / NAME / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text(json.dumps({"name": NAME, "version": version}))


def configure(folder, disabled):
    path = folder / "labconfig" / "page_config.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"disabledExtensions": disabled}))


def test_one_that_is_there_and_enabled_is_well(folders):
    install(folders)
    assert find_labextension() == (f"installed and enabled, in {folders / 'labextensions'}", "")


def test_a_missing_extension_names_the_package(folders):
    status, remedy = find_labextension()
    assert status.startswith("not installed")
    assert "exploracoder-jupyter" in remedy


def test_without_jupyterlab_nothing_is_missed(folders, monkeypatch):
    monkeypatch.setattr(doctor_report, "find_spec", lambda name: None)
    assert find_labextension() == ("not checked: JupyterLab is not in this environment", "")


@pytest.mark.parametrize("disabled", [{NAME: True}, {f"{NAME}:sidebar": True}, [NAME]])
def test_a_disabled_extension_names_the_command(folders, disabled):
    install(folders)
    configure(folders / "env", disabled)
    status, remedy = find_labextension()
    assert status == "installed, but disabled"
    assert remedy.endswith(f"jupyter labextension enable {NAME}")


def test_the_users_word_is_stronger_than_the_environments(folders):
    install(folders)
    configure(folders / "env", {NAME: True, f"{NAME}-other": True})
    configure(folders / "user", {NAME: False})
    assert find_labextension()[1] == ""


def test_another_version_is_reported(folders):
    install(folders, "0.0.1")
    status, remedy = find_labextension()
    assert "version 0.0.1" in status
    assert "same version" in remedy
