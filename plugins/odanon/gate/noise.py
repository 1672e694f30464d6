"""The numbers that a perturbed release must show: those that were verified and the noise of their people (PRIVACY rule 25).

The table is public and part of the model; how a flow comes to its place in it is worked out here a second time.
"""

from bisect import bisect_right
from itertools import accumulate

import pandas as pd

from odanon.model.perturbation import KEYS, TABLE


def with_noise(verified: pd.DataFrame, people: pd.DataFrame, k: int) -> pd.DataFrame:
    """Verified flows with the trips and persons to be published.

    `people`: flow (a row number of `verified`) and person, once for every row of theirs. A person's key is the first byte of the
    63 bits of the pseudonym.
    """
    seen = people.drop_duplicates(["flow", "person"])
    key_sums = (seen["person"] // 2**55).groupby(seen["flow"]).sum()
    keys = key_sums.reindex(range(len(verified)), fill_value=0) % KEYS
    counts = zip(verified["persons"].astype(int), verified["trips"].astype(int), keys.astype(int), strict=True)
    numbers = [_published(persons, trips, key, k) for persons, trips, key in counts]
    return verified.assign(
        persons=[persons for persons, _ in numbers],
        trips=[trips for _, trips in numbers],
    )


def _published(persons: int, trips: int, key: int, k: int) -> tuple[int, int]:
    """People and trips of a flow with its noise."""
    row = TABLE.counts[min(max(persons - k, 0), len(TABLE.counts) - 1)]
    people = bisect_right(list(accumulate(row)), key) - TABLE.largest
    return persons + people, trips + people * (trips // persons)
