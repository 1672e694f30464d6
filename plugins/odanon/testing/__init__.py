"""The conformance suite: what every plugin must do, for its author to run.

    from odanon.testing import check_anonymizer

    def test_my_anonymizer():
        check_anonymizer(MyAnonymizer)

Each function raises AssertionError with a sentence that names the broken rule.
"""

from odanon.testing.anonymizers import check_anonymizer
from odanon.testing.hierarchies import check_hierarchy
from odanon.testing.staypoints import check_staypoints

__all__ = ["check_anonymizer", "check_hierarchy", "check_staypoints"]
