"""When is asked for, and how the times of a release lie on days and clocks."""

from odanon.model.when.question import DAYS, When, clock_of, local_steps, month_of

__all__ = ["DAYS", "When", "clock_of", "local_steps", "month_of"]
