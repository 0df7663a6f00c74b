"""What a fork may read around what is hidden."""

from exploracoder_jupyter.kernels.sandbox.fork_sandbox import paths_excluding


def test_everything_but_what_is_hidden_is_readable(tmp_path):
    for folder in ("home/me/.ssh", "home/me/work", "home/you"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "home/me/.netrc").touch()
    (tmp_path / "home/me/link").symlink_to(tmp_path / "home/me/.ssh")
    hidden = [tmp_path / "home/me/.ssh", tmp_path / "home/me/.netrc"]
    assert paths_excluding(hidden, tmp_path) == [tmp_path / "home/me/work", tmp_path / "home/you"]
    assert paths_excluding([], tmp_path) == [tmp_path]
