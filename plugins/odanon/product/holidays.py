"""Public holidays of countries, from the package of that name; it needs no network."""

from collections.abc import Collection
from datetime import date
from functools import cache

from odanon.extras import needed_by


@cache
def public_holidays(country: str | None, year: int) -> Collection[date]:
    """The dates of a year; none without a country. `FR` names one, `DE-BY` a part of one."""
    if country is None:
        return frozenset()
    with needed_by("calendar.country"):
        import holidays
    name, _, part = country.partition("-")
    try:
        return frozenset(holidays.country_holidays(name, subdiv=part or None, years=year))
    except NotImplementedError:
        raise ValueError(f"the package holidays knows no {country}; list the dates under calendar.holidays") from None
