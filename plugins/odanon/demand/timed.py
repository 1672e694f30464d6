"""Clock times and points for the days of agents, drawn from the seed, so that all files for modellers tell the same days.

The method ends with a time step and a zone for every activity (003 section 5.3). Simulations want more: here a trip sets out at a moment
of its step, all alike likely, and an activity lies at a point of its zone, all alike likely. Arrivals follow from the distance and a
speed of the mode; they are a guess that a simulation replaces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.demand.agendas import HOME, STUDY, WORK
from odanon.demand.draws import nth, words
from odanon.errors import OdanonError
from odanon.geo.crs import AUTO, to_metres, utm_crs

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MODES = {"foot": "walk", "bicycle": "bike", "car": "car", "public": "pt"}
PURPOSES = {"home": "home", "work": "work", "study": "education", "shopping": "shop", "personal": "other"}
NONE = -1  # in place of a time, where a day begins or ends

_KMH = {"walk": 5.0, "bike": 15.0, "car": 30.0, "pt": 20.0}  # along the way, stops and waiting included
_DETOUR = 1.3  # length of a way, as a multiple of the straight line
_DAY_S = 24 * 3600
_SLOTS = {HOME: 0, WORK: 1, STUDY: 2}  # one place each for a person; other activities have one of their own
_PERSON = ["agent", "age", "gender", "occupation", "car", "home_status", "home_zone"]


@dataclass(frozen=True, eq=False)
class Days:
    """Some persons, one a row, and their days, in order.

    `persons`: person (a number from 0 over all copies of all agents), agent, copy, and what is known of the agent. `activities`: person,
    index, purpose and mode (as simulations name them; "" for the first), zone, x, y, and in seconds since midnight: left, when the trip
    there set out, start and end; NONE where there is none.
    """

    persons: pd.DataFrame
    activities: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Travellers:
    """Agents with their days, to be told in clock times and metres.

    `steps` are the clock times at which time steps begin ("07:00"), the last of which ends a day after the first began. Outlines of zones
    (`geometry`) and their points (`lat`, `lon`) are in degrees. A zone without an outline has all its activities at its point.
    """

    activities: pd.DataFrame  # agent, copy, seq, purpose, mode, step, zone
    agents: pd.DataFrame
    zones: pd.DataFrame
    steps: Sequence[str]
    seed: int
    wanted_crs: str = AUTO

    @cached_property
    def crs(self) -> str:
        """The one that was asked for, or the UTM zone."""
        lat, lon = (self.zones[name].to_numpy("float64") for name in ("lat", "lon"))
        return utm_crs(lat, lon) if self.wanted_crs == AUTO else self.wanted_crs

    def parts(self, agents_a_part: int = 50_000) -> Iterator[Days]:
        """All days, some agents at a time, so that memory does not grow with them; how they are cut changes nothing."""
        people = self.agents.sort_values("agent", ignore_index=True)
        copies = people["copies"].to_numpy("int64")
        first_person = np.concatenate([[0], np.cumsum(copies)])
        packed = self.activities.astype(dict.fromkeys(("purpose", "mode", "zone"), "category"))
        rows = packed.iloc[np.lexsort([packed[name] for name in ("seq", "copy", "agent")])]
        of_agent = rows["agent"].to_numpy()
        _check_known(of_agent, people["agent"].to_numpy())
        if not copies.sum():
            raise OdanonError("no agent has a copy, so there are no days to tell; check the census and its weights")
        for first in range(0, len(people), agents_a_part):
            some = people.iloc[first : first + agents_a_part]
            if not some["copies"].sum():
                continue
            since, until = (int(some["agent"].iloc[at]) for at in (0, -1))
            here = slice(*(int(np.searchsorted(of_agent, end)) for end in (since, until + 1)))
            yield self._days(some, rows.iloc[here], int(first_person[first]))

    def _days(self, agents: pd.DataFrame, rows: pd.DataFrame, first_person: int) -> Days:
        person = _numbered(agents, rows)
        number = int(agents["copies"].sum())
        begins = np.flatnonzero(np.diff(person, prepend=-1))
        index = np.arange(len(rows)) - begins[person]
        purpose, zone = rows["purpose"].to_numpy(object), self._ground.codes(rows["zone"])
        at = words(self.seed, "points", first_person, number)[person]
        x, y = self._ground.points(zone, at, _slots(purpose, index))
        own = words(self.seed, "times", first_person, number)[person]
        left = _departures(rows["step"].to_numpy("int64"), person, index, own, self._edges)
        mode = np.full(len(rows), "walk", object)  # where none leads, so that every row has a speed
        mode[index > 0] = _renamed(rows["mode"][index > 0], MODES, "mode")
        end = np.where(np.append(index[1:], 0) > 0, np.append(left[1:], NONE), NONE)
        told = pd.DataFrame(
            {
                "person": person + first_person,
                "index": index,
                "purpose": _renamed(rows["purpose"], PURPOSES, "purpose"),
                "mode": np.where(index > 0, mode, ""),
                "zone": rows["zone"].to_numpy(object),
                "x": x,
                "y": y,
                "left": left,
                "start": _arrivals(left, end, index, mode, x, y),
                "end": end,
            }
        )
        people = agents.loc[agents.index.repeat(agents["copies"]), _PERSON].reset_index(drop=True)
        people.insert(0, "person", np.arange(first_person, first_person + number))
        people.insert(2, "copy", rows["copy"].to_numpy()[begins])
        return Days(people, told)

    @cached_property
    def _edges(self) -> Ints:
        starts = [_seconds(clock) for clock in self.steps]
        if not starts or starts != sorted(set(starts)):
            raise OdanonError("the time steps must be clock times in order, such as 00:00, 07:00, 09:00; correct steps")
        return np.array([*starts, starts[0] + _DAY_S], np.int64)

    @cached_property
    def _ground(self) -> "_Ground":
        return _Ground(self.zones, self.crs)


class _Ground:
    """Zones in metres: outlines cut into triangles, in which a point can be drawn at once, or a point each."""

    def __init__(self, zones: pd.DataFrame, crs: str) -> None:
        import shapely

        self._names = pd.Index(zones["zone"].astype("str"))
        lat, lon = (zones[name].to_numpy("float64") for name in ("lat", "lon"))
        self._centre = np.column_stack(to_metres(lat, lon, crs))
        shapes = np.asarray(zones["geometry"], object) if "geometry" in zones else np.full(len(zones), None)
        placed = shapely.transform(
            shapely.make_valid(shapes), lambda p: np.column_stack(to_metres(p[:, 1], p[:, 0], crs))
        )
        if not np.isfinite(self._centre).all() or not np.isfinite(shapely.get_coordinates(placed)).all():
            raise OdanonError(f"some zones lie where {crs} is not defined; give another coordinate system")
        triangles, zone = shapely.get_parts(shapely.constrained_delaunay_triangles(placed), return_index=True)
        self._corners = shapely.get_coordinates(triangles).reshape(-1, 4, 2)[:, :3]
        self._passed = np.concatenate([[0.0], np.cumsum(shapely.area(triangles))])
        self._first = np.searchsorted(zone, np.arange(len(zones) + 1))

    def codes(self, zones: pd.Series) -> Ints:
        """Numbers of zones by their names, which are categories."""
        known = self._names.get_indexer(pd.Index(zones.cat.categories.astype("str")))
        found = np.append(known, -1)[zones.cat.codes].astype(np.int64)
        if (found < 0).any():
            raise OdanonError("some activities lie in zones that the table of zones does not have; give all zones")
        return found

    def points(self, zone: Ints, own: npt.NDArray[np.uint64], slot: Ints) -> tuple[Floats, Floats]:
        """For each activity a point in its zone, all alike likely; the same for the same person, slot and zone."""
        which, along, across = np.empty((3, len(zone)))
        for each in np.unique(slot):
            here = slot == each
            which[here], along[here], across[here] = (nth(own[here], 3 * int(each) + draw) for draw in range(3))
        low, high = self._passed[self._first[zone]], self._passed[self._first[zone + 1]]
        made = self._centre[zone]
        some = np.flatnonzero(high > low)
        at = np.searchsorted(self._passed, (low + which * (high - low))[some], side="right") - 1
        a, b, c = np.moveaxis(
            self._corners[np.clip(at, self._first[zone[some]], self._first[zone[some] + 1] - 1)], 1, 0
        )
        root, part = np.sqrt(along[some])[:, None], across[some][:, None]
        made[some] = (1 - root) * a + root * (1 - part) * b + root * part * c
        made = np.round(made, 2)
        return made[:, 0], made[:, 1]


def _check_known(of_agent: npt.NDArray, known: npt.NDArray) -> None:
    if not np.isin(of_agent, known).all():
        raise OdanonError("some activities are of agents that the table of agents does not have; make both again")


def _numbered(agents: pd.DataFrame, rows: pd.DataFrame) -> Ints:
    """The number of the person, a copy of an agent, of each row, from 0."""
    agent, copy = rows["agent"].to_numpy(), rows["copy"].to_numpy()
    new = np.ones(len(rows), bool)
    new[1:] = (agent[1:] != agent[:-1]) | (copy[1:] != copy[:-1])
    if not np.array_equal(agent[new], agents["agent"].repeat(agents["copies"]).to_numpy()):
        raise OdanonError("agents and activities do not have the same copies; make both again")
    return (np.cumsum(new) - 1).astype(np.int64)


def _slots(purpose: npt.NDArray[np.object_], index: Ints) -> Ints:
    """The number of the place of an activity among those of its person."""
    slot = index + len(_SLOTS)
    for name, number in _SLOTS.items():
        slot[purpose == name] = number
    return slot


def _departures(step: Ints, person: Ints, index: Ints, own: npt.NDArray[np.uint64], edges: Ints) -> Ints:
    """When the trips set out: at a moment of their step, those of a person in order. A step before the last one is of the next day."""
    chance = np.empty(len(step))
    for each in np.unique(index):
        here = index == each
        chance[here] = nth(own[here], int(each))
    trip = index > 0
    if (step[trip] < 0).any() or (step >= len(edges) - 1).any():
        raise OdanonError(
            "some activities are of time steps that do not exist; give the steps that they were made with"
        )
    back = trip & (index > 1) & (step < np.concatenate([[0], step[:-1]]))
    passed = np.cumsum(back, dtype=np.int64)
    nights = passed - passed[index == 0][person]
    low, high = edges[step[trip]], edges[step[trip] + 1]
    drawn = (low + chance[trip] * (high - low)).astype(np.int64) + _DAY_S * nights[trip]
    left = np.full(len(step), NONE, np.int64)
    left[trip] = drawn[np.lexsort((drawn, person[trip]))]
    return left


def _arrivals(left: Ints, end: Ints, index: Ints, mode: npt.NDArray[np.object_], x: Floats, y: Floats) -> Ints:
    """When activities begin: after the way at the speed of its mode, and before they end."""
    metres = _DETOUR * np.hypot(np.diff(x, prepend=x[:1]), np.diff(y, prepend=y[:1]))
    speed = pd.Series(mode).map(_KMH).to_numpy("float64") / 3.6
    arrive = left + np.round(metres / speed).astype(np.int64)
    return np.where(index > 0, np.where(end == NONE, arrive, np.minimum(arrive, end)), NONE)


def _renamed(values: pd.Series, names: dict[str, str], what: str) -> npt.NDArray[np.object_]:
    words = [names.get(str(word)) for word in values.cat.categories]
    made = np.array([*words, None], object)[values.cat.codes]
    if any(word is None for word in pd.unique(made)):
        raise OdanonError(f"each {what} of activities must be one of {', '.join(names)}; map others to these")
    return made


def _seconds(clock: str) -> int:
    try:
        hours, minutes = map(int, clock.split(":"))
    except ValueError:
        raise OdanonError(f"the time step {clock!r} is no clock time; write it as 07:00") from None
    return 3600 * hours + 60 * minutes
