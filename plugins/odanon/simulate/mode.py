"""What the devices of a simulated city send."""

from enum import StrEnum


class Mode(StrEnum):
    """GPS points, call records on antennas, or network signalling on antennas."""

    gps = "gps"
    cdr = "cdr"
    nsd = "nsd"
