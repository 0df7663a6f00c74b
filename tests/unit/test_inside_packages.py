"""What an interpreter says it has installed."""

from exploracoder_jupyter.inside.packages import environment


def installed(folder, name, version):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    told = f"Version: {version}\n" if version else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n{told}")


def test_of_a_package_that_is_there_twice_the_one_that_is_imported_is_told(tmp_path, monkeypatch):
    installed(tmp_path / "mine", "Some_Thing", "1.0")
    installed(tmp_path / "beside", "some-thing", "2.0")
    installed(tmp_path / "beside", "torn", "")
    monkeypatch.setattr("sys.path", [str(tmp_path / "mine"), str(tmp_path / "beside")])
    assert environment()["packages"] == ["Some_Thing==1.0"]
