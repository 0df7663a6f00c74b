"""What can go wrong."""


class NoteError(Exception):
    """Base of all errors."""


class MissingNote(NoteError):
    """No note of this title."""

    def __init__(self, title: str) -> None:
        super().__init__(f"no note {title!r}")
        self.title = title


class DuplicateNote(NoteError):
    """A title that is used already."""
