"""ATG-Joint: origins and destinations generalised together, exactly for a given multiplier (ALGORITHMS, ATG-Joint)."""

from odanon.anonymize.matrix import ODMatrix
from odanon.anonymize.protection import Protection
from odanon.anonymize.release import Release
from odanon.hierarchy.tree import Hierarchy
from odanon.plugin import parameters_of, plugin


@plugin
class AtgJoint(Protection):
    """Finest areas per origin (or per destination, whichever is finer): origins and destinations solved together."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Solve origin-first and destination-first, keep the finer release and say which it is."""
        from odanon.anonymize.joint import solve_both
        from odanon.anonymize.problem import Problem

        self.check(od)
        self.check_trees(origins, destinations)
        solution, direction = solve_both(Problem(od, origins, destinations, self))
        return Release.from_nodes(
            od,
            origins,
            destinations,
            solution.pair_origin,
            solution.pair_destination,
            {"algorithm": "atg-joint", **parameters_of(self)},
            {**solution.metrics(od.volume), "direction": direction},
        )
