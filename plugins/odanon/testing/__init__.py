"""The conformance suites: what every plugin must do, for its author to run.

    from odanon.testing import check_anonymizer

    def test_my_anonymizer():
        check_anonymizer(MyAnonymizer)

Each function raises AssertionError with a sentence that names the broken rule.
"""

from odanon.testing.anonymizers import check_anonymizer
from odanon.testing.checks import check_check
from odanon.testing.demand.calibrators import check_calibrator
from odanon.testing.demand.placers import check_placer
from odanon.testing.engines import check_engine
from odanon.testing.hierarchies import check_hierarchy
from odanon.testing.metrics import check_metric
from odanon.testing.notifiers import check_notifier
from odanon.testing.sources import check_source
from odanon.testing.staypoints import check_staypoints
from odanon.testing.zonings import check_zoning

__all__ = [
    "check_anonymizer",
    "check_calibrator",
    "check_check",
    "check_engine",
    "check_hierarchy",
    "check_metric",
    "check_notifier",
    "check_placer",
    "check_source",
    "check_staypoints",
    "check_zoning",
]
