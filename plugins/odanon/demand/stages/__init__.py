"""The five stages of demand, each a function of frames: prepare, match, calibrate, place, evaluate."""

from odanon.demand.stages.calibrate import Calibration, calibrated
from odanon.demand.stages.evaluate import evaluated
from odanon.demand.stages.match import Matching, matched
from odanon.demand.stages.place import Placement, placed
from odanon.demand.stages.prepare import Inputs, Prepared, prepare

__all__ = [
    "Calibration",
    "Inputs",
    "Matching",
    "Placement",
    "Prepared",
    "calibrated",
    "evaluated",
    "matched",
    "placed",
    "prepare",
]
