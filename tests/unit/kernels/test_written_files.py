"""What a sibling wrote is copied out, and nothing else: no links, no special files, no more than there is room for."""

import os
import shutil

import pytest

from exploracoder_jupyter.kernels.sandbox.working_directory import copy_written, take_snapshot


@pytest.fixture
def places(tmp_path):
    """The snapshot of a working directory, a sibling's copy of it, and the folder for what is written."""
    source = tmp_path / "source"
    (source / "data").mkdir(parents=True)
    (source / "data" / "kept.csv").write_text("a\n")
    (source / "data" / "touched.csv").write_text("b\n")
    (source / "data" / "grown.csv").write_text("c\n")
    snapshot = take_snapshot(source, tmp_path / "snapshot", most_mb=1)
    shutil.copytree(snapshot.folder, tmp_path / "work", symlinks=True)
    return snapshot, tmp_path / "work", tmp_path / "files"


def copied(places, most_mb=1):
    snapshot, work, folder = places
    return copy_written(work, snapshot, folder, most_mb=most_mb)


def test_new_and_changed_files_are_copied(places):
    _, work, folder = places
    (work / "data" / "touched.csv").write_text("b\n")
    (work / "data" / "grown.csv").write_text("C\n")
    (work / "out" / "deep").mkdir(parents=True)
    (work / "out" / "deep" / "new.bin").write_bytes(b"\x00\x01")
    (work / "__pycache__").mkdir()
    (work / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert copied(places) == ("data/grown.csv", "out/deep/new.bin")
    assert (folder / "data" / "grown.csv").read_text() == "C\n"
    assert (folder / "out" / "deep" / "new.bin").read_bytes() == b"\x00\x01"
    assert not (folder / "data" / "touched.csv").exists()


def test_nothing_written_makes_no_folder(places):
    assert copied(places) == ()
    assert not places[2].exists()


def test_links_and_special_files_stay_behind(places, tmp_path):
    _, work, folder = places
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("k")
    (work / "link").symlink_to(secret / "key")
    (work / "folder").symlink_to(secret)
    os.mkfifo(work / "pipe")
    (work / "plain").write_text("p")
    assert copied(places) == ("plain",)
    assert [path.name for path in folder.rglob("*")] == ["plain"]


def test_what_does_not_fit_is_not_half_copied(places):
    _, work, folder = places
    (work / "large").write_bytes(bytes(900_000))
    (work / "larger").write_bytes(bytes(950_000))
    (work / "small").write_bytes(bytes(1000))
    assert copied(places) == ("large", "small")
    assert not (folder / "larger").exists()


def test_a_name_that_is_no_text_stays_behind(places):
    _, work, _ = places
    (work / os.fsdecode(b"\xff")).write_text("x")
    assert copied(places) == ()


def test_a_folder_of_that_name_stays_untouched(places):
    _, work, folder = places
    folder.mkdir()
    (folder / "new").write_text("mine")
    (work / "new").write_text("theirs")
    with pytest.raises(FileExistsError):
        copied(places)
    assert (folder / "new").read_text() == "mine"
