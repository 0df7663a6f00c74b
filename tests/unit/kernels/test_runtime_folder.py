"""The folders of runs: private, removed in the end, and nothing of others is touched, whatever names they take."""

import os
import stat
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from exploracoder_jupyter.core.platforms.posix import open_run_folder, remove_tree, try_lock

OTHER = 65534
OLD = time.time() - 3600


@pytest.fixture
def temporary(monkeypatch):
    """An empty folder for temporary files that everybody can write, with a short path."""
    with tempfile.TemporaryDirectory(prefix="xt-", dir="/tmp") as name:
        folder = Path(name).resolve()
        folder.chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture
def victim(tmp_path):
    """A folder of this user with a file and what a run's folder has."""
    folder = tmp_path / "victim"
    (folder / "deep").mkdir(parents=True)
    for place in (folder, folder / "deep"):
        place.chmod(0o755)
    for name in ("letter", "lock", "deep/lock", "deep/letter"):
        (folder / name).write_text("mine")
        os.utime(folder / name, (OLD, OLD))
    return folder


def content(folder):
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}


def own_folder():
    """The folder of this user's runs, which is not removed with the last of them as long as something is in it."""
    with open_run_folder() as run:
        pass
    assert not run.parent.exists()
    run.parent.mkdir(mode=0o700, exist_ok=True)
    return run.parent


def put_in_the_way(path, victim, lock):
    """A decoy of another user under this name, with all that removal could stumble on."""
    path.mkdir()
    (path / "link").symlink_to(victim)
    os.mkfifo(path / "fifo")
    os.utime(path / "fifo", (OLD, OLD))
    (path / "lock").symlink_to({"fifo": path / "fifo", "file": victim / "lock"}[lock])
    if os.getuid() == 0:
        os.chown(path, OTHER, OTHER)
        path.chmod(0o700)
    else:
        path.chmod(0o777)


@pytest.mark.parametrize("lock", ["fifo", "file"])
@pytest.mark.parametrize("name", ["xplora-{uid}", "xplora-{uid}-1", "xplora-abcdefgh"])
def test_a_decoy_of_another_user_is_left_alone(temporary, victim, name, lock):
    """Issue 31, security 3: such a FIFO hung every run, and what had such a name was removed."""
    decoy = temporary / name.format(uid=os.geteuid())
    put_in_the_way(decoy, victim, lock)
    before = content(decoy), content(victim)
    with open_run_folder() as run:
        assert decoy not in run.parents
        modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (run.parent, run)]
    assert (content(decoy), content(victim)) == before
    assert modes == [0o700, 0o700]


@pytest.mark.parametrize("name", ["xplora-{uid}", "xplora-{uid}-1", "xplora-abcdefgh"])
def test_a_link_to_a_users_folder_is_ignored(temporary, victim, name):
    before = content(victim)
    (temporary / name.format(uid=os.geteuid())).symlink_to(victim)
    with open_run_folder() as run:
        assert not run.resolve().is_relative_to(victim)
    assert content(victim) == before


def test_a_file_with_the_folders_name_hinders_nobody(temporary):
    (temporary / f"xplora-{os.geteuid()}").write_text("")
    with open_run_folder() as first, open_run_folder() as second:
        assert first.parent == second.parent  # so that what a killed run leaves is found


@pytest.mark.parametrize("lock", ["fifo", "link", "folder"])
def test_a_lock_that_is_none_leaves_its_folder(temporary, victim, lock):
    odd = own_folder() / "odd"
    odd.mkdir()
    make = {"fifo": os.mkfifo, "folder": os.mkdir, "link": lambda path: path.symlink_to(victim / "lock")}
    make[lock](odd / "lock")
    if lock != "link":
        os.utime(odd / "lock", (OLD, OLD))
    with open_run_folder():
        pass
    assert odd.exists()
    assert (victim / "lock").exists()


def test_folders_of_killed_runs_alone_are_removed(temporary, victim):
    own = own_folder()
    folders = {name: own / name for name in ("killed", "active", "young", "linked")}
    folders.pop("linked").symlink_to(victim)
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "lock").touch()
        (folder / "out").symlink_to(victim)
        if name != "young":
            os.utime(folder / "lock", (OLD, OLD))
    with (folders["active"] / "lock").open() as lock:
        assert try_lock(lock.fileno())
        with open_run_folder():
            pass
    assert {name for name, folder in folders.items() if folder.exists()} == {"active", "young"}
    assert (victim / "deep/letter").exists()


def test_a_folder_swapped_meanwhile_empties_no_other(tmp_path, victim):
    """A process that is still there replaces folders by links while they are removed."""
    ended, before = threading.Event(), content(victim)
    tree, draft = tmp_path / "tree", tmp_path / "draft"

    def swap():
        while not ended.is_set():
            for path in (tree / "a", tree / "a/b"):
                with suppress(OSError):
                    path.rename(tmp_path / "aside")
                    path.symlink_to(victim)
                    path.unlink()
                    (tmp_path / "aside").rename(path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(40):
            (draft / "a/b/deep").mkdir(parents=True)
            (draft / "a/b/deep/letter").touch()
            for name in ("a/b/deep", "a/b", "a"):
                (draft / name).chmod(0)
            draft.rename(tree)
            while tree.exists():
                remove_tree(tree)
            remove_tree(tmp_path / "aside")
    finally:
        ended.set()
        thread.join()
    assert content(victim) == before


def test_simultaneous_runs_all_have_a_folder(temporary):
    """The last one removes the folder that they share."""

    def begin(_):
        for _ in range(20):
            with open_run_folder() as run:
                assert (run / "lock").exists()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(begin, range(4)))
    assert list(temporary.iterdir()) == []


def test_folders_that_moved_up_leave_nothing(tmp_path):
    tree = tmp_path / "tree"
    for number in range(3):
        (tree / f"a{number}/b/c").mkdir(parents=True)
        (tree / f"a{number}/b/file").touch()
        (tree / f"a{number}/b/c").chmod(0)
        (tree / f"a{number}/b").chmod(0)
    remove_tree(tree)
    assert list(Path(tmp_path).iterdir()) == []
