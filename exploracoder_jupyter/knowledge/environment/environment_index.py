"""Keeps the store of one environment up to date, incrementally, and says how complete it is.

A distribution is read again only if its state, and then the digest of its record, changed. Each is stored as soon as it
is read, so an interrupted update loses at most the one at hand, and the next update goes on from there. Two processes
do not read at once: the second answers from what there is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.knowledge.environment.environment_store import EnvironmentStore, StoredPackage
from exploracoder_jupyter.knowledge.environment.installed_packages import (
    InstalledPackage,
    changes_in_place,
    list_packages,
    record_digest,
)
from exploracoder_jupyter.knowledge.environment.package_reading import read_packages
from exploracoder_jupyter.knowledge.environment.search_fields import FORMAT, dense_text
from exploracoder_jupyter.knowledge.search import vectors as word_embedder
from exploracoder_jupyter.knowledge.search.stored_vectors import StoredVectors, change_vectors, write_vectors

Advance = Callable[[str, int, int], None]
"""Receives what is being done, and how many of how many packages are done."""

READING = "Reading installed packages"
INDEXING = "Indexing what was read"
_OWNER_FILE = "environment.txt"


@dataclass(slots=True)
class EnvironmentIndex:
    """What is installed in one environment, as far as it was read."""

    store: EnvironmentStore
    vectors: StoredVectors | None
    installed: int
    """How many packages there are."""
    read: int
    """How many of them can be searched."""
    changed: int = 0
    """How many were read just now."""
    notices: list[str] = field(default_factory=list)
    """What is missing, one sentence each."""


@contextmanager
def open_environment(
    cache: Path, folders: Sequence[str], *, advance: Advance = lambda what, done, total: None
) -> Iterator[EnvironmentIndex]:
    """Bring the index of the packages in these folders of an import path up to date, and open it.

    An interrupt (KeyboardInterrupt) ends only the reading. `cache`: the folder below which each environment has one.
    Raises MissingRequirement if this Python's SQLite has no full-text search.
    """
    _require_text_search()
    packages = list_packages(folders)
    places = sorted({str(package.info.parent) for package in packages})
    name = hashlib.sha256("\n".join([str(FORMAT), *places]).encode(errors="surrogateescape")).hexdigest()[:20]
    folder, notices = cache / name, list[str]()
    with tempfile.TemporaryDirectory(prefix="environment-") as temporary:
        if not _prepare(folder, places):
            store = EnvironmentStore(folder / "index.sqlite")
            if not store.packages():
                folder = Path(temporary)
            notices.append(f"The folder {cache} cannot be written, so what was read is not kept.")
        store = EnvironmentStore(folder / "index.sqlite")
        with _only_builder(folder) as alone:
            if not alone:
                notices.append(
                    "Another process reads the packages of this environment; this is what it has read so far."
                )
                changed = 0
            else:
                changed = _update(store, folder, packages, advance, notices)
        yield _opened(store, folder, packages, changed, notices)


def _require_text_search() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError as error:
            raise MissingRequirement(
                "The SQLite library of this Python has no full-text search (FTS5).",
                remedy="Run the search with another build of Python.",
            ) from error


def _prepare(folder: Path, places: Sequence[str]) -> bool:
    """Create the folder and note which environment it is of. Returns whether it can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        note = folder / _OWNER_FILE
        if not note.exists():
            note.write_text("\n".join(places), encoding="utf-8", errors="surrogateescape")
            _remove_abandoned(folder.parent)
        return os.access(folder, os.W_OK) and EnvironmentStore(folder / "index.sqlite").is_writable()
    except OSError:
        return False


def _remove_abandoned(cache: Path) -> None:
    """Delete the folders of environments that no longer exist."""
    for note in cache.glob(f"*/{_OWNER_FILE}"):
        with suppress(OSError):
            places = note.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            if places and not any(map(os.path.isdir, places)):
                shutil.rmtree(note.parent, ignore_errors=True)


