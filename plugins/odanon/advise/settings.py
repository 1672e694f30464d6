"""What is tried: one setting each of window, time bins, resolution and k, named as a product's file names them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from itertools import pairwise, product
from math import gcd
from typing import TypeVar

from pydantic import ValidationError

from odanon.errors import OdanonError
from odanon.model.window import LENGTHS, Length
from odanon.plugin import format_duration
from odanon.tables.times import parse_bins
from odanon.trips.bins import equal_starts

DAY_MINUTES = 24 * 60
T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """What a product's file would say under publish.window, od.bin, od.time, zoning.resolution and anonymize.k.

    `starts` are the minutes of a day at which its time bins start. Without H3 there is no `resolution`.
    """

    window: Length
    starts: tuple[int, ...]
    adaptive: bool
    resolution: int | None
    k: int

    @property
    def minutes(self) -> tuple[int, ...]:
        """How long each time bin of a day is."""
        return tuple(end - start for start, end in pairwise((*self.starts, DAY_MINUTES)))

    @property
    def bin(self) -> str:
        """The time bins as a product's file writes them."""
        if len(set(self.minutes)) == 1:
            return format_duration(timedelta(minutes=self.minutes[0]))
        return " ".join(f"{start // 60:02d}:{start % 60:02d}" for start in self.starts)

    @property
    def time(self) -> str:
        """How rows are told in time, as a product's file writes it."""
        return "adaptive" if self.adaptive else "fixed"

    @property
    def label(self) -> str:
        """What tables and pages call it."""
        tiles = [] if self.resolution is None else [f"H3 {self.resolution}"]
        return " · ".join([self.window, f"{self.bin} {self.time}", *tiles, f"k {self.k}"])


def bin_starts(bins: timedelta | Sequence[time]) -> tuple[int, ...]:
    """The minutes of a day at which time bins start."""
    starts = equal_starts(bins) if isinstance(bins, timedelta) else bins
    return tuple(start.hour * 60 + start.minute for start in starts)


@dataclass(frozen=True)
class Grid:
    """The values that are tried of every part of a setting."""

    windows: tuple[Length, ...]
    bins: tuple[tuple[int, ...], ...]
    adaptive: tuple[bool, ...]
    resolutions: tuple[int | None, ...]
    ks: tuple[int, ...]

    def settings(self, present: Setting | None = None) -> tuple[Setting, ...]:
        """Every combination and, first of all, the present one; a single bin of a day has nothing to adapt."""
        tried = product(self.windows, self.bins, self.adaptive, self.resolutions, self.ks)
        made = [Setting(*values) for values in tried if not (values[2] and len(values[1]) == 1)]
        return tuple(dict.fromkeys([*([present] if present else []), *made]))


def cell_minutes(bins: Iterable[tuple[int, ...]]) -> int:
    """The longest stretch of the clock that divides all time bins, told by their starts: what losses are compared on."""
    return gcd(DAY_MINUTES, *(start for starts in bins for start in starts))


def whole_numbers(option: str, text: str, least: int, most: int | None = None) -> tuple[int, ...]:
    """Whole numbers that are written with commas between them."""

    def number(part: str) -> int:
        value = int(part)
        if value < least or (most is not None and value > most):
            raise ValueError
        return value

    within = f"from {least} to {most}" if most is not None else f"of at least {least}"
    return _each(option, text, number, f"write whole numbers {within}, separated by commas")


def window_lengths(text: str) -> tuple[Length, ...]:
    """Lengths of windows that are written with commas between them."""
    known: dict[str, Length] = {length: length for length in LENGTHS}
    return _each("--windows", text, lambda part: known[part], f"choose from {', '.join(LENGTHS)}")


def time_bins(text: str) -> tuple[tuple[int, ...], ...]:
    """Lengths of time bins that are written with commas between them."""
    return _each(
        "--bins",
        text,
        lambda part: bin_starts(parse_bins("--bins", part)),
        "write lengths that divide a day: 1h,3h,1d",
    )


def ways_in_time(text: str) -> tuple[bool, ...]:
    """Whether every row is of one time bin, of as few as it needs, or both in turn."""
    known = {"fixed": False, "adaptive": True}
    return _each("--times", text, lambda part: known[part], "choose fixed, adaptive or both")


def _each(option: str, text: str, read: Callable[[str], T], remedy: str) -> tuple[T, ...]:
    try:
        return tuple(dict.fromkeys(read(part.strip()) for part in text.split(",")))
    except (KeyError, ValueError, ValidationError):
        raise OdanonError(f"{option} {text}: {remedy}") from None
