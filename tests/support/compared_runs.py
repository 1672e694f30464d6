"""The tidy table of a comparison with made-up figures, for tests of the page alone."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from odanon.metrics.sizes import STEPS

_IN_EVERY_VIEW = ("Gbar", "E", "D", "S_share", "coarse_share", "C_DM", "C_AVG", "GDM", "MAO", "MAD")
_OTHERS = ("flows", "cpu_s", "peak_mb", "density", "origin_areas", "destination_areas", "min_persons")


def made_up_runs(names: Sequence[str], ks: Sequence[int]) -> pd.DataFrame:
    """Every algorithm at every k, all of them done and verified."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame([(name, k) for k in ks for name in names], columns=["algorithm", "k"])
    for name in (*_IN_EVERY_VIEW, *_OTHERS, *(f"persons_x{step}" for step in STEPS)):
        table[name] = rng.uniform(0.01, 1, len(table)).round(4) * (1e8 if name == "C_DM" else 1)
    for view in ("_persons", "_population"):
        table = table.assign(**{f"{name}{view}": table[name] for name in _IN_EVERY_VIEW})
    said = {"status": "done", "verifier": "passed", "protect": "", "segment": "all", "unit": "persons"}
    no_message = pd.Series([None] * len(table), dtype="str")  # as a table of results has it: what is missing is no text
    return table.assign(**said, suppression=0.5, message=no_message)
