"""What a release keeps: E, the loss when its flows are spread evenly over their tiles (000 equation 2)."""

import numpy as np
import pandas as pd

from odanon.anonymize.matrix import ODMatrix
from odanon.anonymize.release import Release
from odanon.plugin import plugin


@plugin
class Reconstruction:
    """Reconstruction loss E: absolute difference between the spread-out release and the matrix, per trip."""

    def evaluate(self, od: ODMatrix, release: Release) -> dict[str, float]:
        """E = (1/V) sum |reconstructed - v| over all tile pairs, computed on the observed pairs alone.

        A flow spreads evenly over |o| x |d| pairs. Its unobserved pairs all hold the same amount, so their
        part of the sum is a product and no dense matrix is ever made.
        """
        flow = release.assignment["flow"].to_numpy()
        volume = release.assignment["trips"].to_numpy().astype(np.float64)
        published = flow >= 0
        cells = release.flows["origin_tiles"].to_numpy(np.float64) * release.flows["destination_tiles"].to_numpy(
            np.float64
        )
        share = release.flows["trips"].to_numpy() / cells
        observed = np.bincount(flow[published], minlength=len(share))
        on_observed = np.abs(share[flow[published]] - volume[published]).sum()
        on_empty = ((cells - observed) * share).sum()
        lost = volume[~published].sum()
        error = float(on_observed + on_empty + lost)
        return {"absolute_error": error, "volume": float(od.volume), "E": error / od.volume}

    def combine(self, figures: pd.DataFrame) -> dict[str, float]:
        """E of a window: the absolute errors of its matrices over their volume."""
        error = float(figures["absolute_error"].sum())
        return {"absolute_error": error, "E": error / float(figures["volume"].sum())}
