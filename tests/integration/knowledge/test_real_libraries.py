"""Knowledge of real libraries, read by the real inspector in its confinement."""

import tempfile

import jedi
import pytest
from parso.cache import parser_cache

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.extraction import library_walk
from exploracoder_jupyter.knowledge.task_libraries import TaskLibraries


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
async def networkx(cache):
    return await TaskLibraries.open(["networkx"], inspect=local_inspector(Sandbox()), cache=cache)


async def test_a_real_library_is_read_whole(networkx):
    (row,) = networkx.report()
    assert row.apis > 1000 and not row.cached
    assert row.with_docs > 1200 and row.with_signature > 0.9 * row.apis and row.with_examples > 0.5 * row.apis
    assert networkx.overview().text.startswith("# networkx")
    assert len(networkx.overview().examples) > 10


async def test_apis_have_their_public_paths(networkx):
    shortest = networkx.lookup("networkx.algorithms.shortest_paths.generic.shortest_path")
    assert shortest is networkx.lookup("networkx.shortest_path")
    assert shortest.signature.startswith("(G, source=None, target=None")
    assert networkx.lookup("networkx.DiGraph.add_edge").signature.startswith("(u_of_edge, v_of_edge")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("find the shortest path between two nodes", "shortest_path"),
        ("minimum spanning tree of a weighted graph", "minimum_spanning_tree"),
        ("find communities of nodes with the louvain algorithm", "louvain_communities"),
        ("importance of pages by links: pagerank", "pagerank"),
        ("add several edges from a list", "add_edges_from"),
    ],
)
async def test_search_finds_what_a_person_would_use(networkx, query, name):
    assert name in [found.api.name for found in await networkx.search(query, 5)]


async def test_a_second_opening_comes_from_the_cache(networkx, cache):
    again = await TaskLibraries.open(["networkx"], inspect=local_inspector(Sandbox()), cache=cache)
    assert again.report()[0].cached
    query = "connected components"
    assert await again.search(query, 10) == await networkx.search(query, 10)


async def test_names_that_cannot_be_opened(cache, tmp_path):
    with pytest.raises(UsageError, match=r"'netwrkx' is not installed.*'networkx'"):
        await TaskLibraries.open(["netwrkx"], inspect=local_inspector(Sandbox()), cache=cache)
    (tmp_path / "leaves_at_once.py").write_text("import os; os._exit(3)")
    with pytest.raises(MissingRequirement, match="'leaves_at_once' is installed but cannot be imported"):
        await TaskLibraries.open(["leaves_at_once"], inspect=local_inspector(Sandbox(), workdir=tmp_path), cache=cache)


def test_reading_stubs_leaves_no_files(tmp_path, monkeypatch):
    # an engine is killed rather than ended, so a folder that waits for the end of the process stays
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert library_walk.stub_signatures(["math.hypot"], module="math")
    assert not [*tmp_path.iterdir()]


def test_stubs_give_signatures_of_compiled_functions():
    found = library_walk.stub_signatures(["datetime.datetime.strptime", "datetime.datetime.nothing"], module="datetime")
    assert list(found) == ["datetime.datetime.strptime"]
    assert found["datetime.datetime.strptime"].startswith("(date_string: str, format: str")


def test_stubs_are_read_during_writes_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(jedi.settings, "cache_directory", str(tmp_path))
    parser_cache.clear()
    jedi.Script("import fractions\nfractions.Fraction(").get_signatures()
    written = list(tmp_path.rglob("*.pkl"))
    for path in written:
        path.write_bytes(b"")
    parser_cache.clear()
    assert written and library_walk.stub_signatures(["fractions.Fraction"], module="fractions")
