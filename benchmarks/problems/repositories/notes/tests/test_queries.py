from notes.note import Note
from notes.queries import Search, Term, parse_query
from notes.store import Store


def test_parse():
    assert parse_query("tag:Garden -draft -tag:old oak") == [
        Term("garden", is_tag=True),
        Term("draft", negated=True),
        Term("old", is_tag=True, negated=True),
        Term("oak"),
    ]


def test_find():
    store = Store()
    for note in (Note("Elm", "Near the oak.", {"garden"}), Note("Oak", "Tall.", {"garden"}), Note("Fir", "oak draft")):
        store.add(note)
    search = Search(store)
    assert [note.title for note in search.find("oak -draft")] == ["Oak", "Elm"]
    assert [note.title for note in search.find("tag:garden")] == ["Elm", "Oak"]
    assert search.find("-tag:garden oak") == [store.get("fir")]
