"""What anybody can count in the public table is told as it is there."""

import numpy as np
import pandas as pd

from odanon.risk.public import public_metrics


def test_flows_and_trips_of_the_public_table_are_not_rounded() -> None:
    trips = np.append(np.full(12_344, 10), 17)
    flows = pd.DataFrame({"kind": "flow", "trips": trips, "persons_band": "10-19"})
    told = public_metrics({}, flows, 10, [], 0)
    assert (told["flows"], told["trips_published"]) == (12_345, 123_457.0)
