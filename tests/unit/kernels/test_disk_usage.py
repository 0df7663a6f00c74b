"""What a folder takes on disk is counted whatever is in it."""

from exploracoder_jupyter.kernels.processes.watching import disk_usage


def test_files_are_counted_links_are_not_followed(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_bytes(bytes(1_000_000))
    (tmp_path / "outside").write_bytes(bytes(5_000_000))
    (tmp_path / "a/link").symlink_to(tmp_path / "outside")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    assert 1_000_000 <= disk_usage(tmp_path / "a") < 1_100_000
    assert disk_usage(tmp_path / "gone") == 0
