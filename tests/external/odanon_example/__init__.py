"""What a third party writes: one anonymiser in one file."""

import numpy as np

from odanon.anonymizers.anonymizer import Anonymizer
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.release import Release
from odanon.plugin import parameters_of, plugin


@plugin
class OneFlow(Anonymizer):
    """Joins all trips into a single flow from everywhere to everywhere."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        everywhere = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        return Release.from_nodes(od, origins, destinations, *everywhere, parameters_of(self))
