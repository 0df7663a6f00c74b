"""A file that is written in one move: whole or as it was, for whom it is meant, whatever its name."""

import os
import stat

import pytest

from exploracoder_jupyter.core.files import write_atomic


def test_what_was_there_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    for content in (b"first", b"second"):
        write_atomic(path, content)
        assert path.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("failure", [OSError("full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, failure):
    def fsync(file):
        raise failure

    path = tmp_path / "a.txt"
    write_atomic(path, b"old")
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(type(failure)):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="the rights are those of POSIX")
def test_others_may_read_it_unless_private(tmp_path):
    umask = os.umask(0o022)
    try:
        for mode, wanted in ((0o666, 0o644), (0o600, 0o600)):
            write_atomic(tmp_path / "a.txt", b"x", mode=mode)
            assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == wanted
    finally:
        os.umask(umask)


@pytest.mark.parametrize("name", ["n" * 250 + ".txt", "ü" * 120 + ".txt"])
def test_a_name_may_be_as_long_as_possible(tmp_path, name):
    write_atomic(tmp_path / name, b"x")
    assert (tmp_path / name).read_bytes() == b"x"
