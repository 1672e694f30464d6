"""What a third party writes: an anonymiser here, a metric in `lopsided`."""

import numpy as np

from odanon.api import Anonymizer, Hierarchy, ODMatrix, Release, parameters_of, plugin


@plugin
class OneFlow(Anonymizer):
    """Joins all trips into a single flow from everywhere to everywhere."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        self.check(od)
        everywhere = [np.full(len(od.pairs.trips), tree.root) for tree in (origins, destinations)]
        return Release.from_nodes(od, origins, destinations, *everywhere, parameters_of(self))
