"""What an interpreter says it has installed."""

import pytest

from exploracoder_jupyter.kernel_agent.introspection.environment_report import describe_environment


def installed(folder, name, version, **notes):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    version_line = f"Version: {version}\n" if version else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n{version_line}")
    for note, content in notes.items():
        (info / {"url": "direct_url.json", "installer": "INSTALLER"}[note]).write_text(content)


@pytest.mark.parametrize("backport", [False, True])
def test_of_duplicate_packages_the_imported_is_reported(tmp_path, monkeypatch, backport):
    if backport:
        pytest.importorskip("importlib_metadata")  # it finds distributions for `importlib.metadata` from then on
    installed(tmp_path / "mine", "Some_Thing", "1.0")
    installed(tmp_path / "beside", "some-thing", "2.0")
    installed(tmp_path / "beside", "torn", "")
    monkeypatch.setattr("sys.path", [str(tmp_path / "mine"), str(tmp_path / "beside")])
    assert describe_environment()["packages"] == ["Some_Thing==1.0"]


def test_packages_from_no_index_are_reported(tmp_path, monkeypatch):
    editable = '{"url": "file:///home/me/tides", "dir_info": {"editable": true}}'
    installed(tmp_path, "tides", "0.1", url=editable, installer="pip\n")
    installed(tmp_path, "Moon", "2.0", url='{"url": "https://x.example/moon.git", "vcs_info": {}}')
    installed(tmp_path, "numpy", "2.3.0", url='{"url": "file:///home/conda/feedstock_root"}', installer="conda\n")
    installed(tmp_path, "networkx", "3.6.1", installer="uv")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert describe_environment()["unindexed"] == ["Moon", "tides"]
