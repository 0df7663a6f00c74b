"""Plugins are found in metadata, loaded when used, and never take the place of what is built in."""

import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import exploracoder_jupyter
from exploracoder_jupyter.core import plugins
from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.kernel_agent import entry_points
from exploracoder_jupyter.kernel_agent.entry_points import GROUPS, Plugin, own_plugins, registered
from exploracoder_jupyter.kernel_agent.summaries.facts import TypeFamily
from exploracoder_jupyter.kernel_agent.summaries.summarizer_registry import FAMILIES
from exploracoder_jupyter.kernels.agent import write_agent_archive

TIDES = Plugin("models", "tides", "explora_tides:create", "explora-tides", "0.1")


def _names(group):
    return [plugin.name for plugin in registered(group) if not plugin.built_in]


def test_listing_imports_nothing(register_plugin):
    register_plugin({"models": "tides = explora_tides:create"}, "create = len")
    assert plugins.find("models", "tides") == TIDES
    assert "explora_tides" not in sys.modules
    assert plugins.get("models", "tides") is len


def test_own_plugins_come_first(register_plugin):
    register_plugin({"models": "offline = explora_z:x\nsame = explora_z:x"}, name="z", module="explora_z")
    register_plugin({"models": "same = explora_a:x"}, name="a", module="explora_a")
    assert plugins.find("models", "offline").built_in
    assert plugins.find("models", "same").distribution == "a"
    assert [plugin.distribution for plugin in registered("models")][-3:] == ["a", "z", "z"]


def test_other_groups_and_unreadable_metadata_are_ignored(register_plugin, tmp_path):
    register_plugin({"models": "tides = explora_tides:create", "chairs": "x = y"})
    for name, metadata, entries in [("bad", None, b"[exploracoder_jupyter.models]\nx = y"), ("raw", b"", b"\xff")]:
        info = tmp_path / "site" / f"{name}-1.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_bytes(entries)
        if metadata is not None:
            (info / "METADATA").write_bytes(metadata)
    entry_points.clear()
    assert _names("models") == ["tides"]
    assert {plugin.group for plugin in own_plugins()} == set(GROUPS)


@pytest.mark.parametrize("entry", ["", "site"])
def test_plugins_in_the_working_directory_are_not_installed(register_plugin, tmp_path, monkeypatch, entry):
    register_plugin({"models": "tides = explora_tides:create"})
    monkeypatch.chdir(tmp_path / "site")
    monkeypatch.setattr(sys, "path", [str(tmp_path / entry) if entry else "", *sys.path[1:]])
    entry_points.clear()
    assert _names("models") == []


@pytest.mark.parametrize(
    ("code", "metadata", "why", "remedy"),
    [
        ("import missing_tides.x", "", "No module named 'missing_tides'", "Install missing_tides."),
        (
            "import missing_tides",
            'Provides-Extra: fast\nRequires-Dist: Missing.Tides>=2; extra == "fast"\n',
            "No module named 'missing_tides'",
            "pip install 'explora-tides[fast]'",
        ),
        ("1 / 0", "", "ZeroDivisionError: division by zero", "authors of explora-tides"),
        ("raise SystemExit(3)", "", "SystemExit: 3", "uninstall it"),
        ("", "", "no attribute 'create'", "uninstall it"),
    ],
)
def test_an_unloadable_plugin_is_named_with_a_remedy(register_plugin, code, metadata, why, remedy):
    register_plugin({"models": "tides = explora_tides:create"}, code, metadata=metadata)
    with pytest.raises(MissingRequirement) as raised:
        plugins.get("models", "tides")
    assert raised.value.message.startswith("The model 'tides' of explora-tides 0.1 cannot be loaded: ")
    assert why in raised.value.message
    assert remedy in raised.value.remedy


def test_an_unregistered_name_gets_a_suggestion():
    with pytest.raises(MissingRequirement, match=r"No exporter 'scirpt' is registered\. Did you mean script\?"):
        plugins.get("exporters", "scirpt")
    with pytest.raises(MissingRequirement, match=r"No strategy 'epigenn' is registered\. Did you mean epigen\?"):
        plugins.get("strategies", "epigenn")


def test_every_built_in_plugin_can_be_loaded():
    for plugin in own_plugins():
        assert plugin.load() is not None


def test_every_type_family_is_registered_once():
    folder = Path(exploracoder_jupyter.__file__).parent / "kernel_agent" / "summaries"
    names = [f"exploracoder_jupyter.kernel_agent.summaries.{path.stem}" for path in folder.glob("*.py")]
    values = [value for name in names for value in vars(import_module(name)).values()]
    defined = {id(value) for value in values if isinstance(value, TypeFamily)}
    assert defined == {id(family) for family in FAMILIES}
    names = [name for family in FAMILIES for name in {*family.describers, *family.measures}]
    assert len(names) == len(set(names))


def test_without_sources_the_installed_metadata_counts(tmp_path, monkeypatch, register_plugin):
    wanted = [plugin[:3] for plugin in own_plugins() if plugin.group == "summarizers"]
    archive = write_agent_archive(tmp_path / "kernel_agent.zip")
    monkeypatch.setattr(entry_points, "_HOME", str(archive))
    monkeypatch.setitem(sys.modules, "tomllib", None)  # a kernel may have Python 3.10
    entry_points.clear()
    assert [plugin[:3] for plugin in own_plugins()] == wanted
    assert any(name.endswith("summaries/summarizer_registry.py") for name in zipfile.ZipFile(archive).namelist())


def test_metadata_that_is_missing_is_reported(tmp_path, monkeypatch, register_plugin):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    monkeypatch.setattr(entry_points, "_HOME", str(tmp_path))
    entry_points.clear()
    assert own_plugins() == ()
    with pytest.raises(MissingRequirement, match="install exploracoder-jupyter again"):
        plugins.get("models", "offline")
    with pytest.raises(MissingRequirement, match="Install exploracoder-jupyter again"):
        write_agent_archive(tmp_path / "kernel_agent.zip")
