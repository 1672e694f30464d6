"""A metric with one figure that is to be seen everywhere, and one that is not."""

import pandas as pd

from odanon.api import Figure, ODMatrix, Release, plugin

_FIGURES = (
    Figure(
        "lopsided",
        "times the trips of the mean flow",
        "how much the largest flow stands out",
        public="largest_over_mean",
        symbol="Λ",
        best="least",
        headline=True,
    ),
    Figure("lopsided_flows", "flows looked at", "for the publisher alone", kind="size"),
)


@plugin
class Lopsided:
    """How much larger the largest flow is than the mean one."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return _FIGURES

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """The ratio of one matrix, and what `combine` needs."""
        trips = release.flows["trips"]
        return _told(len(trips), float(trips.sum()), float(trips.max()) if len(trips) else 0.0)

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """The ratio over all matrices."""
        told = _told(
            int(figures["lopsided_flows"].sum()),
            float(figures["lopsided_trips"].sum()),
            float(figures["lopsided_largest"].max()),
        )
        return {figure.name: told[figure.name] for figure in _FIGURES}


def _told(flows: int, trips: float, largest: float) -> dict[str, float]:
    ratio = largest * flows / trips if trips else float("nan")
    return {"lopsided": ratio, "lopsided_flows": flows, "lopsided_trips": trips, "lopsided_largest": largest}
