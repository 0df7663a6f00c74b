"""The errors of Osterly."""


class OsterlyError(Exception):
    """Base of all errors that Osterly raises."""


class Forbidden(OsterlyError):
    """The client's role does not allow it."""


class NoSuchEntry(OsterlyError, LookupError):
    """There is no entry, or shelf, of this name."""


class Conflict(OsterlyError):
    """The entry has been changed since it was fetched."""


class Binned(OsterlyError):
    """The entry is in the bin."""


class CursorExpired(OsterlyError):
    """A page can no longer lead to the next."""


class BatchFull(OsterlyError):
    """A batch takes no more operations."""


class NotReady(OsterlyError):
    """A job is still at work."""


class BadQuery(OsterlyError, ValueError):
    """A query that cannot be read."""


class Throttled(OsterlyError):
    """Too many requests. `ticks` is how long to wait."""

    def __init__(self, ticks: int) -> None:
        super().__init__(f"Too many requests in this tick. Wait with client.wait({ticks}) and try again.")
        self.ticks = ticks
