"""Public figures about people: bands, never counts (PRIVACY rule 15)."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

_STEPS = (1, 2, 5, 10)


def persons_band(persons: pd.Series, k: int) -> pd.Categorical:
    """The band of each number of people, with edges at k, 2k, 5k and 10k; missing where nobody is counted."""
    edges = [k * step for step in _STEPS]
    labels = [f"{low}-{high - 1}" for low, high in pairwise(edges)] + [f"{edges[-1]}+"]
    known = pd.to_numeric(persons).fillna(0).to_numpy(np.int64)
    codes: npt.NDArray[np.intp] = np.searchsorted(edges, known, side="right") - 1
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype="str"), ordered=True)


def rounded(value: float, digits: int = 3) -> float:
    """A release-level figure with few significant digits, fit for the public manifest."""
    return float(f"{value:.{digits}g}")


def coarse(value: float) -> float:
    """A figure of what was left out: one digit, from 1 to 10 one after the point, since most of these lie between 0 and 2."""
    return round(value, 1) if 1 <= abs(value) < 10 else rounded(value, 1)


def rounded_down(count: int, k: int, digits: int = 2) -> int:
    """A count as a multiple of k by a number of few digits, so that counts beside each other differ by nothing or by k and more."""
    crowds = max(count, 0) // k
    return crowds // (step := 10 ** max(len(str(crowds)) - digits, 0)) * step * k


def lower_edge(persons: float, k: int) -> int | None:
    """The lower edge of the band of a number of people; None below k."""
    return max((k * step for step in _STEPS if persons >= k * step), default=None)
