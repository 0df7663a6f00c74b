from datetime import UTC, datetime, timedelta

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)

DAY = 24 * 60


def minutes(moment: datetime) -> int:
    """Minutes from the beginning of 2000 to a moment; one without time zone is UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _BEGINNING) // timedelta(minutes=1)


def moment(minutes: int) -> datetime:
    return _BEGINNING + timedelta(minutes=minutes)
