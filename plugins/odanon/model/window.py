"""Local days as instants, right on days of 23 and 25 hours."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo


def day_window(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The UTC instants at which a local day starts and ends."""
    start = datetime.combine(day, time(), zone)
    end = datetime.combine(day + timedelta(days=1), time(), zone)
    return start.astimezone(UTC), end.astimezone(UTC)
