"""The day of every person as a survey asks for it, from 04:00 to 04:00, and the trips of it that a phone would show."""

from datetime import date

import numpy as np
import pandas as pd

from odanon.demand.agendas import HOME, PERSONAL, SHOPPING, STUDY, WORK
from odanon.simulate.city import STUDENT, City, People, Place
from odanon.simulate.plan import DAY_STARTS, plan_day
from odanon.simulate.timeline import local_instant

FOOT, BICYCLE, CAR, PUBLIC = "foot", "bicycle", "car", "public"
SHORTEST_STAY_MIN = 20  # what lasts no longer is a stop on the way

_PURPOSES = {
    Place.HOME: HOME,
    Place.MAIN: WORK,
    Place.SHOP: SHOPPING,
    Place.MARKET: SHOPPING,
    Place.LEISURE: PERSONAL,
    Place.FRIENDS: PERSONAL,
    Place.MEAL: PERSONAL,
    Place.STOP: PERSONAL,
}


def day_trips(city: City, people: People, day: date) -> pd.DataFrame:
    """All trips of one chunk of people: who (by number), seq, leave_min, arrive_min, purpose, place, mode, distance_m, and both ends in km.

    Minutes count from local midnight and go on after the next one; the mode is the one whose usual speed is nearest.
    """
    all_ = plan_day(city, people, day)
    rows = all_.take(np.flatnonzero(all_.moving))
    opens = local_instant(day, city.zone, DAY_STARTS)
    distance = np.hypot(rows.dx, rows.dy)
    length = distance * (1 + 8 / 3 * rows.bow**2)
    return pd.DataFrame(
        {
            "who": rows.person,
            "seq": pd.Series(rows.person).groupby(rows.person).cumcount(),
            "leave_min": DAY_STARTS * 60 + (rows.start - opens) // 60,
            "arrive_min": DAY_STARTS * 60 + (rows.end - opens) // 60,
            "purpose": _purposes(people, rows.person, rows.place),
            "place": rows.place,
            "mode": _modes(distance, length / (rows.end - rows.start) * 3600),
            "distance_m": (1000 * length).round(),
            "o_x": rows.x,
            "o_y": rows.y,
            "d_x": rows.x + rows.dx,
            "d_y": rows.y + rows.dy,
        }
    )


def seen_trips(trips: pd.DataFrame) -> pd.DataFrame:
    """The trips between stays that last, with the numbers that they have then: what phones show of them.

    A way over short stops is one trip, from where it set out; its mode is that of its longest part.
    """
    trips = trips.reset_index(drop=True)
    leaves_again = trips["leave_min"].shift(-1).where(trips["who"].eq(trips["who"].shift(-1)), np.inf)
    lasts = leaves_again - trips["arrive_min"] > SHORTEST_STAY_MIN
    way = (lasts.shift(1, fill_value=True) | trips["who"].ne(trips["who"].shift(1))).cumsum()
    longest = trips.loc[trips.groupby(way)["distance_m"].idxmax().to_numpy()].set_index(way.unique())
    parts = trips.groupby(way)
    seen = parts.last()
    for name in ("leave_min", "o_x", "o_y"):
        seen[name] = parts[name].first()
    for name in ("mode", "distance_m"):
        seen[name] = longest[name]
    # Somebody who comes back to where the way began has not been anywhere that shows.
    seen = seen[np.hypot(seen["d_x"] - seen["o_x"], seen["d_y"] - seen["o_y"]) > 1e-9].reset_index(drop=True)
    return seen.assign(seq=seen.groupby("who").cumcount())


def _purposes(people: People, who: np.ndarray, place: np.ndarray) -> np.ndarray:
    names = np.array([_PURPOSES[each] for each in Place], dtype=object)[place]
    names[(place == Place.MAIN) & (people.occupation[who] == STUDENT)] = STUDY
    return names


def _modes(distance: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """By distance and speed, as travel times were made (`plan`)."""
    far_car = np.minimum(20 + 1.8 * distance, 70)
    near = np.select([speed < _between(4.8, 14), speed < _between(14, 18)], [FOOT, BICYCLE], CAR)
    far = np.select([speed < _between(14, 19), speed < _between(19, far_car)], [BICYCLE, PUBLIC], CAR)
    return np.select([distance < 0.8, distance < 3], [np.full(len(speed), FOOT), near], far).astype(object)


def _between(slower: float, faster: float | np.ndarray) -> float | np.ndarray:
    return np.sqrt(slower * faster)
