"""The errors of Drovel."""


class DrovelError(Exception):
    """Base of all errors that Drovel raises or records."""


class Unsealed(DrovelError):
    """A drive was run that is not sealed, or extended that is."""


class BadPath(DrovelError, ValueError):
    """A path that cannot be read."""


class BadSchema(DrovelError, ValueError):
    """A schema that cannot be read."""


class Missing(DrovelError, LookupError):
    """An item lacks what a path leads to."""


class Unfit(DrovelError, ValueError):
    """An item does not fit the schema."""


class LateItem(DrovelError):
    """An item of a window that has been passed on already."""


class DroveFault(DrovelError):
    """A stage failed, in a drive that is strict."""
