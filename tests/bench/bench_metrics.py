"""All metrics on 500 thousand pairs of 18 thousand tiles: CPU seconds of each, for tree and box releases.

Target: E and D in at most 5 CPU seconds, which rules out a dense matrix (18 thousand squared are 324 million cells).
"""

import resource
import sys
import time

import numpy as np
from bench_boxes import placed
from generate import City, flows

from odanon import registry
from odanon.metrics.measure import metrics_for
from odanon.model.ground import Ground
from odanon.model.matrix import ODMatrix

TILES, PAIRS = 18_000, 500_000
MOST_SECONDS = 5.0
ALGORITHMS = ("atg-joint", "atg-homogeneous", "oigh", "mondrian")


def main() -> int:
    rng = np.random.default_rng(1)
    city = City.make(TILES, rng)
    o, d, trips = flows(city, PAIRS, rng)
    tree = placed(city)
    made = ODMatrix.from_arrays(o, d, trips)
    od = ODMatrix(made.origin, made.destination, made.trips, ground=Ground.of(tree, tree))
    slow = 0
    for name in ALGORITHMS:
        release = registry.create("anonymize", name, {"unit": "trips"}).anonymize(od, tree, tree)
        for metric in metrics_for(od, release):
            metric.evaluate(od, release)  # loads or compiles
            began = time.process_time()
            figures = metric.evaluate(od, release)
            seconds = time.process_time() - began
            told = {key: figures[key] for key in ("Gbar", "E", "D", "C_AVG", "GDM", "density") if key in figures}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            fine = seconds <= MOST_SECONDS
            slow += not fine
            print(
                f"{name:<16} {type(metric).__name__:<15} {seconds:>6.2f} CPU-s {peak:>6.0f} MB peak"
                f" {', '.join(f'{key} {value:.4g}' for key, value in told.items())}{'' if fine else '  TOO SLOW'}",
                flush=True,
            )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
