"""The stable names for packages that bring a store; everything else here is private."""

from odanon_assets.stores.bundle import FLOW_COLUMNS, ZONE_COLUMNS, Bundle, release_id
from odanon_assets.stores.interface import (
    AUDIT_COLUMNS,
    LEDGER_COLUMNS,
    MATRIX_COLUMNS,
    PROFILE_COLUMNS,
    Act,
    Estimate,
    Gate,
    Store,
)

__all__ = [
    "AUDIT_COLUMNS",
    "FLOW_COLUMNS",
    "LEDGER_COLUMNS",
    "MATRIX_COLUMNS",
    "PROFILE_COLUMNS",
    "ZONE_COLUMNS",
    "Act",
    "Bundle",
    "Estimate",
    "Gate",
    "Store",
    "release_id",
]
