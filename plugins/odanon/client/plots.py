"""Pictures of what is published, with Matplotlib (`pip install 'odanon[plot]'`): bounds are drawn as what they are, a band."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from odanon.extras import needed_by

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from matplotlib.axes import Axes

_SURE, _POSSIBLE = "#2166ac", "#c6d7e6"


def draw_profile(profile: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Estimated trips in every step of a profile, between what is certain and what is possible."""
    ax = ax if ax is not None else _figure()
    from matplotlib.dates import ConciseDateFormatter

    at = [
        *profile["local_start"],
        profile["local_start"].iloc[-1] + (profile["time_end"] - profile["time_start"]).iloc[-1],
    ]
    low, estimate, high = ([*profile[name], profile[name].iloc[-1]] for name in ("low", "estimate", "high"))
    ax.fill_between(at, low, high, step="post", color=_POSSIBLE, label="possible")
    ax.step(at, estimate, where="post", color=_SURE, label="estimate")
    ax.xaxis.set_major_formatter(ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("trips")
    ax.legend(frameon=False)
    return ax


def draw_departures(flows: pd.DataFrame, zones: "GeoDataFrame", ax: "Axes | None" = None) -> "Axes":
    """Trips that leave every zone, by its ground; small zones lie over the larger ones around them."""
    ax = ax if ax is not None else _figure()
    from matplotlib.colors import LogNorm

    trips = flows.groupby("origin_zone")["trips"].sum()
    placed = zones.set_index("zone_id").loc[trips.index].assign(density=lambda table: trips / table["area_km2"])
    colours = LogNorm(placed["density"].min(), placed["density"].max())
    drawn = {"cmap": "Blues", "norm": colours, "edgecolor": "white", "linewidth": 0.3}
    key = {"label": "trips per km²", "shrink": 0.6}
    placed.sort_values("area_km2", ascending=False).plot("density", ax=ax, legend=True, legend_kwds=key, **drawn)
    ax.set_axis_off()
    return ax


def _figure() -> Any:
    with needed_by("a plot"):
        from matplotlib import pyplot
    return pyplot.subplots(figsize=(8, 5), layout="constrained")[1]
