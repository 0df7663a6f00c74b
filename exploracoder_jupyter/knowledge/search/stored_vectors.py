"""A file of vectors with numbers, for collections too large to embed or to load for each search.

Below some tens of thousands of rows it is flat, which is exact. Above, it has inverted lists of vectors rounded to
8 bits (`IVF,SQ8`), which FAISS maps into memory, so that opening it reads next to nothing and processes share it; the
caller ranks the nearest again by the exact scores. The file is replaced as a whole, never changed in place.

Where FAISS cannot be loaded, another file holds rounded vectors, all of which numpy scans.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.knowledge.search.faiss_library import load_faiss

LISTS_FROM = 30_000
"""Number of rows from which the index has inverted lists."""
_TRAINING_ROWS = 40
"""Rows for each list from which the lists are made."""
_SEED = 1234
_PROBED_SHARE = 24
"""One of so many lists is searched."""
_LEAST_PROBED = 24
_END = b"end of stored vectors"
"""Ends the file: a file that was cut off must not be mapped, because reading beyond its end would kill the process."""

Ids = NDArray[np.int64]
Rows = NDArray[np.float32]


class StoredVectors:
    """An opened file."""

    def __init__(self, index: Any = None, ids: Ids | None = None, rounded: NDArray[np.float16] | None = None) -> None:
        self._index, self._ids, self._rounded = index, ids, rounded

    @classmethod
    def open(cls, path: Path) -> StoredVectors | None:
        """Open the file; None if there is none, or it is damaged. `path` has no suffix."""
        faiss = load_faiss()
        try:
            if faiss is None:
                ids, rounded = _read_numpy(path)
                return cls(ids=ids, rounded=rounded)
            index = _read(faiss, _faiss_path(path), mapped=True)
        except (OSError, ValueError, KeyError, RuntimeError, EOFError):
            return None
        if hasattr(index, "nprobe"):
            index.nprobe = _probed(index.nlist)
        return cls(index)

    def __len__(self) -> int:
        return len(self._ids) if self._ids is not None else int(self._index.ntotal)

    def ids(self) -> list[int]:
        """Return the numbers of all rows, in no order."""
        if self._ids is not None:
            return [int(number) for number in self._ids]
        faiss = load_faiss()
        assert faiss is not None  # it opened the index
        if hasattr(self._index, "id_map"):
            return [int(number) for number in faiss.vector_to_array(self._index.id_map)]
        lists = self._index.invlists
        found: list[int] = []
        for number in range(lists.nlist):
            size = lists.list_size(number)
            if size:
                found += faiss.rev_swig_ptr(lists.get_ids(number), size).tolist()
        return found

    def nearest(self, vector: Rows, most: int) -> tuple[Ids, Rows]:
        """Return the numbers and the approximate cosines of the `most` nearest rows, nearest first."""
        most = min(most, len(self))
        if most <= 0 or not vector.any():
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if self._rounded is None or self._ids is None:
            if self._index.d != len(vector):
                return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
            scores, ids = self._index.search(np.ascontiguousarray(vector[None, :], dtype=np.float32), most)
            found = ids[0] >= 0  # fewer are found if the lists that were searched have fewer rows
            return ids[0][found], scores[0][found]
        products = _products(self._rounded, vector)
        rows = np.argpartition(-products, most - 1)[:most]
        rows = rows[np.argsort(-products[rows], kind="stable")]
        return self._ids[rows], products[rows]


def write_vectors(path: Path, ids: Sequence[int], vectors: Rows) -> None:
    """Replace the file by one with these rows, which are normalized. Raises OSError if it cannot be written."""
    numbers = np.asarray(ids, dtype=np.int64)
    faiss = load_faiss()
    if faiss is None:
        _write_numpy(path, numbers, vectors.astype(np.float16))
        return
    size, dimensions = vectors.shape
    if size < LISTS_FROM:
        index = faiss.index_factory(dimensions, "IDMap2,Flat", faiss.METRIC_INNER_PRODUCT)
    else:
        lists = _best_lists(size)
        index = faiss.index_factory(dimensions, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
        some = np.random.default_rng(_SEED).choice(size, min(size, _TRAINING_ROWS * lists), replace=False)
        index.train(np.ascontiguousarray(vectors[np.sort(some)]))
    index.add_with_ids(vectors, numbers)
    _write_faiss(faiss, path, index)


def change_vectors(path: Path, removed: Sequence[int], ids: Sequence[int], vectors: Rows) -> bool:
    """Remove rows from the file and add others. Returns False if it has to be written anew: it is missing or damaged,
    or its lists no longer suit its size. Raises OSError if it cannot be written.
    """
    faiss = load_faiss()
    numbers, gone = np.asarray(ids, dtype=np.int64), np.asarray([*removed, *ids], dtype=np.int64)
    try:
        if faiss is None:
            old_ids, old = _read_numpy(path)
            kept = ~np.isin(old_ids, gone)
            old_ids, old = old_ids[kept], old[kept]
        else:
            index = _read(faiss, _faiss_path(path), mapped=False)
    except (OSError, ValueError, KeyError, RuntimeError, EOFError):
        return False
    if faiss is None:
        added = vectors.astype(np.float16).reshape(len(ids), -1) if len(ids) else old[:0]
        _write_numpy(path, np.concatenate([old_ids, numbers]), np.concatenate([old, added]))
        return True
    index.remove_ids(gone)
    total, lists = index.ntotal + len(ids), getattr(index, "nlist", 0)
    suits = total < LISTS_FROM if not lists else total >= LISTS_FROM and 0.4 < lists / _best_lists(total) < 2.5
    if not suits or (len(ids) and index.d != vectors.shape[1]):
        return False
    if len(ids):
        index.add_with_ids(np.ascontiguousarray(vectors, dtype=np.float32), numbers)
    _write_faiss(faiss, path, index)
    return True


def _best_lists(size: int) -> int:
    return int(2 ** round(math.log2(4 * math.sqrt(size))))


def _probed(lists: int) -> int:
    return max(_LEAST_PROBED, lists // _PROBED_SHARE)


def _products(rounded: NDArray[np.float16], vector: Rows, rows: int = 20_000) -> Rows:
    parts = [rounded[at : at + rows].astype(np.float32) @ vector for at in range(0, len(rounded), rows)]
    return np.concatenate(parts).astype(np.float32)


def _faiss_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.faiss")


def _numpy_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.npz")


def _read(faiss: Any, path: Path, *, mapped: bool) -> Any:
    with path.open("rb") as file:
        file.seek(-len(_END), io.SEEK_END)
        if file.read() != _END:
            raise ValueError("the file was cut off")
    return faiss.read_index(str(path), faiss.IO_FLAG_MMAP if mapped else 0)


def _write_faiss(faiss: Any, path: Path, index: Any) -> None:
    write_atomic(_faiss_path(path), faiss.serialize_index(index).tobytes() + _END, mode=0o600)


def _read_numpy(path: Path) -> tuple[Ids, NDArray[np.float16]]:
    body = _numpy_path(path).read_bytes()
    if not body.endswith(_END):
        raise ValueError("the file was cut off")
    with np.load(io.BytesIO(body.removesuffix(_END)), allow_pickle=False) as arrays:
        return arrays["ids"], arrays["vectors"]


def _write_numpy(path: Path, ids: Ids, rounded: NDArray[np.float16]) -> None:
    body = io.BytesIO()
    np.savez(body, ids=ids, vectors=rounded)
    write_atomic(_numpy_path(path), body.getvalue() + _END, mode=0o600)
