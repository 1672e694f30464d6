"""ATG-Homogeneous: one partition of origins and one of destinations for all flows (ALGORITHMS, ATG-Homogeneous)."""

from odanon.errors import OdanonError
from odanon.model.hierarchy import Hierarchy
from odanon.model.matrix import ODMatrix
from odanon.model.promise import Protection
from odanon.model.release import Release
from odanon.plugin import plugin


@plugin
class AtgHomogeneous(Protection):
    """Areas that never overlap: one partition of origins and one of destinations, shared by all flows."""

    def anonymize(self, od: ODMatrix, origins: Hierarchy, destinations: Hierarchy) -> Release:
        """The best shared partitions of one matrix."""
        return self.anonymize_window([od], origins, destinations)[0]

    def anonymize_window(self, ods: list[ODMatrix], origins: Hierarchy, destinations: Hierarchy) -> list[Release]:
        """One release per time bin, all on the same partitions.

        The budget is that of the window: a quiet bin may lose a larger share, even all of it.
        """
        from odanon.anonymizers.atg.homogeneous import solve_window
        from odanon.anonymizers.trees.problem import Problem

        if not ods:
            raise OdanonError("the window has no matrix; there is nothing to anonymise")
        self.check(max(ods, key=self.units_in))
        problems = [Problem(od, origins, destinations, self) for od in ods]
        return [solution.release("atg-homogeneous") for solution in solve_window(problems)]
