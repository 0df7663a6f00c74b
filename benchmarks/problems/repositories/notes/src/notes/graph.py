"""Links between notes."""

from notes.store import Store


class LinkGraph:
    """Which notes a store's notes link to."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def backlinks(self, slug: str) -> list[str]:
        """Return the slugs of the notes that link to this one; raise MissingNote if there is none."""
        target = self.store.get(slug)
        return [note.slug for note in self.store if target.slug in note.links()]

    def broken(self) -> dict[str, list[str]]:
        """Return the links to notes that do not exist, by the slug of the note that has them."""
        found = {note.slug: [link for link in note.links() if link not in self.store] for note in self.store}
        return {slug: links for slug, links in found.items() if links}

    def orphans(self) -> list[str]:
        """Return the slugs of the notes that no other note links to."""
        return [note.slug for note in self.store if set(self.backlinks(note.slug)) <= {note.slug}]
