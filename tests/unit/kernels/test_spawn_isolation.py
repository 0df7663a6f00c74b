"""What a sibling may see: variables by allow-list, files by the order of mounts, the working directory by copy."""

import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from exploracoder_jupyter.core.platforms.posix import remove_tree
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation, needed_by_interpreter
from exploracoder_jupyter.kernels.sandbox.views import FileView, allowed_environment, hidden_paths, named_paths
from exploracoder_jupyter.kernels.sandbox.working_directory import take_snapshot


def test_the_environment_is_an_allow_list_without_secrets():
    passing = {"PATH": "/bin", "LC_ALL": "C", "OMP_NUM_THREADS": "9", "CONDA_PREFIX": "/c"}
    secret = {
        "OPENAI_API_KEY": "k",
        "NUMBA_TOKEN": "t",
        "MKL_MIRROR": "https://u:p@host/",
        "NUMBA_DB_PASS": "p",
        "NUMBA_DB_PWD": "p",
        "JAX_X": "AKIAIOSFODNN7EXAMPLE",
        "JAX_Y": "gsk_abcdefghij0123456789",
    }
    given = {**passing, **secret, "EDITOR": "vi", "PYTHONSTARTUP": "x", "HTTPS_PROXY": "http://proxy"}
    passed = allowed_environment(given, network=False)
    assert set(given) & set(passed) == set(passing)
    assert passed["OMP_NUM_THREADS"] == "9"
    assert "HTTPS_PROXY" in allowed_environment(given, network=True)


@pytest.mark.parametrize("outer", ["home", "/"])
def test_an_interpreter_below_home_is_needed(tmp_path, monkeypatch, outer):
    home = tmp_path / "home"
    packages = home / ".venv" / "lib"
    packages.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    needed = needed_by_interpreter([str(tmp_path / outer), str(packages), str(packages / "missing")])
    assert needed == (packages,)


def test_credentials_are_found_at_home_and_by_variables(tmp_path, monkeypatch):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / ".aws").symlink_to("real")
    (tmp_path / "mine.toml").touch()
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "mine.toml"))
    hidden = hidden_paths({"HOME": str(tmp_path)})
    assert {tmp_path / ".ssh", tmp_path / "real", tmp_path / "mine.toml"} <= set(hidden)
    assert tmp_path / ".kube" not in hidden


NAMED = {
    "GOOGLE_APPLICATION_CREDENTIALS": "google.json",
    "AWS_CONFIG_FILE": "aws.ini",
    "AWS_SHARED_CREDENTIALS_FILE": "aws-shared.ini",
    "PGPASSFILE": "pgpass",
    "CLOUDSDK_CONFIG": "gcloud-elsewhere",
    "DOCKER_CONFIG": "docker/config.json",
    "KAGGLE_CONFIG_DIR": "kaggle/kaggle.json",
    "HF_HOME": "hf/token",
    "XDG_CONFIG_HOME": "settings/gh",
    "XDG_DATA_HOME": "data/keyrings",
}


@pytest.mark.parametrize("variable", NAMED)
def test_credentials_that_variables_name_are_hidden(tmp_path, variable):
    path = tmp_path / NAMED[variable]
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert path in hidden_paths({variable: str(tmp_path / Path(NAMED[variable]).parts[0])})


def test_a_variable_hides_neither_home_nor_device(tmp_path):
    (tmp_path / "one").touch()
    (tmp_path / "two").touch()
    given = {
        "HOME": str(tmp_path),
        "CLOUDSDK_CONFIG": str(tmp_path),
        "PIP_CONFIG_FILE": os.devnull,
        "KUBECONFIG": f"{tmp_path / 'one'}:{tmp_path / 'two'}",
    }
    hidden = hidden_paths(given)
    assert {tmp_path / "one", tmp_path / "two"} <= set(hidden)
    assert not {tmp_path, Path(os.devnull)} & set(hidden)


def test_later_mounts_lie_over_earlier_ones():
    home = Path("/home/me")
    view = FileView(
        workdir=home / "work",
        copy=Path("/tmp/x/work"),
        temporary=Path("/tmp/x/tmp"),
        writable=(Path("/tmp/x"),),
        readable=(home / "work/.venv", Path("/tmp/lib"), Path("/opt/python")),
        borrowed=(home / "work/big.csv",),
        hidden=(home / ".ssh",),
    )
    command = Isolation("", ("bwrap",)).command(["python"], view)
    order = [
        command.index(path) for path in ("/tmp/x/tmp", "/tmp/lib", "/tmp/x/work", f"{home}/work/big.csv", "/tmp/x")
    ]
    assert order == sorted(order)
    assert command[order[2] - 1 : order[2] + 2] == ["--bind", "/tmp/x/work", f"{home}/work"]
    assert command[command.index(f"{home}/work/.venv") - 1] == "--ro-bind-try"
    assert "/opt/python" not in command
    assert command[-2:] == ["--", "python"]


def test_hidden_paths_stay_hidden_below_readable_ones():
    """An import path that holds a home folder, as a clone in `/tmp` does, must not bare its credentials."""
    clone, home, venv = Path("/tmp/clone"), Path("/tmp/clone/home"), Path("/tmp/clone/home/.config/venv")
    hidden = (home / ".ssh", home / ".config")
    for workdir, baring in ((Path("/work"), clone), (home, home)):
        view = FileView(workdir, None, Path("/x/tmp"), readable=(clone, venv), hidden=hidden)
        command = Isolation("", ("bwrap",)).command(["python"], view)[:-4]
        shown = command.index(str(baring))
        assert all(shown < command.index(str(path)) < command.index(str(venv)) for path in hidden)


