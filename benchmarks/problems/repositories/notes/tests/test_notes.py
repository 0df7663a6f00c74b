import pytest
from notes.errors import DuplicateNote, MissingNote
from notes.note import Note
from notes.slugs import slugify
from notes.store import Store


def test_slugs():
    assert slugify("Über  Bäume!") == "uber-baume"


def test_links():
    note = Note("A", "See [[Big Oak]], [[Elm]] and [[big oak]].")
    assert note.links() == ["big-oak", "elm"] and note.slug == "a"


def test_store():
    store = Store()
    oak = store.add(Note("Oak"))
    assert store.get("oak") is oak and list(store) == [oak] and "oak" in store and "elm" not in store
    with pytest.raises(DuplicateNote):
        store.add(Note("OAK"))
    with pytest.raises(MissingNote) as caught:
        store.get("elm")
    assert caught.value.title == "elm"
