"""The errors of Quernal."""


class QuernalError(Exception):
    """Base of all errors that Quernal raises."""


class NoSuchStrip(QuernalError, KeyError):
    """A name that is not a strip of the sheaf."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        super().__init__(f"There is no strip {name!r}. The strips are {', '.join(names) or 'none'}.")

    def __str__(self) -> str:
        return str(self.args[0])


class UnitClash(QuernalError, ValueError):
    """Two quantities whose units differ."""


class Unsettled(QuernalError, AttributeError):
    """Data was read from a draft, which has none yet."""


class BadCondition(QuernalError, ValueError):
    """A condition or formula that cannot be read."""
