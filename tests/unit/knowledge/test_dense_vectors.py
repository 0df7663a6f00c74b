"""Dense vectors: FAISS and numpy give the same, and a file of vectors survives changes and damage."""

import sys
from itertools import pairwise

import anyio
import numpy as np
import pytest

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.search import faiss_library, stored_vectors
from exploracoder_jupyter.knowledge.search import vectors as dense_index
from exploracoder_jupyter.knowledge.search.api_index import ApiIndex
from exploracoder_jupyter.knowledge.search.stored_vectors import StoredVectors, change_vectors, write_vectors
from exploracoder_jupyter.knowledge.search.vectors import DenseIndex, normalize_rows

WITH, WITHOUT = "FAISS", "numpy"
MODULES = (dense_index, stored_vectors)


@pytest.fixture(params=[WITH, WITHOUT])
def library(request, monkeypatch):
    if request.param == WITHOUT:
        for module in MODULES:
            monkeypatch.setattr(module, "load_faiss", lambda: None)
    return request.param


def rows(count, dimensions=16, seed=0):
    # a few directions with noise, as texts have
    random = np.random.default_rng(seed)
    centres = random.normal(size=(20, dimensions))
    noise = 0.4 * random.normal(size=(count, dimensions))
    return normalize_rows((centres[random.integers(20, size=count)] + noise).astype(np.float32))


def test_scores_are_the_nearest_cosines(library):
    vectors = rows(500)
    scores = DenseIndex(vectors).scores(vectors[7], most=10)
    cosines = vectors @ vectors[7]
    nearest = np.argsort(-cosines)[:10]
    assert set(np.flatnonzero(scores)) == set(nearest)
    assert scores[nearest] == pytest.approx(cosines[nearest], abs=1e-5)


@pytest.mark.parametrize("vector", [np.zeros(16, np.float32), np.ones(3, np.float32)])
def test_unsuitable_vectors_score_nothing(library, vector):
    assert not DenseIndex(rows(5)).scores(vector, most=3).any()
    assert not DenseIndex(np.zeros((0, 1), np.float32)).scores(np.ones(1, np.float32), most=3).size


def test_a_library_is_ranked_as_with_numpy(monkeypatch):
    words = (
        "sort",
        "join",
        "split",
        "read",
        "write",
        "table",
        "row",
        "column",
        "graph",
        "path",
        "node",
        "edge",
        "colour",
        "picture",
        "date",
        "time",
    )
    apis = [
        ApiDoc(f"shop.{one}_{other}", "function", "(x)", f"{one.title()} the {other} of a {third}.", "shop", "1")
        for one in words
        for other, third in pairwise(words)
        if one != other
    ]
    index = ApiIndex.build(apis)

    def ranks():
        queries = ("join two tables", "average colour of a picture", "shortest path between nodes", "sort by date")
        return [[found.api.path for found in anyio.run(index.search, query, 20)] for query in queries]

    with_faiss = ranks()
    monkeypatch.setattr(dense_index, "load_faiss", lambda: None)
    assert ranks() == with_faiss


def test_a_missing_library_is_said_once(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "faiss", None)
    faiss_library.load_faiss.cache_clear()
    try:
        assert faiss_library.load_faiss() is faiss_library.load_faiss() is None
        assert len(caplog.records) == 1
        assert "faiss-cpu" in caplog.text
    finally:
        faiss_library.load_faiss.cache_clear()


def test_stored_rows_are_found_by_number(library, tmp_path):
    vectors = rows(50)
    write_vectors(tmp_path / "v", range(100, 150), vectors)
    opened = StoredVectors.open(tmp_path / "v")
    ids, scores = opened.nearest(vectors[3], 5)
    assert (len(opened), ids[0]) == (50, 103)
    assert scores[0] == pytest.approx(1, abs=0.01)
    assert sorted(opened.ids()) == [*range(100, 150)]
    assert len(opened.nearest(vectors[3], 500)[0]) == 50
    assert not opened.nearest(np.zeros(16, np.float32), 5)[0].size


def test_stored_rows_are_removed_and_added(library, tmp_path):
    vectors = rows(60)
    write_vectors(tmp_path / "v", range(50), vectors[:50])
    assert change_vectors(tmp_path / "v", [3, 4, 999], [*range(50, 60), 5], np.vstack([vectors[50:], vectors[:1]]))
    opened = StoredVectors.open(tmp_path / "v")
    assert sorted(opened.ids()) == sorted({*range(60)} - {3, 4})
    assert opened.nearest(vectors[55], 1)[0].tolist() == [55]
    assert {*opened.nearest(vectors[0], 2)[0].tolist()} == {0, 5}
    assert change_vectors(tmp_path / "v", [0], [], np.zeros((0, 1), np.float32))
    assert 0 not in StoredVectors.open(tmp_path / "v").ids()


def test_many_rows_are_found_nearly_always(monkeypatch, tmp_path):
    monkeypatch.setattr(stored_vectors, "LISTS_FROM", 2000)
    vectors = rows(6000)
    write_vectors(tmp_path / "v", range(6000), vectors)
    opened = StoredVectors.open(tmp_path / "v")
    recalls = []
    for query in rows(40, seed=1):
        exact = {*np.argsort(-(vectors @ query))[:20].tolist()}
        ids = opened.nearest(query, 200)[0]
        ranked = ids[np.argsort(-(vectors[ids] @ query))][:20]
        recalls.append(len(exact & {*ranked.tolist()}) / 20)
    assert np.mean(recalls) >= 0.9
    assert sorted(opened.ids()) == [*range(6000)]
    assert change_vectors(tmp_path / "v", [1, 2], [7000], vectors[:1])
    assert len(StoredVectors.open(tmp_path / "v")) == 5999
    assert not change_vectors(tmp_path / "v", range(6000), [], np.zeros((0, 1), np.float32))  # lists for too few


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_file_cut_off_is_not_opened(library, tmp_path, keep):
    write_vectors(tmp_path / "v", range(50), rows(50))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:keep])
    assert StoredVectors.open(tmp_path / "v") is None
    assert not change_vectors(tmp_path / "v", [1], [], np.zeros((0, 1), np.float32))


def test_a_missing_file_is_not_opened(library, tmp_path):
    assert StoredVectors.open(tmp_path / "v") is None


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    write_vectors(tmp_path / "v", range(5), rows(5))

    def fail(*arguments, **more):
        raise OSError("No space left on device")

    monkeypatch.setattr(stored_vectors, "write_atomic", fail)
    with pytest.raises(OSError, match="No space"):
        write_vectors(tmp_path / "v", range(9), rows(9))
    assert len(StoredVectors.open(tmp_path / "v")) == 5
