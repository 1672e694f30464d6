"""The figures of the risk report, declared: what k does not promise (PRIVACY, Measured and reported)."""

from odanon.model.figure import Figure

PREFIX = "risk_"  # how their names begin among the figures of a release


def _risk(name: str, label: str, meaning: str, unit: str = "", *, public: bool = True) -> Figure:
    full = f"{PREFIX}{name}"
    return Figure(full, label, meaning, unit, public=full if public else None)


FIGURES = (
    _risk(
        "prosecutor_mean", "chance to be named", "mean chance to name a person who is known to be in a flow", "share"
    ),
    _risk("prosecutor_at_most", "chance to be named, at most", "the same, at the most", "share"),
    _risk(
        "membership_auc",
        "membership AUC",
        "telling whether a person took part, in a fixed test city: 0.5 is guessing, 1 certainty",
    ),
    _risk("homogeneity_mean", "homogeneity", "of an origin's people take its commonest flow, on average", "share"),
    _risk("homogeneous_tiles_mean", "tiles of the commonest flow", "tiles to which that flow leads", "tiles"),
    _risk("dominated_share", "dominated", "of the flows have a person with more than a quarter of the trips", "share"),
    # In small releases closeness shows single tiles, and minimality the multiplier: for the publisher alone.
    _risk("total_variation_mean", "closeness", "total variation of an origin's destinations, mean", public=False),
    _risk("total_variation_max", "closeness, at most", "the same, largest", public=False),
    _risk("earth_mover_km_mean", "earth mover", "distance of an origin's destinations, mean", "km", public=False),
    _risk("earth_mover_km_max", "earth mover, at most", "the same, largest", "km", public=False),
    _risk(
        "minimality_mean",
        "minimality",
        "of the trips lie in parts below k, for who knows the multiplier",
        "share",
        public=False,
    ),
)
