"""The tables that demand is made from: what they must hold, and how those of others are read as such."""

from odanon.demand.contracts.declared import COLUMNS, LEFT_OUT, MODES, PARTIAL, PUBLISHED, ROAMING, STEPS, Table
from odanon.demand.contracts.read import read
from odanon.demand.contracts.rules import checked

__all__ = ["COLUMNS", "LEFT_OUT", "MODES", "PARTIAL", "PUBLISHED", "ROAMING", "STEPS", "Table", "checked", "read"]
