import pytest
from notes.errors import MissingNote
from notes.graph import LinkGraph
from notes.note import Note
from notes.store import Store


@pytest.fixture
def graph():
    store = Store()
    for note in (Note("Oak", "[[Elm]] [[Oak]]"), Note("Elm", "[[Fir]]"), Note("Ash", "[[Elm]]")):
        store.add(note)
    return LinkGraph(store)


def test_backlinks(graph):
    assert graph.backlinks("elm") == ["oak", "ash"]
    with pytest.raises(MissingNote):
        graph.backlinks("fir")


def test_broken(graph):
    assert graph.broken() == {"elm": ["fir"]}


def test_orphans(graph):
    assert graph.orphans() == ["oak", "ash"]