@contextmanager
def _only_builder(folder: Path) -> Iterator[bool]:
    try:
        file = os.open(folder / "build.lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        yield True  # a folder that cannot be written is read by nobody else
        return
    try:
        try:
            alone = system.try_lock(file)
        except OSError:
            alone = True  # no locks here: the transactions of the store suffice
        yield alone
    finally:
        os.close(file)


def _opened(
    store: EnvironmentStore, folder: Path, packages: Sequence[InstalledPackage], changed: int, notices: list[str]
) -> EnvironmentIndex:
    stored = store.packages()
    keys = {package.key for package in packages}
    read = [one for key, one in stored.items() if key in keys]
    if len(read) < len(keys):
        notices.append(f"{len(read):,} of {plural(len(keys), 'package')} read; the next search reads the rest.")
    broken = sorted(one.name for one in read if one.problem)
    if broken:
        notices.append(f"{', '.join(broken[:5])} could not be read: {stored_problem(read, broken[0])}.")
    return EnvironmentIndex(store, StoredVectors.open(folder / "vectors"), len(keys), len(read), changed, notices)


def stored_problem(packages: Sequence[StoredPackage], name: str) -> str:
    """Return why a package could not be read, without the period."""
    return next((one.problem.rstrip(".") for one in packages if one.name == name), "")


def _update(
    store: EnvironmentStore,
    folder: Path,
    packages: Sequence[InstalledPackage],
    advance: Advance,
    notices: list[str],
) -> int:
    """Read what changed, and return how many packages that were."""
    store.drop_damaged()
    stored = store.packages()
    installed = {package.key: package for package in packages}
    if gone := [key for key in stored if key not in installed]:
        store.remove(gone)
    todo, restamped = [], dict[str, str]()
    for key, package in installed.items():
        known = stored.get(key)
        if known and known.stamp == package.stamp and not changes_in_place(package):
            continue
        if known and known.digest and known.digest == record_digest(package):
            restamped[key] = package.stamp
        else:
            todo.append(package)
    if restamped := {key: stamp for key, stamp in restamped.items() if stored[key].stamp != stamp}:
        store.restamp(restamped)
    done = 0
    try:
        if todo:
            ready = len(installed) - len(todo)
            advance(READING, ready, len(installed))
            # The large ones last would leave one process working alone.
            reading = read_packages(sorted(todo, key=_record_size, reverse=True))
            try:
                for package, content in reading:
                    done += store.replace(package.key, package.stamp, content)
                    advance(READING, ready + done, len(installed))
            finally:
                reading.close()  # type: ignore[attr-defined]
        _embed(store, folder, removed=bool(gone), advance=advance)
    except KeyboardInterrupt:
        notices.append("The reading was interrupted.")
    return done


def _record_size(package: InstalledPackage) -> int:
    try:
        return (package.info / "RECORD").stat().st_size
    except OSError:
        return 0


def _embed(store: EnvironmentStore, folder: Path, *, removed: bool, advance: Advance) -> None:
    """Add the rows that have no vectors yet to the file of vectors, and remove those that are gone."""
    path, stored = folder / "vectors", store.packages()
    existing = StoredVectors.open(path)
    new = [one for one in stored.values() if existing is None or not one.embedded]
    if not new and not removed:
        return
    known = {*store.ids()}
    with suppress(OSError):  # the words of the store suffice
        if existing is None or not change_vectors(path, _stale(existing, known), *_vectors_of(store, new, advance)):
            ids, vectors = _vectors_of(store, [*stored.values()], advance)
            if ids:
                write_vectors(path, ids, vectors)
        store.mark_embedded([one.id for one in new])


def _vectors_of(
    store: EnvironmentStore, packages: Sequence[StoredPackage], advance: Advance
) -> tuple[list[int], NDArray[np.float32]]:
    ids: list[int] = []
    parts: list[NDArray[np.float16]] = []  # rounded until all are there: they are most of the memory
    for done, package in enumerate(packages):
        advance(INDEXING, done, len(packages))
        if rows := store.rows_of(package.id):
            ids += [row.id for row in rows]
            parts.append(np.stack([word_embedder.embed_text(dense_text(row.api)) for row in rows]).astype(np.float16))
    joined = np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float16)
    return ids, joined.astype(np.float32)


def _stale(existing: StoredVectors, known: set[int]) -> list[int]:
    return [number for number in existing.ids() if number not in known]
