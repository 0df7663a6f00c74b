"""Queries such as `tag:garden -draft oak`."""

from dataclasses import dataclass

from notes.note import Note
from notes.store import Store


@dataclass(frozen=True)
class Term:
    """One condition on a note."""

    word: str
    is_tag: bool = False
    negated: bool = False

    def matches(self, note: Note) -> bool:
        """Whether a note fulfils it; words are found in title and text, whatever their case."""
        found = self.word in note.tags if self.is_tag else self.word in f"{note.title} {note.text}".lower()
        return found != self.negated


def parse_query(text: str) -> list[Term]:
    """Return the conditions of a query; all of them have to be met."""
    terms = []
    for part in text.lower().split():
        bare = part.removeprefix("-")
        word = bare.removeprefix("tag:")
        terms.append(Term(word, is_tag=word != bare, negated=bare != part))
    return terms


class Search:
    """Finds notes in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, query: str) -> list[Note]:
        """Return the notes that meet all conditions, those with one of the words in the title first."""
        terms = parse_query(query)
        found = [note for note in self.store if all(term.matches(note) for term in terms)]
        words = [term.word for term in terms if not (term.is_tag or term.negated)]
        return sorted(found, key=lambda note: not any(word in note.title.lower() for word in words))
