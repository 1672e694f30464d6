"""Segments and weights of people (ALGORITHMS, Segments, weights and the joint release)."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from odanon.errors import OdanonError
from odanon.trips.od import ALL

UNKNOWN = "unknown"  # the value of an attribute that a person does not have


def segment_labels(attributes: pd.DataFrame) -> pd.Series:
    """One label per row from its attributes, such as `female/25-44`; `all` without attributes."""
    if attributes.shape[1] == 0:
        return pd.Series(ALL, index=attributes.index, dtype="str")
    texts = [attributes[name].astype("str").fillna(UNKNOWN) for name in attributes]
    label = texts[0]
    for text in texts[1:]:
        label = label + "/" + text
    return label


def given_weights(weight: pd.Series) -> npt.NDArray[np.float64]:
    """Weights from a table; a person without one counts once."""
    values = pd.to_numeric(weight, errors="coerce").to_numpy(np.float64)
    if ((values < 0) | np.isinf(values)).any():
        raise OdanonError("the table of people has a negative or infinite weight; repair it")
    return np.where(np.isnan(values), 1.0, values)


def expansion_weights(
    home_zone: npt.NDArray[np.object_], inhabitants: pd.Series, otherwise: float
) -> npt.NDArray[np.float64]:
    """Inhabitants of the home zone over the people observed to live there.

    `home_zone` is None without a known home; `inhabitants` is indexed by zone. People whose zone is not in the table get
    `otherwise`. Weights of the people of a zone add up to its inhabitants.
    """
    if inhabitants.index.has_duplicates:
        raise OdanonError("the population table names a zone twice; add its rows up first")
    if (inhabitants < 0).any() or inhabitants.isna().any():
        raise OdanonError("the population table holds a missing or negative number; repair it")
    zones = pd.Series(home_zone, dtype="object")
    observed = zones.value_counts()
    weight = (inhabitants.reindex(observed.index) / observed).astype(np.float64)
    return zones.map(weight).astype(np.float64).fillna(otherwise).to_numpy()
