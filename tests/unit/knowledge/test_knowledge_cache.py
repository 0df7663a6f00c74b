"""The cache on disk: shared, lossy, never in the way."""

import os
import sqlite3
import stat

import pytest

from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache


@pytest.fixture
def store(tmp_path):
    return KnowledgeCache(tmp_path)


def test_what_is_kept_is_found_by_later_processes(store, tmp_path):
    store.put("surface", "a", b"one")
    store.put("index", "a", b"two")
    store.put("surface", "a", b"three")
    assert KnowledgeCache(tmp_path).get("surface", "a") == b"three"
    assert KnowledgeCache(tmp_path).get("index", "a") == b"two"
    assert store.get("surface", "b") is None


@pytest.mark.parametrize("before", [False, True])
def test_only_the_owner_can_read_the_files(store, tmp_path, before):
    """Issue 31, item 9: also the file that an earlier release has made."""
    if before:
        store.put("surface", "a", b"one")
        (tmp_path / "knowledge.sqlite").chmod(0o644)
    old = os.umask(0o022)
    try:
        store.put("surface", "a", b"one")
    finally:
        os.umask(old)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_old_surfaces_make_room_for_new_ones(store):
    for n in range(70):
        store.put("surface", str(n), b"x")
    store.put_many("vector", {str(n): b"v" for n in range(70)})
    assert len(store.get_many("surface", map(str, range(70)))) == 60
    assert store.get("surface", "0") is None and store.get("surface", "69") == b"x"
    assert len(store.get_many("vector", map(str, range(70)))) == 70


@pytest.mark.parametrize(
    "damage", [b"this is no database, but it is long enough to be read as one" * 40, b"short", b""]
)
def test_a_corrupt_file_is_replaced(store, tmp_path, damage):
    store.put("surface", "a", b"one")
    for file in tmp_path.iterdir():
        file.unlink()
    (tmp_path / "knowledge.sqlite").write_bytes(damage)
    assert store.get("surface", "a") is None
    store.put("surface", "a", b"two")
    assert store.get("surface", "a") == b"two"


def test_a_file_damaged_inside_is_replaced(store, tmp_path):
    store.put("surface", "a", bytes(200_000))
    path = tmp_path / "knowledge.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    whole = bytearray(path.read_bytes())
    whole[4096:40_000] = b"\xff" * (40_000 - 4096)
    path.write_bytes(whole)
    store.get("surface", "a")
    store.put("surface", "b", b"new")
    assert store.get("surface", "b") == b"new"


def test_another_schema_is_replaced(store, tmp_path):
    with sqlite3.connect(tmp_path / "knowledge.sqlite") as db:
        db.executescript("CREATE TABLE kept (other); PRAGMA user_version = 99")
    db.close()
    store.put("surface", "a", b"one")
    assert store.get("surface", "a") == b"one"


def test_a_folder_that_cannot_be_means_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    store = KnowledgeCache(tmp_path / "file" / "cache")
    store.put("surface", "a", b"one")
    assert store.get("surface", "a") is None


def test_a_file_that_cannot_be_written_is_read(store, tmp_path, monkeypatch):
    store.put("surface", "a", b"one")
    real = sqlite3.connect

    def read_only(path, **more):
        return real(f"file:{path}?mode=ro", uri=True, **more)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    store.put("surface", "a", b"two")
    assert store.get("surface", "a") == b"one"
