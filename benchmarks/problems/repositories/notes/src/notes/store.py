"""All notes."""

from collections.abc import Iterator

from notes.errors import DuplicateNote, MissingNote
from notes.note import Note


class Store:
    """Notes by their slug, in the order in which they were added."""

    def __init__(self) -> None:
        self._notes: dict[str, Note] = {}

    def add(self, note: Note) -> Note:
        """Add a note and return it; raise DuplicateNote if its slug is used."""
        if note.slug in self._notes:
            raise DuplicateNote(note.title)
        self._notes[note.slug] = note
        return note

    def get(self, slug: str) -> Note:
        """Return the note with this slug, or raise MissingNote."""
        try:
            return self._notes[slug]
        except KeyError:
            raise MissingNote(slug) from None

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes.values())

    def __contains__(self, slug: str) -> bool:
        return slug in self._notes
