"""A day may be larger than memory: what the local engine holds depends on the size of a bucket, not of the day."""

import os
import subprocess
import sys

# In a process of its own, because a peak never falls. Each batch is points of 4,096 people, 4 MB of them.
SCRIPT = """
import resource, sys, tempfile
from pathlib import Path
import numpy as np, pandas as pd
from odanon.engines.local import Local

ROWS, BUCKETS = 1 << 17, 64

def batches(count):
    rng = np.random.default_rng(1)
    clock = np.datetime64("2026-03-02", "us") + np.arange(ROWS) * np.timedelta64(500, "ms")
    for _ in range(count):
        yield pd.DataFrame({
            "person": rng.integers(0, 1 << 62, 4096).repeat(ROWS // 4096),
            "time": pd.DatetimeIndex(clock).tz_localize("UTC"),
            "lat": rng.normal(45, 0.01, ROWS),
            "lon": rng.normal(4, 0.01, ROWS),
        })

def run(count):
    with tempfile.TemporaryDirectory() as folder:
        engine = Local(buckets=BUCKETS, workers=2)
        _, done = engine.shuffle([count], batches, lambda batch: (batch, None), Path(folder))
        assert sum(bucket.kept for bucket in done) == count * ROWS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

before = run(2)
print(run(int(sys.argv[1])) - before)
"""


STRESS = bool(os.environ.get("ODANON_STRESS"))


def test_the_memory_of_a_shuffle_is_a_fraction_of_the_day() -> None:
    batches, most_megabytes = (100, 400 / 3) if STRESS else (60, 240 / 2)  # of 400 or 240 MB of points
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(batches)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < most_megabytes