def test_without_mounts_the_program_starts_unchanged():
    view = FileView(Path("/w"), Path("/c"), Path("/t"))
    assert Isolation("limits").command(["python", "x"], view) == ["python", "x"]


@pytest.fixture
def project(tmp_path):
    source = tmp_path / "project"
    for name, size in {
        "a.py": 10,
        "deep/b.py": 20,
        "big.csv": 3_000_000,
        ".git/config": 5,
        "env/pyvenv.cfg": 5,
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(b"x" * size)
    (source / ".env").write_text("SECRET=1")
    (source / "link.py").symlink_to("a.py")
    os.mkfifo(source / "pipe")
    return source


def test_a_snapshot_copies_or_borrows_everything(project, tmp_path):
    snapshot = take_snapshot(project, tmp_path / "copy", most_mb=1)
    copied = {str(path.relative_to(snapshot.folder)) for path in snapshot.folder.rglob("*")}
    assert copied == {"a.py", "deep", "deep/b.py", "link.py"}
    assert {str(path) for path in snapshot.borrowed} == {"big.csv", ".git", "env"}
    assert (snapshot.folder / "link.py").is_symlink()
    assert snapshot.note == ""
    assert not (
        take_snapshot(project, tmp_path / "less", most_mb=1, hidden=[project / "deep"]).folder / "deep"
    ).exists()


def test_credentials_of_a_project_are_not_copied(project, tmp_path):
    secret = (".env.local", ".envrc", "deep/.env", ".vault-token", ".aws/credentials", "credentials.json")
    for name in (*secret, "env/.env", ".git/modules/sub/config"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("SECRET=1")
    snapshot = take_snapshot(project, tmp_path / "copy", most_mb=1)
    assert [name for name in secret if (snapshot.folder / name).exists()] == []
    names = {str(path.relative_to(project)) for path in snapshot.hidden}
    assert names == {".git/config", ".git/modules/sub/config", "env/.env"}


KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n-----END PRIVATE KEY-----\n"


def test_keys_and_what_leads_to_programs_are_hidden(project, tmp_path, monkeypatch):
    """Issue 31, security 5 and 7: in what is copied, and in what is shown as it is."""
    for folder in ("deep", ".git"):
        (project / folder / "server.pem").write_text(KEY)
        os.mkfifo(project / folder / "fifo")
        with socket.socket(socket.AF_UNIX) as server:
            monkeypatch.chdir(project / folder)  # the path of a socket is limited
            server.bind("run.sock")
    (project / "env/cacert.pem").write_text(KEY.replace("PRIVATE KEY", "CERTIFICATE"))
    snapshot = take_snapshot(project, tmp_path / "copy", most_mb=1)
    assert {path.name for path in (snapshot.folder / "deep").iterdir()} == {"b.py"}
    names = {str(path.relative_to(project)) for path in snapshot.hidden}
    assert names == {".git/config", ".git/server.pem", ".git/fifo", ".git/run.sock"}


def test_a_key_that_is_named_is_copied(project, tmp_path):
    """Issue 31, security 7: `--allow-read` for the one that is meant."""
    for name in ("a.pem", "b.pem", ".git/c.pem", ".git/d.pem"):
        (project / name).write_text(KEY)
    named = named_paths(project, ["a.pem", ".git/c.pem"])
    snapshot = take_snapshot(project, tmp_path / "copy", most_mb=1, named=named)
    assert {path.name for path in snapshot.folder.glob("*.pem")} == {"a.pem"}
    assert {path.name for path in snapshot.hidden} == {"config", "d.pem"}


def test_no_copied_path_leads_to_the_original(project, tmp_path):
    (project / "elsewhere").symlink_to(tmp_path)
    (project / "again.py").symlink_to(project / "a.py")
    snapshot = take_snapshot(project, tmp_path / "copy", most_mb=1, borrow=False)
    own = shutil.copytree(snapshot.folder, tmp_path / "own", symlinks=True)
    assert {str(path.relative_to(own)) for path in own.rglob("*")} == {"a.py", "deep", "deep/b.py", "link.py"}
    assert snapshot.borrowed == ()
    assert all(name in snapshot.note for name in ("big.csv", ".git", "env", "elsewhere", "again.py"))
    (own / "link.py").write_text("changed")
    assert (project / "a.py").read_bytes() == b"x" * 10


def test_removing_a_folder_leaves_alone_what_holds_it(tmp_path):
    tmp_path.chmod(0o755)
    remove_tree(tmp_path / "gone")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_folders_that_closed_themselves_are_removed(tmp_path):
    """As root this only tests that a tree is removed; for others, permissions are in the way."""
    (tmp_path / "s1/a/b").mkdir(parents=True)
    (tmp_path / "s1/a/b/file").touch()
    for name in ("s1/a/b", "s1/a", "s1"):
        (tmp_path / name).chmod(0)
    remove_tree(tmp_path / "s1")
    assert list(tmp_path.iterdir()) == []


def test_folders_in_folders_by_the_thousand_are_removed(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        for _ in range(1200):  # deeper than Python recurses
            os.mkdir("a")  # noqa: PTH102
            os.chdir("a")
    remove_tree(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
