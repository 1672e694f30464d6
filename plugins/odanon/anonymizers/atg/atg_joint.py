"""ATG-Joint: origins and destinations generalised together, exactly for a given multiplier (ALGORITHMS, ATG-Joint)."""

from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import plugin


@plugin
class AtgJoint(Protection):
    """Finest areas per origin (or per destination, whichever is finer): origins and destinations solved together."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """Solve origin-first and destination-first, keep the finer release and say which it is."""
        from odanon.anonymizers.atg.joint import solve_both
        from odanon.anonymizers.trees.problem import Problem

        return solve_both(Problem.checked(od, origins, destinations, self)).release("atg-joint")
