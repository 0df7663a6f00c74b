"""The errors of Skerries."""


class SkerriesError(Exception):
    """Base of all errors that Skerries raises."""


class UnknownPort(SkerriesError, KeyError):
    """A port that is not on the chart."""

    def __str__(self) -> str:
        return str(self.args[0])


class StaleSurvey(SkerriesError):
    """The chart has changed since the survey."""


class Loop(SkerriesError):
    """What was asked for exists only where no way leads back. `stops` is one that does."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        way = " -> ".join(stops)
        super().__init__(
            f"The chart has a loop: {way}. Survey chart.condensed() instead, where loops are single ports."
        )
        self.stops = stops


class BadQuery(SkerriesError, ValueError):
    """A query or a test that cannot be read."""
